"""What reading a part of a file gives, in a form that can cross from one process to another."""

import xxhash
from msgspec import Struct, field

from vedette.ingest.context.host_context import HOUR_US, OFFSET_HOURS_MAX
from vedette.limits import IMPORT_ERRORS_MAX


class Gathered(Struct):
    """A `records.Sink` that holds what it is given."""

    part: int
    items: list[bytes] = field(default_factory=list)
    envelopes: list[bytes] = field(default_factory=list)
    hosts: dict[int, str] = field(default_factory=dict)
    """The hosts of envelopes by their numbers."""
    votes: dict[str, dict[int, int]] = field(default_factory=dict)
    """By host, how many records tell that its clock is so many hours ahead."""
    refused: list[tuple[int, str, str]] = field(default_factory=list)
    """Position from 1, reason and message of records that cannot be read, IMPORT_ERRORS_MAX at
    most."""
    reasons: dict[str, int] = field(default_factory=dict)
    """How many cannot be read, by reason."""
    count: int = 0
    """Records, lines of audit events and broken pieces."""
    unknown: int = 0
    """Those of no known format."""
    digest: bytes = b""
    """SHA-256 of a file that was read whole."""
    damage: str = ""
    """Why reading ended before the end."""

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
        if abs(hours) <= OFFSET_HOURS_MAX:
            votes = self.votes.setdefault(host, {})
            votes[hours] = votes.get(hours, 0) + 1

    def refuse(self, position: int, reason: str, message: str) -> None:
        self.reasons[reason] = self.reasons.get(reason, 0) + 1
        if len(self.refused) < IMPORT_ERRORS_MAX:
            self.refused.append((position, reason, message))


def host_number(host: str) -> int:
    """The same in all processes."""
    return xxhash.xxh3_64_intdigest(host.encode("utf-8", "surrogatepass"))
