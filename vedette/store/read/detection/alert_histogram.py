"""How many alerts were made in each interval of time, by severity."""

from collections.abc import Sequence
from typing import Final

from vedette.limits import HISTOGRAM_BUCKETS_MAX
from vedette.model.scope import Scope
from vedette.query.compile.condition import SETTINGS, Condition
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import EVERYWHERE, Reach
from vedette.store.sql.scope_filter import scoped

FIFTHS: Final = 5
"""Severities of 0 to 100 are counted in fifths, which are the five levels."""


def alerts_over_time(
    engine: Engine, where: Condition, scope: Scope, width_us: int, *, reach: Reach = EVERYWHERE
) -> Sequence[tuple[int, int, int]]:
    """Number of each interval since 1970 that has alerts of the scope, the fifth of their severity
    (0 the least), and how many. The newest `HISTOGRAM_BUCKETS_MAX` of them.

    Raises UnavailableError when it takes longer.
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
