"""Searches rule hits."""

from collections.abc import Sequence
from typing import Final

from vedette.errors import BadRequestError
from vedette.limits import SEGMENT_FACET_VALUES_MAX
from vedette.model.hit_fields import HIT_OUTCOMES
from vedette.model.scope import Scope
from vedette.query.compile.condition import SETTINGS, Condition
from vedette.store.engine.client import Engine
from vedette.store.plan.plan import Order
from vedette.store.plan.search_bounds import EVERYWHERE, Reach
from vedette.store.read.segment_search import Found
from vedette.store.sql.column_lists import quoted
from vedette.store.sql.scope_filter import scoped

_WRITTEN: Final = [outcome for outcome in HIT_OUTCOMES if outcome not in ("alert", "pending")]

_OUTCOME: Final = (
    "multiIf("
    + "".join(
        "(seq, cityHash64(alert_id)) IN (SELECT seq, cityHash64(alert_id) FROM hit_outcome "
        f"WHERE outcome = '{outcome}'), '{outcome}', "
        for outcome in _WRITTEN
    )
    + "seq > {processed_seq:UInt64}, 'pending', alert_id = '', '', 'alert')"
)
"""SQL of a hit's outcome; "" for hits of a server that did not record outcomes."""

_HITS: Final = f"(SELECT *, {_OUTCOME} AS outcome FROM hit)"
"""The table of hits with their outcomes. The engine computes an outcome only where it is read."""

_COLUMNS: Final = (
    "rule_id",
    "rule_name",
    "level",
    "hostname",
    "sensor_id",
    "username",
    "process_name",
    "process_id",
    "segment_id",
    "md5",
    "time",
    "last_time",
    "committed",
    "count",
    "alert_id",
    "outcome",
    "subject",
    "seq",
    "matched",
    "event",
)

SORTABLE: Final = frozenset(_COLUMNS) - {"matched", "event", "outcome"}

_DAY: Final = "[concat(toString(toDate(`{}`)), 'T00:00:00Z')]"

FACETS: Final[dict[str, str]] = {
    **{
        name: f"[toString(`{name}`)]"
        for name in (
            "rule_id",
            "rule_name",
            "level",
            "hostname",
            "username",
            "process_name",
            "sensor_id",
            "outcome",
        )
    },
    "time": _DAY.format("time"),
    "committed": _DAY.format("committed"),
}
"""Facets of hit search and the SQL lists of their values; times by day."""

Counts = dict[str, list[tuple[str, int]]]


def search_hits(
    engine: Engine,
    where: Condition,
    scope: Scope,
    order: Order,
    processed_seq: int,
    *,
    start: int,
    rows: int,
    reach: Reach = EVERYWHERE,
) -> Found:
    """Returns the exact number of hits of the scope that meet a condition, and `rows` of them from
    `start` on. `processed_seq` is the newest commit whose hits were processed.

    Raises BadRequestError for a column that cannot be ordered by, and UnavailableError (`reason`
    "deadline") when it takes longer than `reach` allows.
    """
    ordering = _ordering(order)
    within = scoped(where, scope)
    params = {**within.params, "processed_seq": processed_seq}
    total: int = engine.query(
        f"SELECT count() FROM {_HITS} {within.clause}",
        params,
        settings=SETTINGS,
        deadline_s=reach.left_s(),
    ).rows[0][0]
    if not rows or start >= total:
        return Found(total, [])
    found = engine.query(
        f"SELECT {', '.join(map(quoted, _COLUMNS))} FROM {_HITS} {within.clause} "
        f"ORDER BY {ordering} LIMIT {rows:d} OFFSET {start:d}",
        params,
        settings=SETTINGS,
        deadline_s=reach.left_s(),
    )
    return Found(total, found.dicts())


def count_hit_facets(
    engine: Engine,
    where: Condition,
    scope: Scope,
    names: Sequence[str],
    processed_seq: int,
    *,
    values: int = SEGMENT_FACET_VALUES_MAX,
    is_rarest: bool = False,
    reach: Reach = EVERYWHERE,
) -> Counts:
    """Returns the most frequent values of each named facet with their counts, the most frequent
    first; with `is_rarest` the least frequent; days in order.

    Raises BadRequestError for a name that is no facet.
    """
    for name in names:
        if name not in FACETS:
            raise BadRequestError(f"facet.field: unknown facet {name[:60]!r}")
    counts: Counts = {name: [] for name in names}
    if not names:
        return counts
    pairs = ", ".join(
        f"arrayMap(v -> ({number}, v), {FACETS[name]})" for number, name in enumerate(names)
    )
    within = scoped(where, scope)
    direction = "ASC" if is_rarest else "DESC"
    found = engine.query(
        "SELECT pair.1 AS which, pair.2 AS value, count() AS counted "
        f"FROM (SELECT arrayJoin(arrayConcat({pairs})) AS pair FROM {_HITS} {within.clause}) "
        f"WHERE value != '' GROUP BY which, value ORDER BY which, counted {direction}, value "
        f"LIMIT {min(values, SEGMENT_FACET_VALUES_MAX):d} BY which",
        {**within.params, "processed_seq": processed_seq},
        settings=SETTINGS,
        deadline_s=reach.left_s(),
    ).rows
    for which, value, count in found:
        counts[names[which]].append((value, count))
    for name in ("time", "committed"):
        if name in counts:
            counts[name].sort()
    return counts


def _ordering(order: Order) -> str:
    terms = []
    for column, descends in order:
        if column not in SORTABLE:
            raise BadRequestError(f"cannot sort results by {column!r}")
        terms.append(f"{quoted(column)} {'DESC' if descends else 'ASC'}")
    # A fixed order of equal hits keeps their places from page to page.
    return ", ".join([*terms, "seq", "rule_id", "sensor_id", "subject", "time"])
