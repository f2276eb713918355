"""Counts the results of a search by interval of time."""

from collections.abc import Sequence
from typing import Final

from vedette.errors import BadRequestError
from vedette.limits import HISTOGRAM_BUCKETS_MAX
from vedette.model.scope import Scope
from vedette.query.compile.condition import Condition
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import EVERYWHERE, Reach
from vedette.store.read.segment_facets import FACETS
from vedette.store.sql.scope_filter import scoped

TIME_FIELDS: Final = ("start", "last_update", "last_server_update")
"""Time columns for counting results."""


def count_over_time(
    engine: Engine,
    where: Condition,
    scope: Scope,
    field: str,
    width_us: int,
    *,
    by_process: bool = False,
    reach: Reach = EVERYWHERE,
) -> Sequence[tuple[int, int]]:
    """Returns (number of the interval since 1970, number of results) of intervals with results:
    segments, or processes, which count in each interval that one of their segments is in. The
    earliest `HISTOGRAM_BUCKETS_MAX` + 1; unknown times are left out.

    Raises BadRequestError for a column that is not a time, UnavailableError when it takes longer
    than `reach` allows.
    """
    within = scoped(where, scope)
    counted = "uniqExact(process_id)" if by_process else "count()"
    found = reach.ask(
        engine,
        f"SELECT intDiv(toUnixTimestamp64Micro({_column(field)}), {width_us:d}) AS step, "
        f"{counted} AS counted FROM segment FINAL {within.clause} "
        f"GROUP BY step HAVING step > 0 ORDER BY step LIMIT {HISTOGRAM_BUCKETS_MAX + 1:d}",
        within.params,
        indexes=within.indexes,
    )
    return [(int(step), int(count)) for step, count in found.rows]


def stacks_over_time(
    engine: Engine,
    where: Condition,
    scope: Scope,
    field: str,
    width_us: int,
    by: str,
    values: Sequence[str],
    *,
    by_process: bool = False,
    reach: Reach = EVERYWHERE,
) -> Sequence[tuple[int, Sequence[int]]]:
    """Returns (number of the interval, number of results with each of the values of a facet) for
    the intervals of `count_over_time`. Raises its errors, and BadRequestError for an unknown
    facet."""
    if by not in FACETS:
        raise BadRequestError(f"histogram.by: unknown facet {by[:60]!r}")
    within = scoped(where, scope)
    counted = "uniqExact(process_id)" if by_process else "count()"
    found = reach.ask(
        engine,
        f"SELECT intDiv(toUnixTimestamp64Micro({_column(field)}), {width_us:d}) AS step, "
        f"indexOf({{stacked:Array(String)}}, toString({FACETS[by]})) AS place, "
        f"{counted} AS counted FROM segment FINAL {within.clause} "
        "GROUP BY step, place HAVING step > 0 AND place > 0 ORDER BY step "
        f"LIMIT {(HISTOGRAM_BUCKETS_MAX + 1) * len(values):d}",
        {**within.params, "stacked": list(values)},
        indexes=within.indexes,
    )
    counts: dict[int, list[int]] = {}
    for step, place, count in found.rows:
        counts.setdefault(int(step), [0] * len(values))[int(place) - 1] = int(count)
    return list(counts.items())


def count_by_week_hour(
    engine: Engine,
    where: Condition,
    scope: Scope,
    *,
    by_process: bool = False,
    reach: Reach = EVERYWHERE,
) -> Sequence[tuple[int, int, int]]:
    """Returns (weekday from 0 for Sunday, hour, number of segments or processes started then), by
    the clock of their host; unknown starts are left out. Raises UnavailableError when it takes
    longer than `reach` allows."""
    within = scoped(where, scope)
    counted = "uniqExact(process_id)" if by_process else "count()"
    found = reach.ask(
        engine,
        f"SELECT {FACETS['day_of_week']} AS weekday, {FACETS['hour_of_day']} AS hour, "
        f"{counted} AS counted FROM segment FINAL {within.clause} "
        "GROUP BY weekday, hour HAVING weekday < 7 AND hour < 24 ORDER BY weekday, hour",
        within.params,
        indexes=within.indexes,
    )
    return [(int(weekday), int(hour), int(count)) for weekday, hour, count in found.rows]


def span_of(
    engine: Engine, where: Condition, scope: Scope, field: str, *, reach: Reach = EVERYWHERE
) -> tuple[int, int]:
    """Returns the earliest and latest known time of the results in epoch microseconds; 0 without
    results."""
    column = _column(field)
    within = scoped(where, scope)
    time = f"toUnixTimestamp64Micro({column})"
    found = reach.ask(
        engine,
        f"SELECT minIf({time}, {time} > 0), maxIf({time}, {time} > 0) "
        f"FROM segment FINAL {within.clause}",
        within.params,
        indexes=within.indexes,
    )
    low, high = found.rows[0]
    return int(low), int(high)


def _column(field: str) -> str:
    if field not in TIME_FIELDS:
        raise BadRequestError(f"histogram: {field[:40]!r} is not one of {', '.join(TIME_FIELDS)}")
    return f"`{field}`"
