"""The last refused record for each reason, so that an operator can see what a sender does wrong.
Covers this server since its start, in memory only."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

from msgspec import Struct

from vedette.limits import Limit
from vedette.pipeline.submission import Receipt, Submission

REFUSED_RECORD_BYTES_MAX: Limit[int] = 2_000
"""Bytes kept of a refused record: enough to see what a sender does wrong."""

REFUSED_RECORDS_MAX: Limit[int] = 32
"""Reasons whose last refused record is kept in memory; there are about twenty."""


class RefusedRecord(Struct, frozen=True):
    """A record as it arrived, truncated."""

    reason: str
    message: str
    text: bytes
    size_bytes: int
    """Size of the whole record."""
    peer_ip: str
    """Network address that sent the request."""
    refused_us: int


class RefusedRecords:
    """The last refused record for each reason. Thread-safe. Costs nothing while nothing is
    refused."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: OrderedDict[str, RefusedRecord] = OrderedDict()

    def note(self, submission: Submission, receipt: Receipt, now_us: int) -> None:
        """Keeps the records that the receipt lists as refused."""
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
        """Returns the records, the newest first."""
        with self._lock:
            return tuple(reversed(self._last.values()))
