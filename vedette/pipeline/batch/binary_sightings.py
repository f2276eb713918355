"""Deduplicates sightings of binaries, so that a module loaded a thousand times is written once."""

from collections import OrderedDict

from vedette.ingest.fold import BinarySighting

BINARIES_MAX = 200_000
"""Binaries (hash and sensor) in the cache; an evicted one is written again, which is harmless."""

LAST_SEEN_STEP_US = 3600 * 1_000_000
"""How far the stored `last_seen` of a binary may lag behind before it is written again, in us."""


class _Written:
    """What was written of one binary on one sensor."""

    __slots__ = ("last_seen_us", "paths", "values")

    def __init__(self) -> None:
        self.last_seen_us = -LAST_SEEN_STEP_US
        self.paths: set[str] = set()
        self.values: dict[str, str] = {}

    def add(self, sighting: BinarySighting) -> bool:
        """Adds a sighting; returns whether it has to be written: a later time, a new path or new
        values. A signature often arrives only with a later load of the program."""
        values = sighting.binary.values
        is_new = (
            sighting.last_seen_us >= self.last_seen_us + LAST_SEEN_STEP_US
            or not sighting.paths <= self.paths
            or any(value > self.values.get(name, "") for name, value in values.items())
        )
        if is_new:
            self.last_seen_us = max(self.last_seen_us, sighting.last_seen_us)
            self.paths |= sighting.paths
            for name, value in values.items():
                self.values[name] = max(value, self.values.get(name, ""))
        return is_new


class SightingDeduplicator:
    """LRU cache of the binaries written."""

    def __init__(self) -> None:
        self._written: OrderedDict[tuple[int, str], _Written] = OrderedDict()

    def forget(self) -> None:
        self._written.clear()

    def new(
        self, sightings: dict[tuple[int, str], BinarySighting]
    ) -> dict[tuple[int, str], BinarySighting]:
        """The sightings that have to be written."""
        new: dict[tuple[int, str], BinarySighting] = {}
        for key, sighting in sightings.items():
            written = self._written.setdefault(key, _Written())
            if written.add(sighting):
                new[key] = sighting
        while len(self._written) > BINARIES_MAX:
            self._written.popitem(last=False)
        return new
