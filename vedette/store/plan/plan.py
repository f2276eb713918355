"""How a search of segments is run, as a value: `choose.py` makes it, `read/segment_search.py` runs
it, `explain` prints it.

    Access     which rows are read
    Ranking    how the first page is found among them
"""

from dataclasses import dataclass
from typing import Any, Final, assert_never

from vedette.query.compile.condition import Condition

NOWHERE: Final = Condition("0")
"""No segment."""


@dataclass(frozen=True, slots=True)
class NoMatch:
    """The indexes show that nothing matches; nothing is read."""

    condition: None = None


@dataclass(frozen=True, slots=True)
class FullScan:
    """Every segment is merged and tested."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class SubqueryPrefilter:
    """Events are tested only in segments with a row that a text index finds."""

    condition: Condition
    row_count: int


@dataclass(frozen=True, slots=True)
class PlaceLookup:
    """Segments are read by primary key; their places were found in the indexes."""

    condition: Condition
    place_count: int


@dataclass(frozen=True, slots=True)
class FewSegments:
    """The query finds the rows of its few segments by itself. Fails with ManyRowsError above
    `limits.FEW_ROWS_MAX` rows; then another access is chosen."""

    condition: Condition


Scan = FullScan | SubqueryPrefilter | PlaceLookup
"""What works for every condition, and for pages, groups and facets alike."""

Access = NoMatch | FullScan | SubqueryPrefilter | PlaceLookup | FewSegments


@dataclass(frozen=True, slots=True)
class CountOnly:
    """No page is wanted."""


@dataclass(frozen=True, slots=True)
class TopByKey:
    """Partial rows in descending order name the first segments (`top_by_key.py`)."""


@dataclass(frozen=True, slots=True)
class TopByEvent:
    """Rows that events select name all matching segments (`top_by_event.py`)."""


@dataclass(frozen=True, slots=True)
class MergedSort:
    """All matching segments are merged and sorted."""


Ranking = CountOnly | TopByKey | TopByEvent | MergedSort


@dataclass(frozen=True, slots=True)
class Plan:
    access: Access
    ranking: Ranking


def describe(plan: Plan) -> dict[str, Any]:
    """For `explain`: stable words and the counts that decided."""
    match plan.access:
        case NoMatch():
            access: dict[str, Any] = {"access": "no_match"}
        case FullScan():
            access = {"access": "full_scan"}
        case SubqueryPrefilter(_, row_count):
            access = {"access": "subquery_prefilter", "rows": row_count}
        case PlaceLookup(_, place_count):
            access = {"access": "place_lookup", "places": place_count}
        case FewSegments():
            access = {"access": "few_segments"}
        case _:
            assert_never(plan.access)
    return {**access, "ranking": _ranking_word(plan.ranking)}


def _ranking_word(ranking: Ranking) -> str:
    match ranking:
        case CountOnly():
            return "count_only"
        case TopByKey():
            return "top_by_key"
        case TopByEvent():
            return "top_by_event"
        case MergedSort():
            return "merged_sort"
        case _:
            assert_never(ranking)
