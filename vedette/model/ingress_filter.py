"""An ingress filter: what telemetry of a process is not stored (docs/ingress-filters.md).

The three lists of a process (`path_filters`, `cmdline_filters`, `md5_filters`) say which
processes a filter selects: one entry of every list that has entries must match. The lists of events
say which of their events are dropped when `filter_all_events` is false.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from msgspec import Struct, field

OS_MASK_ALL: Final = 7
OS_BITS: Final = {"windows": 1, "osx": 2, "linux": 4}
"""Bits of `os_mask` by a sensor's `os_type`."""

ALL_DESCENDANTS: Final = -1
"""`descendant_filtering_level` that has no end."""

PROCESS_LISTS: Final = ("path_filters", "cmdline_filters", "md5_filters")

EVENT_LISTS: Final = (
    "regmod_filters",
    "modload_filters",
    "filemod_filters",
    "non_binary_filemod_filters",
    "netconn_filters",
    "crossproc_filters",
)


@dataclass(frozen=True, slots=True)
class IngressFilter:
    """A filter as it is kept. Times are epoch microseconds, 0 for never."""

    id: str
    """Letters, digits and dashes."""
    name: str = ""
    description: str = ""
    version: int = 0
    """The writer's own number; not used."""
    priority: int = 0
    internal: bool = False
    """The writer's own mark; not used."""
    enabled: bool = True
    filter_on_sensor: bool = False
    filter_on_server: bool = True
    """False: measured, and drops nothing."""
    track_metrics: bool = True
    """Measured also while it is not enabled."""
    os_mask: int = OS_MASK_ALL
    is_global: bool = True
    """All sensors; `group_ids` and `sensor_ids` do not count then."""
    group_ids: tuple[int, ...] = ()
    sensor_ids: tuple[int, ...] = ()
    """Of the groups; empty means all of them."""
    path_filters: tuple[str, ...] = ()
    cmdline_filters: tuple[str, ...] = ()
    md5_filters: tuple[str, ...] = ()
    descendant_filtering_level: int = 0
    """0 the process alone, 1 its children too, -1 all descendants."""
    filter_all_events: bool = True
    regmod_filters: tuple[str, ...] = ()
    modload_filters: tuple[str, ...] = ()
    filemod_filters: tuple[str, ...] = ()
    non_binary_filemod_filters: tuple[str, ...] = ()
    netconn_filters: tuple[str, ...] = ()
    crossproc_filters: tuple[str, ...] = ()
    expires_us: int = 0
    """When it is switched off by itself; 0 for never."""
    create_us: int = 0
    modify_us: int = 0
    create_user_id: int = 0
    modify_user_id: int = 0

    def applies_to(self, sensor_id: int, group_id: int, os_type: str) -> bool:
        """Whether the filter applies to a sensor. While the system of a sensor is not known, only
        filters for all systems do."""
        if not self.os_mask & OS_BITS.get(os_type, 0) and self.os_mask != OS_MASK_ALL:
            return False
        if self.is_global:
            return True
        in_group = group_id in self.group_ids
        if not self.sensor_ids:
            return in_group
        return sensor_id in self.sensor_ids and (in_group or not self.group_ids)

    @property
    def names_processes(self) -> bool:
        """Whether any list selects processes."""
        return bool(self.path_filters or self.cmdline_filters or self.md5_filters)

    @property
    def names_events(self) -> bool:
        return any(getattr(self, name) for name in EVENT_LISTS)


class FilterCounts(Struct):
    """What filters did since they were last asked. By filter id, without those that did nothing."""

    judged: int = 0
    """Processes that they were applied to; one counts once for each commit."""
    hits: dict[str, int] = field(default_factory=dict)
    """Processes that a filter means by itself."""
    events: dict[str, int] = field(default_factory=dict)
    """Events dropped; one that several filters drop counts for that of the highest priority."""
    byte_counts: dict[str, int] = field(default_factory=dict)
    """Bytes of their records as they were sent; of a record that is dropped in part, its share."""

    def add(self, other: "FilterCounts") -> None:
        """Adds what others did."""
        self.judged += other.judged
        _add(self.hits, other.hits)
        _add(self.events, other.events)
        _add(self.byte_counts, other.byte_counts)


def _add(counts: dict[str, int], more: Mapping[str, int]) -> None:
    for name, count in more.items():
        counts[name] = counts.get(name, 0) + count
