"""Counts of event records by the values of their columns, and over time."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from vedette.errors import BadRequestError
from vedette.limits import HISTOGRAM_BUCKETS_MAX, SEGMENT_FACET_VALUES_MAX
from vedette.model.scope import Scope
from vedette.query.compile.condition import SETTINGS, Condition
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import EVERYWHERE, Reach
from vedette.store.sql.scope_filter import scoped

_V4_SHOWN: Final = r"replaceRegexpOne(IPv6NumToString({0}), '^::ffff:([0-9.]+)$', '\\1')"
_ADDRESS: Final = "if({0} = toIPv6('::'), '', " + _V4_SHOWN + ")"

FACETS: Mapping[str, str] = MappingProxyType(
    {
        **{
            name: f"toString(`{name}`)"
            for name in (
                "channel",
                "provider",
                "hostname",
                "level",
                "user",
                "target_user",
                "workstation",
                "service",
                "task",
                "threat",
                "logon_id",
            )
        },
        **{name: f"toString(`{name}`)" for name in ("event_id", "sensor_id")},
        "logon_type": "if(logon_type = 0, '', toString(logon_type))",
        "src_ip": _ADDRESS.format("src_ip"),
        "time": "concat(toString(toDate(time)), 'T00:00:00Z')",
    }
)
"""Facets of log search and the SQL of their values; "" is an unknown value, which is not counted.
Times are counted by day."""

TIME_FIELDS: Final = ("time", "received")
"""Fields that records can be counted by over time."""

_TIME_COLUMNS: Final = {"time": "time", "received": "committed"}
_IN_ORDER: Final = frozenset({"time"})

Counts = dict[str, list[tuple[str, int]]]


def facet_name(name: str) -> str:
    """The facet that a caller means; `NAME_full` and `NAME_facet` mean NAME. Raises
    BadRequestError."""
    for ending in ("", "_full", "_facet"):
        facet = name.removesuffix(ending)
        if facet in FACETS:
            return facet
    raise BadRequestError(f"facet.field: unknown facet {name[:60]!r}")


def count_log_facets(
    engine: Engine,
    where: Condition,
    scope: Scope,
    names: Sequence[str],
    *,
    values: int = SEGMENT_FACET_VALUES_MAX,
    is_rarest: bool = False,
    reach: Reach = EVERYWHERE,
) -> Counts:
    """The most frequent `values` of each named facet with their counts, the most frequent first;
    with `is_rarest` the rarest, the rarest first; days in order.

    Raises BadRequestError for a name that is no facet, UnavailableError when it takes longer.
    """
    counts: Counts = {name: [] for name in names}
    keys = [FACETS[facet_name(name)] for name in counts]
    if not keys:
        return counts
    within = scoped(where, scope)
    named = ", ".join(f"{key} AS key_{number}" for number, key in enumerate(keys, 1))
    sets = ", ".join(f"(key_{number})" for number in range(1, len(keys) + 1))
    shown = ", ".join(f"key_{number}" for number in range(1, len(keys) + 1))
    order = "ASC" if is_rarest else "DESC"
    found = engine.query(
        f"SELECT which, [{shown}][which] AS shown, counted FROM ("
        f"SELECT {named}, count() AS counted, "
        # Of the keys only that of the row's own set has a value.
        f"arrayFirstIndex(key -> key != '', [{shown}]) AS which "
        f"FROM record {within.clause} GROUP BY GROUPING SETS ({sets})"
        f") WHERE which != 0 ORDER BY which, counted {order}, shown "
        f"LIMIT {min(values, SEGMENT_FACET_VALUES_MAX):d} BY which",
        within.params,
        settings=SETTINGS,
        deadline_s=reach.left_s(),
        cancel=reach.cancel,
    )
    asked = list(counts)
    for which, value, count in found.rows:
        counts[asked[which - 1]].append((value, count))
    for name in counts:
        if facet_name(name) in _IN_ORDER:
            counts[name].sort()
    return counts


def log_span(
    engine: Engine, where: Condition, scope: Scope, field: str, *, reach: Reach = EVERYWHERE
) -> tuple[int, int]:
    """The earliest and latest time of the records, epoch microseconds; 0 without any.

    Raises BadRequestError for a field that is no time, UnavailableError when it takes longer.
    """
    within = scoped(where, scope)
    time = f"toUnixTimestamp64Micro({_column(field)})"
    low, high = engine.query(
        f"SELECT minIf({time}, {time} > 0), maxIf({time}, {time} > 0) FROM record {within.clause}",
        within.params,
        settings=SETTINGS,
        deadline_s=reach.left_s(),
        cancel=reach.cancel,
    ).rows[0]
    return int(low), int(high)


def count_logs_over_time(
    engine: Engine,
    where: Condition,
    scope: Scope,
    field: str,
    width_us: int,
    *,
    reach: Reach = EVERYWHERE,
) -> Sequence[tuple[int, int]]:
    """Number of each interval since 1970 that has records, and how many: the earliest
    `HISTOGRAM_BUCKETS_MAX` and one. Raises as `log_span`."""
    within = scoped(where, scope)
    found = engine.query(
        f"SELECT intDiv(toUnixTimestamp64Micro({_column(field)}), {width_us:d}) AS step, "
        f"count() AS counted FROM record {within.clause} "
        f"GROUP BY step HAVING step > 0 ORDER BY step LIMIT {HISTOGRAM_BUCKETS_MAX + 1:d}",
        within.params,
        settings=SETTINGS,
        deadline_s=reach.left_s(),
        cancel=reach.cancel,
    )
    return [(int(step), int(count)) for step, count in found.rows]


def _column(field: str) -> str:
    if field not in TIME_FIELDS:
        raise BadRequestError(f"histogram: {field[:40]!r} is not one of {', '.join(TIME_FIELDS)}")
    return f"`{_TIME_COLUMNS[field]}`"
