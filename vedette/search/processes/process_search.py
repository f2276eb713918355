"""Process search: parses, checks and compiles the query, and runs it against the store."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from vedette.errors import BadRequestError
from vedette.model.fields import PROCESS
from vedette.model.scope import EVERYTHING, Scope
from vedette.query import Condition, compile_segments, terms
from vedette.query.compile.processes_sql import compile_processes
from vedette.query.parse.query_params import carried_query
from vedette.search.comprehensive import is_comprehensive
from vedette.search.deadline import with_fallback
from vedette.search.partition_coverage import (
    Coverage,
    coverage,
    lacks_damaged_parts,
    sees_all_segments,
)
from vedette.search.processes.highlights import Highlight, process_highlights
from vedette.search.processes.process_columns import Row
from vedette.search.query_guards import GuardSettings, guarded_check
from vedette.search.search_request import SearchRequest, Sort
from vedette.search.tagged import with_segment_tags
from vedette.store.engine.cancel import CancelToken
from vedette.store.engine.client import Engine
from vedette.store.partitions.index_build import suffix_indexes
from vedette.store.plan.choose import choose_plan
from vedette.store.plan.plan import COUNT, Order, Plan, Want
from vedette.store.plan.run import run_plan
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.segment_facets import Facets, Value, count_facets
from vedette.store.read.segment_groups import count_groups, search_groups
from vedette.store.read.segment_search import Found, count_segments, search_segments
from vedette.store.sql.column_lists import SORTABLE

COLUMN_ALIASES = {
    "id": "process_id",
    "server_added_timestamp": "last_server_update",
    "path_full": "path",
    "username_full": "username",
    "parent_unique_id": "parent_id",
}
"""Maps the API name of a sortable field to its column, where the names differ."""


class SearchSettings(GuardSettings, Protocol):
    """The settings that a search reads."""

    @property
    def search_deadline_s(self) -> int: ...

    @property
    def fuzzy_facets(self) -> bool: ...

    @property
    def count_filtered_results(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class _Question:
    """A request with its field names resolved and its query compiled."""

    where: Condition
    scope: Scope
    order: Order
    group: str
    """Column of the groups; "" for none."""
    request: SearchRequest
    is_fuzzy: bool
    counts_filtered: bool
    """Whether to count results outside the scope."""
    now_us: int

    @property
    def want(self) -> Want:
        """The input of the planner."""
        request = self.request
        return Want(self.order, request.rows, bool(request.facets), bool(self.group))


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The result of a process search (docs/api-objects.md#search-answer)."""

    rows: Sequence[Row]
    """One page of results."""
    total: int
    """Number of results on all pages."""
    start: int
    """Index of the page's first row in all results."""
    terms: Sequence[str]
    """Texts of the query's leaves."""
    highlights: Sequence[Highlight]
    facets: Mapping[str, Sequence[tuple[Value, int]]]
    """Counted values of every requested facet."""
    filtered: int
    """Number of results outside the caller's scope; 0 unless `count_filtered_results` is set,
    because the count reveals the content of hosts that the caller may not see."""
    is_comprehensive: bool
    """Whether a search by segment gives the same result as a search by process."""
    is_incomplete: bool
    """Whether the deadline limited the search to a part of the store."""
    is_everywhere: bool
    """False if an unmounted partition may hold further results."""
    read: Coverage
    elapsed_s: float
    segments: int = 0
    """Number of segments of all results; 0 unless facets were requested, because only facets count
    them."""


@dataclass(frozen=True, slots=True)
class _Findings:
    """The results of the store reads of one search."""

    found: Found = field(default_factory=lambda: Found(0, []))
    facets: Facets = field(default_factory=lambda: Facets(0, {}))
    hidden: int = 0
    """Number of results outside the caller's scope."""


