"""Which sightings of binaries are news: a module loaded a thousand times is written once."""

from collections import OrderedDict

from vedette.ingest.fold import BinarySighting

BINARIES_MAX = 200_000
"""Binaries (hash on a sensor) remembered as told; the rest are written again, harmlessly."""

LAST_SEEN_STEP_US = 3600 * 1_000_000
"""How far `last_seen` of a binary may lag behind before it is written again."""


class _Told:
    """What was told of one binary on one sensor."""

    __slots__ = ("last_seen_us", "paths", "values")

    def __init__(self) -> None:
        self.last_seen_us = -LAST_SEEN_STEP_US
        self.paths: set[str] = set()
        self.values: dict[str, str] = {}

    def learn(self, sighting: BinarySighting) -> bool:
        """Whether there is news in a sighting, which is told from now on. A signature is often
        known only when a program is loaded once more, after it was seen to start."""
        values = sighting.binary.values
        is_news = (
            sighting.last_seen_us >= self.last_seen_us + LAST_SEEN_STEP_US
            or not sighting.paths <= self.paths
            or any(value > self.values.get(name, "") for name, value in values.items())
        )
        if is_news:
            self.last_seen_us = max(self.last_seen_us, sighting.last_seen_us)
            self.paths |= sighting.paths
            for name, value in values.items():
                self.values[name] = max(value, self.values.get(name, ""))
        return is_news


class SightingDeduplicator:
    """What was told of binaries of late."""

    def __init__(self) -> None:
        self._told: OrderedDict[tuple[int, str], _Told] = OrderedDict()

    def forget(self) -> None:
        self._told.clear()

    def news(
        self, sightings: dict[tuple[int, str], BinarySighting]
    ) -> dict[tuple[int, str], BinarySighting]:
        """The sightings that tell something new of a binary, or see it much later."""
        news: dict[tuple[int, str], BinarySighting] = {}
        for key, sighting in sightings.items():
            told = self._told.setdefault(key, _Told())
            if told.learn(sighting):
                news[key] = sighting
        while len(self._told) > BINARIES_MAX:
            self._told.popitem(last=False)
        return news
