"""Compiles ingress filters into bit masks with a bit per filter, in order of priority.

The filters that match a process are the AND of three masks (path, command line, md5), each cached
by text. A fourth mask selects the filters that apply to the sensor. The cost therefore does not
depend on the number of filters, except for uncached texts.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from vedette.ingest.filter.pattern import path_expression
from vedette.ingest.filter.pattern_set import PatternSet
from vedette.limits import FILTER_ANCESTORS_MAX, Limit
from vedette.model.ingress_filter import ALL_DESCENDANTS, EVENT_LISTS
from vedette.record.objects.ingress_filter import IngressFilter

FILTER_SENSORS_CACHED: Limit[int] = 100_000
"""Maximum sensors whose filters are cached."""


class CompiledFilters:
    """Compiled filters that are enabled or measured. Not thread-safe: the caches have no lock."""

    __slots__ = (
        "_at_least",
        "_depths",
        "_endless",
        "_sensors",
        "cmdlines",
        "drops",
        "events",
        "exempts_events",
        "exempts_processes",
        "filters",
        "inherited_mask",
        "md5s",
        "measured",
        "no_md5",
        "on_sensor",
        "paths",
        "thins",
    )

    def __init__(self, filters: Sequence[IngressFilter]) -> None:
        self.filters = tuple(filters)
        """Highest priority first. Bit 0 is the first."""
        self.drops = self._which(lambda one: one.filter_all_events, enforced=True)
        """Mask of filters that drop all events of a process."""
        self.thins = self._which(lambda one: not one.filter_all_events, enforced=True)
        """Mask of filters that drop single events."""
        passing = self._which(_is_pass_through)
        self.exempts_processes = passing & self._which(lambda one: one.filter_all_events)
        """Mask of pass-through filters that exempt the processes they match."""
        self.exempts_events = passing & ~self.exempts_processes
        """Mask of pass-through filters that exempt the events in their lists."""
        self._at_least = {
            bit: self._of_priority(by.priority) for bit, by in self._bits() if bit & passing
        }
        """Maps the bit of a pass-through filter to the mask of filters that it does not
        override."""
        self.on_sensor = self._which(lambda one: one.filter_on_sensor)
        self.measured = self._which(lambda one: one.enabled or one.track_metrics)
        self.paths = self._patterns("path_filters", paths=True)
        self.cmdlines = self._patterns("cmdline_filters")
        self.no_md5 = self._which(lambda one: not one.md5_filters)
        self.md5s: dict[str, int] = {}
        for bit, one in self._bits():
            for md5 in one.md5_filters:
                self.md5s[md5] = self.md5s.get(md5, self.no_md5) | bit
        self.events = {
            name: self._events(name)
            for name in EVENT_LISTS
            if any(getattr(one, name) for one in self.filters)
        }
        """Pattern set by event list, without lists that no filter uses."""
        levels = [one.descendant_filtering_level for one in self.filters]
        self._endless = self._which(lambda one: one.descendant_filtering_level == ALL_DESCENDANTS)
        self._depths = [
            self._deeper(depth) for depth in range(min(max([0, *levels]), FILTER_ANCESTORS_MAX))
        ]
        self.inherited_mask = self.deeper(1)
        """Mask of filters that apply to descendants."""
        self._sensors: dict[tuple[int, int, str, bool], int] = {}

    def __bool__(self) -> bool:
        return bool(self.filters)

    def own(self, path: str, cmdline: str, md5: str) -> int:
        """Returns the mask of filters that match a process by its own properties, on any sensor."""
        found = self.paths.bits(path) & self.md5s.get(md5, self.no_md5)
        return found & self.cmdlines.bits(cmdline) if found else 0

    def not_exempted(self, matched: int, passing: int) -> int:
        """Returns the matched filters. If `matched` contains filters of `passing`, filters with a
        lower priority than the highest of those are removed."""
        exempting = matched & passing
        return matched & self._at_least[exempting & -exempting] if exempting else matched

    def deeper(self, depth: int) -> int:
        """Returns the mask of filters that apply to descendants of this depth; 1 for children."""
        if depth <= len(self._depths):
            return self._depths[depth - 1]
        return self._endless if depth <= FILTER_ANCESTORS_MAX else 0

    def of_sensor(self, sensor_id: int, group_id: int, os_type: str, takes_filters: bool) -> int:
        """Returns the mask of filters that apply to data of a sensor. Cached."""
        key = (sensor_id, group_id, os_type, takes_filters)
        found = self._sensors.get(key)
        if found is None:
            found = 0
            for bit, one in self._bits():
                if one.applies_to(sensor_id, group_id, os_type):
                    found |= bit
            if takes_filters:
                found &= ~self.on_sensor
            if len(self._sensors) >= FILTER_SENSORS_CACHED:
                self._sensors.clear()
            self._sensors[key] = found
        return found

    def _bits(self) -> Iterator[tuple[int, IngressFilter]]:
        for number, one in enumerate(self.filters):
            yield 1 << number, one

    def _which(self, condition: Callable[[IngressFilter], bool], *, enforced: bool = False) -> int:
        found = 0
        for bit, one in self._bits():
            if condition(one) and (not enforced or _is_enforced(one)):
                found |= bit
        return found

    def _of_priority(self, least: int) -> int:
        return self._which(lambda one: one.priority >= least)

    def _deeper(self, depth: int) -> int:
        level = depth + 1
        return self._endless | self._which(lambda one: one.descendant_filtering_level >= level)

    def _patterns(self, name: str, *, paths: bool = False) -> PatternSet:
        texts = [
            (path_expression(text) if paths else text, bit)
            for bit, one in self._bits()
            for text in getattr(one, name)
        ]
        # A filter without this list accepts any text. A filter without any process list matches all
        # processes if it drops single events, and none if it would drop everything.
        return PatternSet(
            texts, self._which(lambda one: not getattr(one, name) and _means_any(one))
        )

    def _events(self, name: str) -> PatternSet:
        return PatternSet([(text, bit) for bit, one in self._bits() for text in getattr(one, name)])


def compile_filters(filters: Iterable[IngressFilter]) -> CompiledFilters:
    """Compiles the filters that are enabled or measured. Their patterns must have passed
    `check_patterns`."""
    wanted = [one for one in filters if one.enabled or one.track_metrics]
    return CompiledFilters(sorted(wanted, key=lambda one: (-one.priority, one.id)))


def highest(mask: int) -> int:
    """Returns the index in `CompiledFilters.filters` of the filter with the highest priority in a
    mask; -1 for none."""
    return (mask & -mask).bit_length() - 1


def _is_enforced(one: IngressFilter) -> bool:
    return one.enabled and one.filter_on_server


def _is_pass_through(one: IngressFilter) -> bool:
    return one.enabled and not one.filter_on_server and not one.filter_on_sensor


def _means_any(one: IngressFilter) -> bool:
    return one.names_processes or (not one.filter_all_events and one.names_events)


NO_FILTERS = CompiledFilters(())