def search_processes(
    engine: Engine,
    scope: Scope,
    request: SearchRequest,
    settings: SearchSettings,
    now_us: int,
    cancel: CancelToken | None = None,
) -> SearchResults:
    """Runs a process search.

    A search that would exceed its deadline is repeated over the newest part of the store and sets
    `is_incomplete` (`search/deadline.py`). Raises QueryError with the position for a query that
    does not parse or check, and BadRequestError for a field that cannot be sorted or grouped by, or
    is not a facet.
    """
    began = time.monotonic()
    tree = carried_query(request.parts, PROCESS)
    checked = guarded_check(engine, tree, PROCESS, settings, now_us)
    compiled = compile_processes if request.is_comprehensive else compile_segments
    question = _Question(
        where=compiled(checked, indexes=suffix_indexes(engine)),
        scope=scope,
        order=sort_columns(request.sorts),
        group=_group_column(request.group),
        request=request,
        is_fuzzy=settings.fuzzy_facets if request.is_fuzzy is None else request.is_fuzzy,
        counts_filtered=settings.count_filtered_results and not scope.sees_all,
        now_us=now_us,
    )
    deadline_s = settings.search_deadline_s
    attempt = with_fallback(
        engine, deadline_s, lambda at: _find(engine, question, at), scope, request.windows
    )
    findings = attempt.answer or _nothing(request)
    rows = with_segment_tags(engine, findings.found.rows)
    left_s = began + deadline_s - time.monotonic()
    return SearchResults(
        rows=rows,
        total=findings.found.total,
        start=request.start,
        terms=terms(tree),
        segments=findings.facets.segments,
        filtered=findings.hidden,
        is_comprehensive=request.is_comprehensive or is_comprehensive(checked),
        is_incomplete=not attempt.is_whole or lacks_damaged_parts(engine, checked),
        is_everywhere=attempt.is_whole and sees_all_segments(engine, checked),
        read=coverage(
            engine,
            checked,
            attempt.since_ms,
            before_ms=request.windows.before_ms,
            is_answered=attempt.answer is not None,
        ),
        highlights=process_highlights(engine, tree, rows, Reach.within(left_s, cancel=cancel)),
        facets=findings.facets.counts,
        elapsed_s=time.monotonic() - began,
    )


def sort_columns(sorts: tuple[Sort, ...]) -> Order:
    """Returns the columns to sort by. Raises BadRequestError for a field that cannot be sorted
    by."""
    return [(_sort_column(sort.field), sort.is_descending) for sort in sorts]


def _sort_column(name: str) -> str:
    column = _column(name)
    if column not in SORTABLE:
        raise BadRequestError(f"sort: cannot sort results by {name[:60]!r}")
    return column


def _group_column(name: str) -> str:
    column = _column(name)
    if column and column not in SORTABLE:
        raise BadRequestError(f"svc.group: cannot group results by {name[:60]!r}")
    return column


def _column(name: str) -> str:
    lowered = name.lower()
    return COLUMN_ALIASES.get(lowered, lowered)


def _nothing(request: SearchRequest) -> _Findings:
    """Returns empty results, with every requested facet empty."""
    return _Findings(facets=Facets(0, {name: [] for name in request.facets}))


def _find(engine: Engine, question: _Question, reach: Reach) -> _Findings:
    """Runs all store reads of a search within one reach."""
    found, facets = run_plan(
        engine,
        question.where,
        question.scope,
        question.want,
        reach,
        lambda plan, bounds: _in_scope(engine, question, plan, bounds),
    )
    return _Findings(found, facets, _hidden(engine, question, found.total, reach))


def _in_scope(
    engine: Engine, question: _Question, plan: Plan, reach: Reach
) -> tuple[Found, Facets]:
    """Returns the results and facets within the caller's scope."""
    request, where, scope = question.request, plan.access.condition, question.scope
    if where is None:
        nothing = _nothing(request)
        return nothing.found, nothing.facets
    start, rows = request.start, request.rows
    if request.facets and not rows and not question.group and not question.is_fuzzy:
        # For facets alone, the pass that counts their values also counts the results.
        facets = _facets(engine, question, where, 0, reach)
        return Found(facets.total, []), facets
    if question.group:
        found = search_groups(
            engine,
            where,
            scope,
            question.group,
            question.order,
            start=start,
            rows=rows,
            reach=reach,
        )
    else:
        found = search_segments(
            engine,
            where,
            scope,
            question.order,
            start=start,
            rows=rows,
            reach=reach,
            ranking=plan.ranking,
        )
    return found, _facets(engine, question, where, found.total, reach)


def _facets(
    engine: Engine, question: _Question, where: Condition, total: int, reach: Reach
) -> Facets:
    if not question.request.facets:
        return Facets(0, {})
    return count_facets(
        engine,
        where,
        question.scope,
        question.request.facets,
        question.now_us,
        group=question.group,
        fuzzy_total=total if question.is_fuzzy else 0,
        values=question.request.facet_values,
        is_rarest=question.request.is_rarest,
        reach=reach,
    )


def _hidden(engine: Engine, question: _Question, total: int, reach: Reach) -> int:
    """Returns the number of results outside the caller's scope (`filtered`)."""
    if not question.counts_filtered:
        return 0
    where = choose_plan(engine, question.where, EVERYTHING, COUNT, reach).access.condition
    if where is None:
        return 0
    if question.group:
        everybodys = count_groups(engine, where, EVERYTHING, question.group, reach=reach)
    else:
        everybodys = count_segments(engine, where, EVERYTHING, reach=reach)
    return max(0, everybodys - total)
