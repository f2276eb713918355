"""The parameters of a search as a value."""

from dataclasses import dataclass

from vedette.limits import HISTOGRAM_BUCKETS, SEGMENT_FACET_VALUES_MAX


@dataclass(frozen=True, slots=True)
class Sort:
    """One field to sort by, as the caller named it."""

    field: str
    is_descending: bool


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
