"""The words of ingress filters, and counts of what filters did (docs/ingress-filters.md)."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

OS_MASK_ALL: Final = 7
OS_BITS: Final = {"windows": 1, "osx": 2, "linux": 4}
"""Maps a sensor's `os_type` to its bit of `os_mask`."""

ALL_DESCENDANTS: Final = -1
"""`descendant_filtering_level` that includes all descendants."""

PROCESS_LISTS: Final = ("path_filters", "cmdline_filters", "md5_filters")

EVENT_LISTS: Final = (
    "regmod_filters",
    "modload_filters",
    "filemod_filters",
    "non_binary_filemod_filters",
    "netconn_filters",
    "crossproc_filters",
)


class FilterCounts(Struct):
    """Effects of filters since the last query. The maps are keyed by filter id and omit filters
    without effect."""

    judged: int = 0
    """Processes that the filters were applied to. A process counts once per commit."""
    hits: dict[str, int] = field(default_factory=dict)
    """Processes that the filter matches directly, not as descendants."""
    events: dict[str, int] = field(default_factory=dict)
    """Dropped events. An event that several filters drop counts for the filter with the highest
    priority."""
    byte_counts: dict[str, int] = field(default_factory=dict)
    """Bytes of the dropped events' records as sent. A partly dropped record counts with its
    share."""

    def add(self, other: "FilterCounts") -> None:
        """Adds the counts of another source."""
        self.judged += other.judged
        _add(self.hits, other.hits)
        _add(self.events, other.events)
        _add(self.byte_counts, other.byte_counts)


def _add(counts: dict[str, int], more: Mapping[str, int]) -> None:
    for name, count in more.items():
        counts[name] = counts.get(name, 0) + count
