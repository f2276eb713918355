"""Counts alerts by interval of time and severity."""

from collections.abc import Sequence
from typing import Final

from vedette.errors import BadRequestError
from vedette.limits import HISTOGRAM_BUCKETS_MAX
from vedette.model.scope import Scope
from vedette.query.compile.condition import SETTINGS, Condition
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import EVERYWHERE, Reach
from vedette.store.sql.scope_filter import scoped

FIFTHS: Final = 5
"""Number of severity bands: severities 0 to 100 are counted in fifths, the five levels."""


TIME_FIELDS: Final = (
    "created_time",
    "updated_time",
    "resolved_time",
    "first_event_time",
    "last_event_time",
)
"""Time columns for counting alerts."""


def alert_span(
    engine: Engine, where: Condition, scope: Scope, field: str, *, reach: Reach = EVERYWHERE
) -> tuple[int, int]:
    """Returns the earliest and latest known time of the alerts in epoch microseconds; 0 without
    alerts. Raises BadRequestError for a column that is not a time, UnavailableError when it takes
    longer than `reach` allows."""
    within = scoped(where, scope)
    time = f"toUnixTimestamp64Micro({_column(field)})"
    found = engine.query(
        f"SELECT minIf({time}, {time} > 0), maxIf({time}, {time} > 0) "
        f"FROM alert FINAL {within.clause}",
        within.params,
        settings=SETTINGS,
        deadline_s=reach.left_s(),
    )
    low, high = found.rows[0]
    return int(low), int(high)


def count_alerts_over_time(
    engine: Engine,
    where: Condition,
    scope: Scope,
    field: str,
    width_us: int,
    *,
    reach: Reach = EVERYWHERE,
) -> Sequence[tuple[int, int]]:
    """Returns (number of the interval since 1970, number of alerts) of the intervals with alerts:
    the earliest `HISTOGRAM_BUCKETS_MAX` + 1. Raises the errors of `alert_span`."""
    within = scoped(where, scope)
    found = engine.query(
        f"SELECT intDiv(toUnixTimestamp64Micro({_column(field)}), {width_us:d}) AS step, "
        f"count() AS counted FROM alert FINAL {within.clause} "
        f"GROUP BY step HAVING step > 0 ORDER BY step LIMIT {HISTOGRAM_BUCKETS_MAX + 1:d}",
        within.params,
        settings=SETTINGS,
        deadline_s=reach.left_s(),
    )
    return [(int(step), int(count)) for step, count in found.rows]


def _column(field: str) -> str:
    if field not in TIME_FIELDS:
        raise BadRequestError(f"histogram: {field[:40]!r} is not one of {', '.join(TIME_FIELDS)}")
    return f"`{field}`"


def alerts_over_time(
    engine: Engine, where: Condition, scope: Scope, width_us: int, *, reach: Reach = EVERYWHERE
) -> Sequence[tuple[int, int, int]]:
    """Returns (number of the interval since 1970, fifth of the severity from 0 for the lowest,
    number of alerts), the newest `HISTOGRAM_BUCKETS_MAX` intervals.

    Raises UnavailableError when it takes longer than `reach` allows.
    """
    within = scoped(where, scope)
    found = engine.query(
        f"SELECT intDiv(toUnixTimestamp64Micro(created_time), {width_us:d}) AS step, "
        f"least(intDiv(alert_severity, 20000), {FIFTHS - 1:d}) AS fifth, count() AS counted "
        f"FROM alert FINAL {within.clause} GROUP BY step, fifth ORDER BY step DESC, fifth "
        f"LIMIT {HISTOGRAM_BUCKETS_MAX * FIFTHS:d}",
        within.params,
        settings=SETTINGS,
        deadline_s=reach.left_s(),
    )
    return [(int(step), int(fifth), int(count)) for step, fifth, count in found.rows]
