"""A bounded dictionary for learned context: two generations instead of a list of uses.

Reading costs one look-up in the common case. When the young generation is full it becomes the
old one, and what was in the old one and not read since is forgotten.
"""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


def _ignore(_dropped: object) -> None:
    pass


class Generations(Generic[K, V]):
    """Holds between `entries_max / 2` and `entries_max` of the most recently used entries.

    `dropped` is called with the values that are forgotten.
    """

    __slots__ = ("_dropped", "_half", "_old", "young")

    def __init__(self, entries_max: int, dropped: Callable[[list[V]], None] = _ignore) -> None:
        self._half = max(1, entries_max // 2)
        self._dropped = dropped
        self._old: dict[K, V] = {}
        self.young: dict[K, V] = {}
        """The younger generation: the hot path reads it directly and calls `get` on a miss."""

    def resize(self, entries_max: int) -> None:
        """From now on holds at most `entries_max`; what is too much goes as new entries come."""
        self._half = max(1, entries_max // 2)

    def get(self, key: K) -> V | None:
        value = self.young.get(key)
        if value is None:
            value = self._old.pop(key, None)
            if value is not None:
                self[key] = value
        return value

    def __setitem__(self, key: K, value: V) -> None:
        young = self.young
        self._old.pop(key, None)
        if len(young) >= self._half and key not in young:
            forgotten, self._old = self._old, young
            self.young = {key: value}
            if forgotten:
                self._dropped(list(forgotten.values()))
        else:
            young[key] = value

    def __contains__(self, key: K) -> bool:
        return key in self.young or key in self._old

    def __len__(self) -> int:
        return len(self.young) + len(self._old)

    def values(self) -> Iterator[V]:
        yield from self._old.values()
        yield from self.young.values()
