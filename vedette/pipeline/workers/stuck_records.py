"""Records that stall a worker, so that they are rejected instead of stalling ingest again.

When the supervisor ends a stalled worker, the record that it was working on becomes a suspect. A
worker can also be stalled by something else (a stopped process, a paused machine), so a record is
rejected only after it was the one being worked on in STUCK_RECORD_STALLS stalls. Records are
recognised by a 128-bit hash of their text, since a sender that was answered 503 sends the same
text again. The set is in memory only: after a restart of the server a stuck record has to stall a
worker again before it is rejected. Thread-safe.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence

from xxhash import xxh3_128_digest

from vedette.limits import STUCK_RECORD_STALLS, STUCK_RECORDS_MAX


class StuckRecords:
    """The newest STUCK_RECORDS_MAX suspects, with how often each was seen to stall a worker."""

    def __init__(self) -> None:
        self._stalls: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def add_stall(self, text: bytes) -> bool:
        """Counts a stall at this record; True when it is rejected from now on."""
        key = xxh3_128_digest(text)
        with self._lock:
            self._stalls[key] = self._stalls.pop(key, 0) + 1
            while len(self._stalls) > STUCK_RECORDS_MAX:
                self._stalls.popitem(last=False)
            return self._stalls[key] >= STUCK_RECORD_STALLS

    def positions(self, texts: Sequence[bytes]) -> list[int]:
        """Indexes of the texts to reject. Costs nothing while there is no suspect."""
        if not self._stalls:
            return []
        with self._lock:
            stuck = {key for key, count in self._stalls.items() if count >= STUCK_RECORD_STALLS}
        if not stuck:
            return []
        return [n for n, text in enumerate(texts) if xxh3_128_digest(text) in stuck]
