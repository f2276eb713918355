"""Records that stall a worker, so that they are rejected instead of stalling ingest again.

When the supervisor ends a stalled worker, the record that it was processing becomes a suspect. A
worker can also be stalled by something else (a stopped process, a paused machine), so a record is
rejected only after it was being processed in STUCK_RECORD_STALLS stalls. Records are identified by
a 128-bit hash of their text, since a sender that got a 503 sends the same text again. The set is in
memory only: after a restart of the server, a stuck record must stall a worker again before it is
rejected. Thread-safe.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence

from xxhash import xxh3_128_digest

from vedette.limits import Limit

STUCK_RECORD_STALLS: Limit[int] = 2
"""Stalls at the same record after which it is rejected; the first may have had another cause."""

STUCK_RECORDS_MAX: Limit[int] = 1_000
"""Suspected records whose hashes (16 bytes) are kept."""


class StuckRecords:
    """The newest STUCK_RECORDS_MAX suspects, with the number of stalls of each."""

    def __init__(self) -> None:
        self._stalls: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def add_stall(self, text: bytes) -> bool:
        """Counts a stall at this record; returns whether it is rejected from now on."""
        key = xxh3_128_digest(text)
        with self._lock:
            self._stalls[key] = self._stalls.pop(key, 0) + 1
            while len(self._stalls) > STUCK_RECORDS_MAX:
                self._stalls.popitem(last=False)
            return self._stalls[key] >= STUCK_RECORD_STALLS

    def positions(self, texts: Sequence[bytes]) -> list[int]:
        """Returns the indexes of the texts to reject. Costs nothing while there is no suspect."""
        if not self._stalls:
            return []
        with self._lock:
            stuck = {key for key, count in self._stalls.items() if count >= STUCK_RECORD_STALLS}
        if not stuck:
            return []
        return [n for n, text in enumerate(texts) if xxh3_128_digest(text) in stuck]
