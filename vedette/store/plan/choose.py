"""The one place that decides how a search of segments is run.

Inputs: what the compiled condition offers (`Condition.narrowings`, `found`, `apart`), how many
rows the indexes count for it, and which partitions are closed. Output: a `Plan`.

    no row in an index                 NoMatch
    few segments, found by the query   FewSegments
    up to PLACES_MAX places            PlaceLookup
    up to PREFILTER_ROWS_MAX rows      SubqueryPrefilter, where a text index finds them
    more, or no index applies          FullScan: a set would cost more than it saves

Counting takes a few milliseconds an index. Rows that are committed between the count and the search
may be missing from the answer, as if the search had begun earlier.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from vedette.model.columns import METADATA
from vedette.model.scope import Scope
from vedette.query.compile.condition import Condition
from vedette.query.compile.document import SEGMENT
from vedette.query.compile.segments_sql import keys_of
from vedette.store.engine.client import Engine
from vedette.store.partitions.lifecycle import closed_partitions
from vedette.store.plan import index_pruning
from vedette.store.plan.index_pruning import (
    Narrowing,
    count_rows,
    find_places,
    rows_sql,
    with_suffix_tokens,
)
from vedette.store.plan.plan import (
    NOWHERE,
    Access,
    CountOnly,
    FewSegments,
    FullScan,
    MergedSort,
    NoMatch,
    PlaceLookup,
    Plan,
    Ranking,
    Scan,
    SubqueryPrefilter,
    TopByEvent,
    TopByKey,
)
from vedette.store.plan.search_bounds import Reach
from vedette.store.sql.column_lists import MERGES
from vedette.store.sql.scope_filter import PLACE, scope_params

Order = Sequence[tuple[str, bool]]
"""Columns to order by, each with whether it descends."""

PREFILTER_ROWS_MAX: Final = 200_000
"""Partial rows that are worth a set."""

_EVENT_TESTS_MAX: Final = 2
"""Subqueries for events in a condition that `FewSegments` may run."""

_TEXT_INDEX_CALLS: Final = ("Tokens(", "toString(")
"""Functions that only conditions on text indexes call."""

_MERGED_BY_MAX: Final = frozenset(
    column.name for column in METADATA if column.type == "time" and MERGES[column.name] == "max"
)


def choose_plan(
    engine: Engine, where: Condition, scope: Scope, order: Order, rows: int, reach: Reach
) -> Plan:
    """The plan of a search for one page of `rows` segments, without facets or groups.

    Raises UnavailableError (`deadline`) when choosing takes longer than `reach` allows.
    """
    access: Access | None = choose_few_segments(engine, where, scope, reach) if rows else None
    if access is None:
        access = choose_scan(engine, where, scope, reach)
    if access.condition is None:
        return Plan(access, CountOnly())
    return Plan(access, choose_ranking(access.condition, order, rows))


def choose_scan(engine: Engine, where: Condition, scope: Scope, reach: Reach) -> NoMatch | Scan:
    """The access with the fewest rows that works for pages, groups and facets. Its condition has
    the same answers in this scope only: which binaries there are depends on who saw them.

    Raises UnavailableError (`deadline`) when it takes longer than `reach` allows.
    """
    where = with_suffix_tokens(engine, where)
    if not where.narrowings:
        return FullScan(where)
    params = {**where.params, **scope_params(scope)}
    counts = count_rows(engine, where.narrowings, params, reach)
    least = min(counts)
    if not least:
        return NoMatch()
    ranked = [where.narrowings[n] for n in sorted(range(len(counts)), key=counts.__getitem__)]
    if least <= index_pruning.PLACES_MAX:
        found = find_places(engine, where, ranked, params, reach)
        if found is None:
            return FullScan(where)
        return PlaceLookup(found.condition(where), len(found)) if found else NoMatch()
    if (
        least <= PREFILTER_ROWS_MAX
        and len(counts) > 1
        and not where.of_processes
        and _is_text_lookup(ranked[0])
    ):
        keys = f"({PLACE}) IN ({rows_sql(PLACE, ranked[0])})"
        return SubqueryPrefilter(where.within_rows(keys), least)
    return FullScan(where)


def choose_few_segments(
    engine: Engine, where: Condition, scope: Scope, reach: Reach
) -> NoMatch | FewSegments | None:
    """`FewSegments` where the condition is simple enough and promises few rows; else None.

    In partitions that are written to, where parts overlap and merging is dear, no count is needed
    beforehand; in closed partitions merging is cheap, so there the answers have to be few.
    """
    where = with_suffix_tokens(engine, where)
    if where.sql == NOWHERE.sql:
        return NoMatch()
    if where.merged is None or where.looks > _EVENT_TESTS_MAX:
        return None
    if not where.found and len(where.narrowings) != 1:
        return None
    if where.narrowings and closed_partitions(engine):
        params = {**where.params, **scope_params(scope)}
        (count,) = count_rows(engine, where.narrowings[:1], params, reach)
        if not 0 < count <= index_pruning.PLACES_MAX:
            return None if count else NoMatch()
    if where.found:
        asks_rows = where.merged or where.keys
        return FewSegments(replace(where, sql=where.sql if asks_rows else "1", before=where.found))
    keys = keys_of(SEGMENT, where.narrowings[0])
    return FewSegments(replace(where.within_rows(keys), before=keys))


def choose_ranking(where: Condition, order: Order, rows: int) -> Ranking:
    """How the first page is found. `TopByKey` and `TopByEvent` may turn out to have too many rows;
    then `MergedSort` is run."""
    if not rows:
        return CountOnly()
    if can_rank_by_key(where, order):
        return TopByKey()
    if where.before and can_rank_by_event(where, order):
        return TopByEvent()
    return MergedSort()


def can_rank_by_key(where: Condition, order: Order) -> bool:
    """Whether partial rows name the first segments: the condition tests keys only, and a segment's
    value is the greatest of its rows."""
    asks_keys = not where.asks_merged and not where.looks and not where.before
    return asks_keys and len(order) == 1 and order[0][1] and MERGES[order[0][0]] == "max"


def can_rank_by_event(where: Condition, order: Order) -> bool:
    """Whether the rows that events select name the first segments with one index lookup. Parts that
    no merge has seen are looked up apart; several lookups cost more than they save."""
    is_latest = len(order) == 1 and order[0][1] and order[0][0] in _MERGED_BY_MAX
    return is_latest and where.apart is not None and len(where.apart.rows) == 1


def can_group_rows(where: Condition) -> bool:
    """Whether the rows of a condition's few segments can be grouped, which costs half of merging
    them in key order (FINAL)."""
    return bool(where.before) and where.merged is not None and where.merged <= MERGES.keys()


def _is_text_lookup(narrowing: Narrowing) -> bool:
    """Whether one lookup in text indexes finds its rows. Any other set costs more than the tests of
    events that it saves."""
    return len(narrowing) == 1 and any(call in narrowing[0] for call in _TEXT_INDEX_CALLS)
