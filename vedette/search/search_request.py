"""The parameters of a search as a value."""

from dataclasses import dataclass
from typing import Final

from vedette.limits import HISTOGRAM_BUCKETS, SEGMENT_FACET_VALUES_MAX
from vedette.store.engine.cancel import CancelToken
from vedette.store.plan.search_bounds import Reach


@dataclass(frozen=True, slots=True)
class Sort:
    """One field to sort by, as the caller named it."""

    field: str
    is_descending: bool


@dataclass(frozen=True, slots=True)
class Windows:
    """A part of the store, by the windows of server time that its segments are in (epoch ms, 0 for
    an open end). `before_ms` is not in it, so that a search that stopped at a window is completed
    by one before it: a segment is in one of the two, never in both."""

    since_ms: int = 0
    before_ms: int = 0

    def within(self, duration_s: float | None, cancel: CancelToken | None = None) -> Reach:
        """The bounds of a search that ends in `duration_s` seconds."""
        return Reach.within(duration_s, self.since_ms, cancel, self.before_ms)


ALL_WINDOWS: Final = Windows()


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """Parameters of a search. Field names are not checked yet."""

    parts: tuple[tuple[str, str], ...]
    """Parts of the query for `query.parse.query_params.carried_query`, all ANDed."""
    rows: int
    start: int
    sorts: tuple[Sort, ...]
    group: str = ""
    """Field by which results are grouped, one result a value; "" for every result."""
    is_comprehensive: bool = False
    facets: tuple[str, ...] = ()
    is_fuzzy: bool | None = None
    """Whether facets may be estimates; None when not given."""
    columns: tuple[str, ...] = ()
    """Of alerts, columns that are read of each result; empty for all that a page of results has."""
    facet_values: int = SEGMENT_FACET_VALUES_MAX
    """Values of each facet."""
    is_rarest: bool = False
    """Whether facets have their least frequent values, which are never estimates."""
    histogram: str = ""
    """Field of time that results are counted by; "" for none."""
    histogram_by: str = ""
    """Facet whose most frequent values have a count of their own in each interval."""
    buckets: int = HISTOGRAM_BUCKETS
    """Intervals at most."""
    windows: Windows = ALL_WINDOWS
    """Of process searches, the part of the store that is searched."""
