"""Counts facets of a segment search, all columns in one pass (`GROUPING SETS`).

A fuzzy count samples one window in eight, chosen by hash, and scales to the exact total. Windows
are contiguous on disk, so seven eighths are not read. Small results, and groups, whose members are
in many windows, are counted exactly.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from vedette.errors import BadRequestError
from vedette.limits import FACET_START_DAYS, SEGMENT_FACET_VALUES_MAX, Limit
from vedette.model.scope import Scope
from vedette.query.compile.condition import Condition
from vedette.query.compile.predicate_sql import DERIVED_SQL, LOCAL_START
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import EVERYWHERE, Reach
from vedette.store.sql.column_lists import SORTABLE, quoted
from vedette.store.sql.scope_filter import scoped

FACET_FUZZY_TOTAL_MIN: Limit[int] = 100_000
"""Number of segments from which a fuzzy count samples; smaller results are counted exactly, because
sampling saves nothing."""


_DAY_US: Final = 24 * 3600 * 1_000_000
_SAMPLED: Final = (
    "window_ms IN (SELECT DISTINCT window_ms FROM segment "
    "WHERE modulo(cityHash64(window_ms), 8) = 0)"
)

_UNKNOWN: Final = 255
"""Hour and weekday of an unknown start."""

_DAY_SQL: Final = (
    "if(start >= fromUnixTimestamp64Micro({facet_from:Int64}, 'UTC') "
    "AND start < fromUnixTimestamp64Micro({facet_until:Int64}, 'UTC'), "
    f"toUInt32(toDate({LOCAL_START})), 0)"
)
"""Days since 1970 of a start within the last `FACET_START_DAYS`; else 0."""

FACETS: Mapping[str, str] = MappingProxyType(
    {
        "process_md5": "process_md5",
        "hostname": "hostname",
        "group": "`group`",
        "path_full": "path",
        "parent_name": "parent_name",
        "process_name": "process_name",
        "host_type": "if(host_type = '', 'workstation', host_type)",
        "hour_of_day": DERIVED_SQL["start_hour"][1],
        "day_of_week": DERIVED_SQL["start_weekday"][1],
        "start": _DAY_SQL,
        "username_full": "username",
    }
)
"""Facets of process search (docs/api-objects.md#facets) and their expressions. Hours, weekdays (0
is Sunday) and days are those of the host's clock; days are numbers."""

Value = str | int


@dataclass(frozen=True, slots=True)
class Facets:
    """Values with counts by facet, the most frequent first."""

    total: int
    """Segments or groups counted; for a fuzzy count, those of the whole result."""
    counts: dict[str, list[tuple[Value, int]]]
    segments: int = 0
    """Number of segments, even if groups were counted."""


@dataclass(frozen=True, slots=True)
class _End:
    """Maximum number of values of a facet, and whether the least frequent ones are selected."""

    values: int
    is_rarest: bool


def count_facets(
    engine: Engine,
    where: Condition,
    scope: Scope,
    names: Sequence[str],
    now_us: int,
    *,
    group: str = "",
    fuzzy_total: int = 0,
    values: int = SEGMENT_FACET_VALUES_MAX,
    is_rarest: bool = False,
    reach: Reach = EVERYWHERE,
) -> Facets:
    """Counts the values of the named `FACETS`, at most `values` of each; unknown values are left
    out.

    With `group`, a column as in `search_groups`, every value counts the groups it occurs in. With
    `fuzzy_total`, the exact number of segments, the counts may be estimates. The least frequent
    values (`is_rarest`, the rarest first) are always counted exactly, because a sample misses them.

    Raises BadRequestError for an unknown facet or column, UnavailableError when it takes longer
    than `reach` allows.
    """
    names = list(dict.fromkeys(names))
    for name in names:
        if name not in FACETS:
            raise BadRequestError(f"facet.field: unknown facet {name[:60]!r}")
    if group and group not in SORTABLE:
        raise BadRequestError(f"cannot group results by {group!r}")
    where = scoped(where, scope)
    end = _End(min(values, SEGMENT_FACET_VALUES_MAX), is_rarest)
    if fuzzy_total >= FACET_FUZZY_TOTAL_MIN and not group and not is_rarest:
        sampled = _count(engine, _both(where, _SAMPLED), names, now_us, "", end, reach)
        if sampled.total:
            return _scaled(sampled, fuzzy_total)
    return _count(engine, where, names, now_us, group, end, reach)


def _both(where: Condition, sql: str) -> Condition:
    return replace(where, sql=f"{sql} AND ({where.sql})")


def _count(
    engine: Engine,
    where: Condition,
    names: Sequence[str],
    now_us: int,
    group: str,
    end: _End,
    reach: Reach,
) -> Facets:
    today_us = now_us - now_us % _DAY_US
    since_us, until_us = today_us - (FACET_START_DAYS - 1) * _DAY_US, today_us + _DAY_US
    found = reach.ask(
        engine,
        _counting(where, names, group, end),
        {**where.params, "facet_from": since_us, "facet_until": until_us},
        indexes=where.indexes,
    )
    return _by_facet(names, found.rows, end.values)


def _counting(where: Condition, names: Sequence[str], group: str, end: _End) -> str:
    """Returns SQL for one pass with a grouping set per column and one for the total. Selects one
    more value than requested, since one may be the unknown value."""
    order = "ASC" if end.is_rarest else "DESC"
    columns = [f"f{number}" for number in range(len(names))]
    values = [f"{FACETS[name]} AS f{number}" for number, name in enumerate(names)]
    counted = "count()"
    if group:
        values.append(f"cityHash64({quoted(group)}) AS of_group")
        counted = "uniqExact(of_group)"
    sets = ", ".join(["()", *(f"({column})" for column in columns)])
    listed = "".join(f", {column}" for column in columns)
    which = f"grouping({', '.join(columns)})" if columns else "0"
    return (
        f"SELECT {which} AS which, {counted} AS counted, count() AS segments{listed} "
        f"FROM (SELECT {', '.join(values) or '1'} FROM segment FINAL {where.clause}) "
        f"GROUP BY GROUPING SETS ({sets}) "
        f"ORDER BY which, counted {order}{listed} LIMIT {end.values + 1:d} BY which"
    )


def _by_facet(names: Sequence[str], rows: Iterable[Sequence[Any]], most: int) -> Facets:
    """Assigns rows to facets by grouping set: `which` has a bit per column that is not in the set,
    the lowest for the last column."""
    all_bits = (1 << len(names)) - 1
    place = {all_bits ^ 1 << len(names) - 1 - number: number for number in range(len(names))}
    counts: dict[str, list[tuple[Value, int]]] = {name: [] for name in names}
    total = of_segments = 0
    for which, counted, segments, *values in rows:
        if which == all_bits:
            total, of_segments = counted, segments
            continue
        number = place[which]
        name, value = names[number], values[number]
        if _is_known(name, value) and len(counts[name]) < most:
            counts[name].append((value, counted))
    return Facets(total, counts, of_segments)


def _is_known(name: str, value: Value) -> bool:
    if name in {"hour_of_day", "day_of_week"}:
        return value != _UNKNOWN
    return bool(value)


def _scaled(sampled: Facets, total: int) -> Facets:
    factor = total / sampled.total
    return Facets(
        total,
        {
            name: [(value, round(count * factor)) for value, count in values]
            for name, values in sampled.counts.items()
        },
        total,
    )
