"""Searches threat reports in their newest versions."""

from collections.abc import Sequence
from typing import Any, Final

from vedette.errors import BadRequestError
from vedette.limits import SEGMENT_FACET_VALUES_MAX
from vedette.model.threat.report_columns import REPORT_COLUMNS
from vedette.query.compile.condition import SETTINGS
from vedette.query.compile.rows_sql import RowCondition
from vedette.store.engine.client import Engine
from vedette.store.plan.plan import Order
from vedette.store.read.segment_search import Found
from vedette.store.read.threat.reports import REPORT_ROW
from vedette.store.sql.column_lists import quoted

SORTABLE: Final = frozenset(
    column.name for column in REPORT_COLUMNS if column.name not in ("content", "sync", "version")
)

_DAY: Final = "[concat(toString(toDate({})), 'T00:00:00Z')]"

FACETS: Final[dict[str, str]] = {
    "feed_name": "[feed_name]",
    "feed_category": "[feed_category]",
    "feed_id": "[toString(feed_id)]",
    "tags": "tags",
    "score": "[toString(score)]",
    "is_ignored": "[if(is_ignored, 'true', 'false')]",
    "has_query": "[if(has_query, 'true', 'false')]",
    "is_deleted": "[if(is_deleted, 'true', 'false')]",
    "create_time": _DAY.format("create_time"),
    "update_time": _DAY.format("update_time"),
}
"""Facets of report search and the SQL lists of their values."""

Counts = dict[str, list[tuple[str, int]]]


def search_reports(
    engine: Engine,
    where: RowCondition,
    order: Order,
    *,
    start: int,
    rows: int,
    deadline_s: float | None = None,
) -> Found:
    """Returns the reports that a condition selects: an exact total, and `rows` of them from `start`
    on.

    Raises BadRequestError for a column that cannot be ordered by, UnavailableError (`reason`
    "deadline") when it takes longer than `deadline_s`.
    """
    ordering = _ordering(order)
    counted = engine.query(
        f"SELECT count() FROM threat_report FINAL WHERE {where.sql}",
        where.params,
        settings=SETTINGS,
        deadline_s=deadline_s,
    )
    total: int = counted.rows[0][0]
    if not rows or start >= total:
        return Found(total, [])
    # Reports may be long: their texts are read for one page only.
    page = (
        f"SELECT feed_id, report_id FROM threat_report FINAL WHERE {where.sql} "
        f"ORDER BY {ordering} LIMIT {rows:d} OFFSET {start:d}"
    )
    found = engine.query(
        f"SELECT {REPORT_ROW} FROM threat_report FINAL "
        f"WHERE (feed_id, report_id) IN ({page}) ORDER BY {ordering}",
        where.params,
        settings=SETTINGS,
        deadline_s=deadline_s,
    )
    return Found(total, found.dicts())


def report_keys(engine: Engine, where: RowCondition, most: int) -> list[tuple[int, str]]:
    """Returns feed and report ids of the reports that a condition selects, at most `most`."""
    found = engine.query(
        f"SELECT feed_id, report_id FROM threat_report FINAL WHERE {where.sql} LIMIT {most:d}",
        where.params,
        settings=SETTINGS,
    )
    return [(row[0], row[1]) for row in found.rows]


def count_report_facets(
    engine: Engine,
    where: RowCondition,
    names: Sequence[str],
    *,
    deadline_s: float | None = None,
) -> Counts:
    """Returns the most frequent values of each named facet with their counts, the most frequent
    first.

    Raises BadRequestError for an unknown facet.
    """
    for name in names:
        if name not in FACETS:
            raise BadRequestError(f"facet.field: unknown facet {name[:60]!r}")
    counts: Counts = {name: [] for name in names}
    if not names:
        return counts
    pairs = ", ".join(
        f"arrayMap(v -> ({number}, toString(v)), {FACETS[name]})"
        for number, name in enumerate(names)
    )
    found: Sequence[tuple[Any, ...]] = engine.query(
        "SELECT pair.1 AS which, pair.2 AS value, count() AS counted "
        f"FROM (SELECT arrayJoin(arrayConcat({pairs})) AS pair "
        f"FROM threat_report FINAL WHERE {where.sql}) WHERE value != '' GROUP BY which, value "
        f"ORDER BY which, counted DESC, value LIMIT {SEGMENT_FACET_VALUES_MAX} BY which",
        where.params,
        settings=SETTINGS,
        deadline_s=deadline_s,
    ).rows
    for which, value, count in found:
        counts[names[which]].append((value, count))
    return counts


def _ordering(order: Order) -> str:
    terms = []
    for column, descends in order:
        if column not in SORTABLE:
            raise BadRequestError(f"cannot sort results by {column!r}")
        terms.append(f"{quoted(column)} {'DESC' if descends else 'ASC'}")
    # The ids keep equal reports in the same order on all pages.
    return ", ".join([*terms, "feed_id", "report_id"])
