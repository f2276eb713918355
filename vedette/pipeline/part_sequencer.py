"""Lets the parts of a sequence into the write path in the order of their numbers.

An importer keeps several parts on their way, so that the server never waits for it; TLS and
thread pools may bring them in another order, and what is learned from records depends on it. A
part waits here until the one before it was handed in. It never waits long: a sender that died
between two parts must not hold up what follows.

Belongs to the event loop; not thread-safe.
"""

import asyncio
from collections import OrderedDict

from vedette.limits import IMPORT_SEQUENCES_MAX, IMPORT_TURN_S


class _Sequence:
    __slots__ = ("next", "waiting")

    def __init__(self, first: int) -> None:
        self.next = first
        self.waiting: dict[int, asyncio.Event] = {}


class PartSequencer:
    """The sequences of late, at most IMPORT_SEQUENCES_MAX of them."""

    def __init__(self, turn_s: float = IMPORT_TURN_S) -> None:
        self._turn_s = turn_s
        self._sequences: OrderedDict[str, _Sequence] = OrderedDict()

    async def come(self, source: str) -> None:
        """Returns when it is the turn of `key:number`; at once for a part that comes again."""
        key, _, number = source.rpartition(":")
        sequence, at = self._sequence(key), int(number)
        if at <= sequence.next:
            return
        event = sequence.waiting.setdefault(at, asyncio.Event())
        try:
            await asyncio.wait_for(event.wait(), self._turn_s)
        except TimeoutError:
            sequence.waiting.pop(at, None)

    def taken(self, source: str) -> None:
        """A part was handed in: it is the turn of the next. One that was refused because the
        queue is full comes again, and the next waits for it."""
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
