"""Result of reading a file range, in a form that can be sent between processes."""

import xxhash
from msgspec import Struct, field

from vedette.ingest.context.host_context import HOUR_US
from vedette.limits import CLOCK_OFFSET_HOURS_MAX, IMPORT_ERRORS_MAX


class ScanResult(Struct):
    """A `Sink` that collects everything."""

    part: int
    items: list[bytes] = field(default_factory=list)
    envelopes: list[bytes] = field(default_factory=list)
    hosts: dict[int, str] = field(default_factory=dict)
    """Hosts of envelopes by number."""
    votes: dict[str, dict[int, int]] = field(default_factory=dict)
    """Number of records by host and by the hours that its clock is ahead in them."""
    refused: list[tuple[int, str, str]] = field(default_factory=list)
    """Position from 1, reason and message of rejected records, IMPORT_ERRORS_MAX at most."""
    reasons: dict[str, int] = field(default_factory=dict)
    """Rejected records by reason."""
    count: int = 0
    """Records, audit lines and unreadable pieces."""
    unknown: int = 0
    """Records of no known format."""
    digest: bytes = b""
    """SHA-256, where the range is a whole file."""
    unread: str = ""
    """Why the system did not let the reader open the file; "" if it did."""
    damage: str = ""
    """Why reading stopped before the end; "" if it did not."""

    def take(self, items: list[bytes]) -> None:
        self.items += items

    def take_envelopes(self, items: list[bytes]) -> None:
        self.envelopes += items

    def host_number(self, host: str) -> int:
        number = host_number(host)
        self.hosts[number] = host
        return number

    def learn_clock(self, host: str, envelope_us: int, event_us: int) -> None:
        hours = round((envelope_us - event_us) / HOUR_US)
        if abs(hours) <= CLOCK_OFFSET_HOURS_MAX:
            votes = self.votes.setdefault(host, {})
            votes[hours] = votes.get(hours, 0) + 1

    def refuse(self, position: int, reason: str, message: str) -> None:
        self.reasons[reason] = self.reasons.get(reason, 0) + 1
        if len(self.refused) < IMPORT_ERRORS_MAX:
            self.refused.append((position, reason, message))


def host_number(host: str) -> int:
    """A 64-bit hash of a host name, the same in all processes."""
    return xxhash.xxh3_64_intdigest(host.encode("utf-8", "surrogatepass"))
