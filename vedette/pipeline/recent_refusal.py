"""The last record that was refused for each reason, so that who runs the server sees what a sender
does wrong. Of this server since its start, in memory alone."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

from msgspec import Struct

from vedette.limits import REFUSED_RECORD_BYTES_MAX, REFUSED_RECORDS_MAX
from vedette.pipeline.submission import Receipt, Submission


class RefusedRecord(Struct, frozen=True):
    """A record as it came, cut."""

    reason: str
    message: str
    text: bytes
    size_bytes: int
    """Of all of it."""
    peer_ip: str
    """Whom the request came from."""
    refused_us: int


class RefusedRecords:
    """Thread-safe. Costs nothing while nothing is refused."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: OrderedDict[str, RefusedRecord] = OrderedDict()

    def note(self, submission: Submission, receipt: Receipt, now_us: int) -> None:
        """Keeps what the receipt says was refused."""
        if not receipt.refusals:
            return
        found = {one.reason: one for one in receipt.refusals}
        with self._lock:
            for reason, one in found.items():
                text = submission.records[one.position]
                self._last.pop(reason, None)
                self._last[reason] = RefusedRecord(
                    reason,
                    one.message,
                    bytes(text[:REFUSED_RECORD_BYTES_MAX]),
                    len(text),
                    submission.peer_ip,
                    now_us,
                )
            while len(self._last) > REFUSED_RECORDS_MAX:
                self._last.popitem(last=False)

    def last(self) -> Sequence[RefusedRecord]:
        """The newest first."""
        with self._lock:
            return tuple(reversed(self._last.values()))
