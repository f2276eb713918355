"""Reads alerts, in their newest versions.

Every read for a user takes the user's scope; only a scope with everything includes alerts without a
host. An alert is looked up by id in two steps: an index finds its creation time, which is the
table's key.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from vedette.errors import BadRequestError
from vedette.limits import ROWS_DEFAULT
from vedette.model.findings.alert import ALERT_COLUMNS, ALERT_MAPS, ALERT_TEXTS, AlertRow
from vedette.model.scope import EVERYTHING, Scope
from vedette.query.compile.condition import SETTINGS, Condition
from vedette.store.engine.client import Engine
from vedette.store.plan.plan import Order
from vedette.store.plan.search_bounds import EVERYWHERE, Reach
from vedette.store.read.segment_search import Found
from vedette.store.sql.column_lists import quoted, readable
from vedette.store.sql.scope_filter import scoped

SORTABLE: Final = frozenset(column.name for column in ALERT_COLUMNS if column.type != "ip")
"""Columns by which alerts can be ordered."""

LONG: Final = frozenset({"event", "rule_text", "history", "parent_cmdline", "false_positives"})
"""Columns omitted from a page of results."""

BY_REPORT: Final = "source_kind = 'feed' AND report_id != ''"
"""Condition for alerts that a report of a feed created."""

_TYPES: Final = {column.name: column.type for column in ALERT_COLUMNS}
_MADE: Final = "SELECT DISTINCT created_time, id FROM alert WHERE id IN {ids:Array(String)}"


def _selected(names: Collection[str]) -> str:
    return ", ".join(
        f"{readable(quoted(name), 'ip')} AS {quoted(name)}"
        if _TYPES.get(name) == "ip"
        else quoted(name)
        for name in names
    )


_ALL: Final = (*_TYPES, *ALERT_TEXTS, *ALERT_MAPS)
_ROW: Final = _selected(_ALL)
_SHORT_ROW: Final = _selected([name for name in _ALL if name not in LONG])


def alerts_by_id(
    engine: Engine, ids: Collection[str], scope: Scope = EVERYTHING
) -> dict[str, AlertRow]:
    """Maps id to alert, with every column, for the alerts of the scope with these ids."""
    if not ids:
        return {}
    made = engine.query(_MADE, {"ids": list(ids)}).rows
    return {row["id"]: row for row in _at_keys(engine, made, _ROW, scope)}


def _at_keys(
    engine: Engine, keys: Sequence[tuple[Any, ...]], selected: str, scope: Scope
) -> list[AlertRow]:
    """Returns alerts by creation time (epoch microseconds) and id."""
    if not keys:
        return []
    where = Condition(
        "created_time IN (SELECT fromUnixTimestamp64Micro(arrayJoin({times:Array(Int64)}), 'UTC')) "
        "AND id IN {ids:Array(String)}",
        {"times": sorted({key[0] for key in keys}), "ids": [key[1] for key in keys]},
    )
    where = scoped(where, scope)
    # Without FINAL, which would merge every column. Reads the newest version, not that of the keys:
    # if the alert is changed in between, a merge removes that version.
    return engine.query(
        f"SELECT {selected} FROM alert PREWHERE {where.sql} ORDER BY version DESC LIMIT 1 BY id",
        where.params,
        settings=SETTINGS,
    ).dicts()


def search_alerts(
    engine: Engine,
    where: Condition,
    scope: Scope,
    order: Order,
    *,
    start: int = 0,
    rows: int = ROWS_DEFAULT,
    reach: Reach = EVERYWHERE,
) -> Found:
    """Returns the alerts of the scope that a condition selects: an exact total, and `rows` of them
    from `start` on, without the columns `LONG`.

    Raises BadRequestError for a column that cannot be ordered by, UnavailableError (`reason`
    "deadline") when it takes longer than `reach` allows.
    """
    # Counting reads no sort columns, and sorting keeps only a page: together they are faster than
    # one query that counts while it sorts.
    counting = engine.query_pool.submit(count_alerts, engine, where, scope, reach=reach)
    try:
        found = alerts_page(engine, where, scope, order, start=start, rows=rows, reach=reach)
    finally:
        total = counting.result()
    return Found(total, found)


def alerts_page(
    engine: Engine,
    where: Condition,
    scope: Scope,
    order: Order,
    *,
    columns: Sequence[str] = (),
    start: int = 0,
    rows: int = ROWS_DEFAULT,
    reach: Reach = EVERYWHERE,
) -> list[AlertRow]:
    """Returns the rows of `search_alerts` without the total; only `columns` (`id` among them) if
    given. The cost of scattered rows depends on the number of columns read."""
    ordering = _ordering(order)
    if not rows:
        return []
    within, selected = scoped(where, scope), _selected(columns) if columns else _SHORT_ROW
    keys = engine.query(
        f"SELECT created_time, id FROM alert FINAL {within.clause} "
        f"ORDER BY {ordering} LIMIT {rows:d} OFFSET {start:d}",
        within.params,
        settings=SETTINGS,
        deadline_s=reach.left_s(),
    ).rows
    found = {row["id"]: row for row in _at_keys(engine, keys, selected, scope)}
    return [found[key[1]] for key in keys if key[1] in found]


def count_alerts(
    engine: Engine, where: Condition, scope: Scope, *, reach: Reach = EVERYWHERE
) -> int:
    """Returns the exact number of alerts of the scope that a condition selects."""
    within = scoped(where, scope)
    total: int = engine.query(
        f"SELECT count() FROM alert FINAL {within.clause}",
        within.params,
        settings=SETTINGS,
        deadline_s=reach.left_s(),
    ).rows[0][0]
    return total


def reports_of(engine: Engine, where: Condition, scope: Scope) -> list[tuple[int, str]]:
    """Returns (feed id, report id) of the alerts of the scope that a condition selects, without
    alerts that no report created."""
    within = scoped(where, scope)
    found = engine.query(
        f"SELECT DISTINCT feed_id, report_id FROM alert FINAL {within.clause} AND {BY_REPORT}",
        within.params,
        settings=SETTINGS,
    )
    return [(row[0], row[1]) for row in found.rows]


def _ordering(order: Order) -> str:
    terms = []
    for column, descends in order:
        if column not in SORTABLE:
            raise BadRequestError(f"cannot sort results by {column!r}")
        terms.append(f"{quoted(column)} {'DESC' if descends else 'ASC'}")
    # The id keeps equal alerts in the same order on all pages.
    return ", ".join([*terms, "id"])


def new_alerts_since(
    engine: Engine, since_us: int, source_ids: Sequence[str]
) -> Mapping[tuple[str, str], tuple[int, frozenset[int]]]:
    """Maps source (kind, id) to (number of alerts created since a time in epoch microseconds, their
    sensors)."""
    found = engine.query(
        "SELECT source_kind, source_id, uniqExact(id), groupUniqArray(sensor_id) FROM alert "
        "WHERE created_time >= fromUnixTimestamp64Micro({since:Int64}, 'UTC') "
        "AND source_id IN {sources:Array(String)} GROUP BY source_kind, source_id",
        {"since": since_us, "sources": list(source_ids)},
    )
    return {(row[0], row[1]): (row[2], frozenset(row[3])) for row in found.rows}
