"""The only module that decides how a search of segments is run.

Inputs: the options of the compiled condition (`Condition.narrowings`, `found`, `apart`), the number
of rows that the indexes count for it, and the closed partitions. Output: a `Plan`. The suffix
indexes that the condition uses were chosen before, from those that the store has
(`partitions/index_build.suffix_indexes`).

    no row in an index                            NoMatch
    few segments, found by the query              FewSegments, with a fallback to a plan below
    up to limits.PREFILTER_PLACES_MAX places      PlaceLookup
    up to PREFILTER_ROWS_MAX rows                 SubqueryPrefilter, if a text index finds them
    more, or no index applies                     FullScan: a set would cost more than it saves

Counting takes a few milliseconds per index. Rows committed between the count and the search may be
missing from the result, as if the search had begun earlier.
"""

from dataclasses import replace
from typing import Final, assert_never

from vedette import limits
from vedette.limits import Limit
from vedette.model.columns import METADATA
from vedette.model.scope import Scope
from vedette.query.compile.condition import Condition
from vedette.query.compile.document import SEGMENT
from vedette.query.compile.segments_sql import keys_of
from vedette.store.engine.client import Engine
from vedette.store.partitions.lifecycle import closed_partitions
from vedette.store.plan.index_pruning import (
    count_rows,
    find_places,
    rows_sql,
)
from vedette.store.plan.plan import (
    NOWHERE,
    Access,
    CountOnly,
    Fallback,
    FewSegments,
    FullScan,
    MergedSort,
    NoMatch,
    Order,
    PlaceLookup,
    Plan,
    Ranking,
    Scan,
    SubqueryPrefilter,
    TopByEvent,
    TopByKey,
    Want,
)
from vedette.store.plan.search_bounds import Reach
from vedette.store.sql.column_lists import MERGES
from vedette.store.sql.scope_filter import PLACE, scope_params

PREFILTER_ROWS_MAX: Limit[int] = 200_000
"""Number of partial rows up to which building a set pays off."""

FEW_SEGMENTS_EVENT_TESTS_MAX: Limit[int] = 2
"""Subqueries for events in a condition that `FewSegments` may run."""


_MERGED_BY_MAX: Final = frozenset(
    column.name for column in METADATA if column.type == "time" and MERGES[column.name] == "max"
)


def choose_plan(engine: Engine, where: Condition, scope: Scope, want: Want, reach: Reach) -> Plan:
    """Returns the plan of a search.

    Raises UnavailableError (`deadline`) when choosing takes longer than `reach` allows.
    """
    if want.rows and not want.has_facets and not want.is_grouped:
        few = choose_few_segments(engine, where, scope, reach)
        if few is not None:
            fallback: Fallback | None = "scan" if isinstance(few, FewSegments) else None
            return Plan(few, _ranking(few, want), fallback)
    return choose_fallback(engine, where, scope, want, "scan", reach)


def choose_fallback(
    engine: Engine, where: Condition, scope: Scope, want: Want, fallback: Fallback, reach: Reach
) -> Plan:
    """Returns the plan that replaces a plan whose access has too many rows. It has no fallback
    itself.

    Raises UnavailableError (`deadline`).
    """
    match fallback:
        case "scan":
            scan = choose_scan(engine, where, scope, reach)
            return Plan(scan, _ranking(scan, want))
        case _:
            assert_never(fallback)


def _ranking(access: Access, want: Want) -> Ranking:
    if access.condition is None:
        return CountOnly()
    if want.is_grouped and want.rows:
        return MergedSort()
    return choose_ranking(access.condition, want.order, want.rows)


def choose_scan(engine: Engine, where: Condition, scope: Scope, reach: Reach) -> NoMatch | Scan:
    """Returns the access with the fewest rows that works for pages, groups and facets. Its
    condition is valid in this scope only: the binaries depend on the sensors that reported them.

    Raises UnavailableError (`deadline`) when it takes longer than `reach` allows.
    """
    if not where.narrowings:
        return FullScan(where)
    params = {**where.params, **scope_params(scope)}
    counts = count_rows(engine, where.narrowings, params, reach)
    least = min(counts)
    if not least:
        return NoMatch()
    ranked = [where.narrowings[n] for n in sorted(range(len(counts)), key=counts.__getitem__)]
    if least <= limits.PREFILTER_PLACES_MAX:
        found = find_places(engine, where, ranked, params, reach)
        if found is None:
            return FullScan(where)
        return PlaceLookup(found.condition(where), len(found)) if found else NoMatch()
    if (
        least <= PREFILTER_ROWS_MAX
        and len(counts) > 1
        and not where.of_processes
        and ranked[0].is_token_lookup
    ):
        # Any other set costs more than the event tests that it saves.
        keys = f"({PLACE}) IN ({rows_sql(PLACE, ranked[0])})"
        return SubqueryPrefilter(where.within_narrowing(keys, ranked[0]), least)
    return FullScan(where)


def choose_few_segments(
    engine: Engine, where: Condition, scope: Scope, reach: Reach
) -> NoMatch | FewSegments | None:
    """Returns `FewSegments` if the condition is simple enough and promises few rows; else None.

    In hot partitions, where parts overlap and merging is expensive, no prior count is needed. In
    closed partitions merging is cheap, so the count must be small.
    """
    if where.sql == NOWHERE.sql:
        return NoMatch()
    if where.merged is None or where.looks > FEW_SEGMENTS_EVENT_TESTS_MAX:
        return None
    if not where.found and len(where.narrowings) != 1:
        return None
    if where.narrowings and closed_partitions(engine):
        params = {**where.params, **scope_params(scope)}
        (count,) = count_rows(engine, where.narrowings[:1], params, reach)
        if not 0 < count <= limits.PREFILTER_PLACES_MAX:
            return None if count else NoMatch()
    if where.found:
        asks_rows = where.merged or where.keys
        return FewSegments(replace(where, sql=where.sql if asks_rows else "1", before=where.found))
    narrowing = where.narrowings[0]
    keys = keys_of(SEGMENT, narrowing.rows)
    return FewSegments(replace(where.within_narrowing(keys, narrowing), before=keys))


def choose_ranking(where: Condition, order: Order, rows: int) -> Ranking:
    """Chooses how the first page is found. `TopByKey` and `TopByEvent` may turn out to have too
    many rows; then `MergedSort` is run."""
    if not rows:
        return CountOnly()
    if can_rank_by_key(where, order):
        return TopByKey()
    if where.before and can_rank_by_event(where, order):
        return TopByEvent()
    return MergedSort()


def can_rank_by_key(where: Condition, order: Order) -> bool:
    """Whether partial rows identify the first segments: the condition tests keys only, and a
    segment's value is the greatest of its rows."""
    asks_keys = not where.asks_merged and not where.looks and not where.before
    return asks_keys and len(order) == 1 and order[0][1] and MERGES[order[0][0]] == "max"


def can_rank_by_event(where: Condition, order: Order) -> bool:
    """Whether the rows selected by events identify the first segments with one index lookup.
    Unmerged parts are looked up separately; several lookups cost more than they save."""
    is_latest = len(order) == 1 and order[0][1] and order[0][0] in _MERGED_BY_MAX
    return is_latest and where.apart is not None and len(where.apart.rows) == 1


def can_group_rows(where: Condition) -> bool:
    """Whether the rows of a condition's few segments can be grouped, which costs half of merging
    them in key order (FINAL)."""
    return bool(where.before) and where.merged is not None and where.merged <= MERGES.keys()
