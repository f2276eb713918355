"""Orders the parts of an import: each part waits until the part before it is in the ingest queue.

An importer sends several parts at once, so that the server is never idle. Connections and threads
may reorder them, but context learned from records depends on their order. The wait is bounded,
since a sender may die between two parts.

Belongs to the event loop; not thread-safe.
"""

import asyncio
from collections import OrderedDict

from vedette.limits import Limit

IMPORT_TURN_S: Limit[float] = 10.0
"""Time that a part of a sequence waits for the part before it: longer than a request takes to
arrive, shorter than a sender's timeout."""

IMPORT_SEQUENCES_MAX: Limit[int] = 256
"""Import sequences whose order the server keeps."""


class _Sequence:
    __slots__ = ("next", "waiting")

    def __init__(self, first: int) -> None:
        self.next = first
        self.waiting: dict[int, asyncio.Event] = {}


class PartSequencer:
    """Orders the parts of the most recent IMPORT_SEQUENCES_MAX sequences."""

    def __init__(self, timeout_s: float = IMPORT_TURN_S) -> None:
        self._timeout_s = timeout_s
        self._sequences: OrderedDict[str, _Sequence] = OrderedDict()

    async def wait_for_turn(self, source: str) -> None:
        """Returns when part `key:number` may be queued: at once if it is sent again, and after the
        timeout in any case."""
        key, _, number = source.rpartition(":")
        sequence, at = self._sequence(key), int(number)
        if at <= sequence.next:
            return
        event = sequence.waiting.setdefault(at, asyncio.Event())
        try:
            await asyncio.wait_for(event.wait(), self._timeout_s)
        except TimeoutError:
            sequence.waiting.pop(at, None)

    def queued(self, source: str) -> None:
        """Releases the next part once this part is queued. Do not call it for a part that was
        refused because the queue is full: that part is sent again."""
        key, _, number = source.rpartition(":")
        sequence = self._sequence(key)
        sequence.next = max(sequence.next, int(number) + 1)
        for at in [at for at in sequence.waiting if at <= sequence.next]:
            sequence.waiting.pop(at).set()

    def _sequence(self, key: str) -> _Sequence:
        sequence = self._sequences.setdefault(key, _Sequence(0))
        self._sequences.move_to_end(key)
        while len(self._sequences) > IMPORT_SEQUENCES_MAX:
            self._sequences.popitem(last=False)
        return sequence
