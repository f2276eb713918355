"""Deduplicates sightings of binaries, so that a module loaded a thousand times is written once."""

from collections import OrderedDict

from vedette.ingest.fold import BinarySighting
from vedette.limits import Limit

BINARIES_CACHED_MAX: Limit[int] = 200_000
"""Entries (hash and sensor) of the cache of binaries. A binary that was evicted is written again,
which is harmless."""

BINARY_LAST_SEEN_STEP_US: Limit[int] = 3600 * 1_000_000
"""Maximum lag of the stored `last_seen` of a binary before it is written again: an hour saves a row
for every execution."""


class _Written:
    """Data already written about one binary on one sensor: time, paths and values."""

    __slots__ = ("last_seen_us", "paths", "values")

    def __init__(self) -> None:
        self.last_seen_us = -BINARY_LAST_SEEN_STEP_US
        self.paths: set[str] = set()
        self.values: dict[str, str] = {}

    def add(self, sighting: BinarySighting) -> bool:
        """Adds a sighting; returns whether it must be written, because it has a later time, a new
        path or new values. A signature often arrives only with a later load of the program."""
        values = sighting.binary.values
        is_new = (
            sighting.last_seen_us >= self.last_seen_us + BINARY_LAST_SEEN_STEP_US
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

    def reset(self) -> None:
        self._written.clear()

    def new(
        self, sightings: dict[tuple[int, str], BinarySighting]
    ) -> dict[tuple[int, str], BinarySighting]:
        """Returns the sightings that must be written."""
        new: dict[tuple[int, str], BinarySighting] = {}
        for key, sighting in sightings.items():
            written = self._written.setdefault(key, _Written())
            if written.add(sighting):
                new[key] = sighting
        while len(self._written) > BINARIES_CACHED_MAX:
            self._written.popitem(last=False)
        return new
