"""The parameters of a search as immutable values."""

from dataclasses import dataclass
from typing import Final

from vedette.limits import HISTOGRAM_BUCKETS, SEGMENT_FACET_VALUES_MAX
from vedette.store.engine.cancel import CancelToken
from vedette.store.plan.search_bounds import Reach


@dataclass(frozen=True, slots=True)
class Sort:
    """A field to sort by, as the caller named it."""

    field: str
    is_descending: bool


@dataclass(frozen=True, slots=True)
class Windows:
    """A part of the store: segments whose window of server time (epoch ms) is at least `since_ms`
    and below `before_ms`; 0 leaves an end open. `before_ms` is exclusive so that a search that
    stopped at a window can be completed by a search before it: each segment is in exactly one of
    the two."""

    since_ms: int = 0
    before_ms: int = 0

    def within(self, duration_s: float | None, cancel: CancelToken | None = None) -> Reach:
        """Returns the bounds of a search that ends in `duration_s` seconds."""
        return Reach.within(duration_s, self.since_ms, cancel, self.before_ms)


ALL_WINDOWS: Final = Windows()


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """Parameters of a search. Field names are not validated yet."""

    parts: tuple[tuple[str, str], ...]
    """Parts of the query for `query.parse.query_params.carried_query`, combined with AND."""
    rows: int
    start: int
    sorts: tuple[Sort, ...]
    group: str = ""
    """Field to group by, with one result per value; "" returns every result."""
    is_comprehensive: bool = False
    facets: tuple[str, ...] = ()
    is_fuzzy: bool | None = None
    """Whether facets may be estimates; None if not given."""
    columns: tuple[str, ...] = ()
    """Alert searches only: columns to read for each result; empty for all columns of a result page.
    """
    facet_values: int = SEGMENT_FACET_VALUES_MAX
    """Maximum number of values of each facet."""
    is_rarest: bool = False
    """Whether facets list their least frequent values, which are never estimates."""
    histogram: str = ""
    """Time field of the histogram; "" for none."""
    histogram_by: str = ""
    """Facet whose most frequent values are counted separately in each interval."""
    buckets: int = HISTOGRAM_BUCKETS
    """Maximum number of intervals."""
    windows: Windows = ALL_WINDOWS
    """Process searches only: the part of the store to search."""
