"""Bounded cache with two generations, which approximates LRU.

A hit usually costs a single dictionary lookup. A full young generation becomes the old generation,
and entries of the previous old generation that were not read since are evicted.
"""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


def _ignore(_dropped: object) -> None:
    pass


class GenerationCache(Generic[K, V]):
    """Contains between `entries_max / 2` and `entries_max` of the most recently used entries.

    Calls `dropped` with the evicted values.
    """

    __slots__ = ("_dropped", "_half", "_old", "young")

    def __init__(self, entries_max: int, dropped: Callable[[list[V]], None] = _ignore) -> None:
        self._half = max(1, entries_max // 2)
        self._dropped = dropped
        self._old: dict[K, V] = {}
        self.young: dict[K, V] = {}
        """The young generation. The hot path reads it directly and calls `get` on a miss."""

    def resize(self, entries_max: int) -> None:
        """Sets the capacity. Surplus entries are evicted when new entries arrive."""
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
            evicted, self._old = self._old, young
            self.young = {key: value}
            if evicted:
                self._dropped(list(evicted.values()))
        else:
            young[key] = value

    def __contains__(self, key: K) -> bool:
        return key in self.young or key in self._old

    def __len__(self) -> int:
        return len(self.young) + len(self._old)

    def values(self) -> Iterator[V]:
        yield from self._old.values()
        yield from self.young.values()
