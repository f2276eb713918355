"""The plan of a search of segments as a value: `choose.py` creates it, `read/segment_search.py`
runs it, `explain` prints it.

    Access     the rows that are read
    Ranking    how the first page is found among them
    Fallback   the access to choose if this one has too many rows
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, assert_never

from vedette import limits
from vedette.query.compile.condition import NO_INDEXES, Condition

NOWHERE: Final = Condition("0", indexes=NO_INDEXES)
"""Condition that selects no segment."""


Order = Sequence[tuple[str, bool]]
"""(column, whether it is descending) pairs."""


@dataclass(frozen=True, slots=True)
class Want:
    """The requested output of a search, besides the number of matches."""

    order: Order = ()
    rows: int = 0
    """Rows of the page; 0 for none."""
    has_facets: bool = False
    is_grouped: bool = False


COUNT: Final = Want()
"""Requests only the number of matches."""


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
    """The query finds the rows of its few segments by itself. It needs a bound on rows and a
    fallback, because their number is only certain once they are read."""

    condition: Condition


Scan = FullScan | SubqueryPrefilter | PlaceLookup
"""Access types that work for every condition, and for pages, groups and facets alike."""

Access = NoMatch | FullScan | SubqueryPrefilter | PlaceLookup | FewSegments


@dataclass(frozen=True, slots=True)
class CountOnly:
    """No page is requested."""


@dataclass(frozen=True, slots=True)
class TopByKey:
    """Partial rows in descending order identify the first segments (`top_by_key.py`). Falls back to
    `MergedSort` if they have too many rows."""


@dataclass(frozen=True, slots=True)
class TopByEvent:
    """Rows that events select identify all matching segments (`top_by_event.py`). Falls back to
    `MergedSort` if they have too many rows."""


@dataclass(frozen=True, slots=True)
class MergedSort:
    """All matching segments are merged and sorted."""


Ranking = CountOnly | TopByKey | TopByEvent | MergedSort


Fallback = Literal["scan"]
"""`scan`: chooses a `Scan` by counts."""


@dataclass(frozen=True, slots=True)
class Plan:
    access: Access
    ranking: Ranking
    fallback: Fallback | None = None
    """Replaces the access if it has more than `rows_max` rows (ManyRowsError)."""

    @property
    def rows_max(self) -> int:
        """Rows allowed in a set or in the groups of a result; 0: unlimited."""
        return limits.FEW_ROWS_MAX if self.fallback else 0


def describe(plan: Plan) -> dict[str, Any]:
    """Returns the plan for `explain`: stable words and the counts that decided."""
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
    fallback = {"fallback": plan.fallback} if plan.fallback else {}
    return {**access, "ranking": _ranking_word(plan.ranking), **fallback}


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
