"""Searches event records.

Records never change and are single rows, so nothing is merged at reading. The scope is a condition
on the sensor of every read.
"""

from collections.abc import Sequence
from typing import Any, Final

from vedette.errors import BadRequestError
from vedette.model.log_fields import READINGS
from vedette.model.scope import Scope
from vedette.query.compile.condition import SETTINGS, Condition
from vedette.store.engine.client import Engine
from vedette.store.plan.plan import Order
from vedette.store.plan.search_bounds import EVERYWHERE, Reach
from vedette.store.sql.column_lists import quoted, readable
from vedette.store.sql.scope_filter import scoped

LogRow = dict[str, Any]
"""A record by column name; addresses as 16 bytes, times in epoch microseconds."""

SORTABLE: Final = frozenset(
    {
        "time",
        "committed",
        "hostname",
        "channel",
        "provider",
        "event_id",
        "record_id",
        "sensor_id",
        "level",
        *(reading.name for reading in READINGS if reading.type != "address"),
    }
)
"""Columns that records can be ordered by."""


def log_page(
    engine: Engine,
    where: Condition,
    scope: Scope,
    order: Order,
    *,
    start: int,
    rows: int,
    reach: Reach = EVERYWHERE,
) -> list[LogRow]:
    """`rows` records of the scope that a condition selects, from `start` on.

    Raises BadRequestError for a column that cannot be ordered by, UnavailableError (`reason`
    "deadline") when it takes longer than `reach` allows.
    """
    ordering = _ordering(order)
    if not rows:
        return []
    within = scoped(where, scope)
    return engine.query(
        f"SELECT {_ROW} FROM record {within.clause} "
        f"ORDER BY {ordering} LIMIT {rows:d} OFFSET {start:d}",
        within.params,
        settings=SETTINGS,
        deadline_s=reach.left_s(),
        cancel=reach.cancel,
    ).dicts()


def count_logs(engine: Engine, where: Condition, scope: Scope, *, reach: Reach = EVERYWHERE) -> int:
    """The exact number of records of the scope that a condition selects."""
    within = scoped(where, scope)
    total: int = engine.query(
        f"SELECT count() FROM record {within.clause}",
        within.params,
        settings=SETTINGS,
        deadline_s=reach.left_s(),
        cancel=reach.cancel,
    ).rows[0][0]
    return total


_STORED: Final = (
    "sensor_id",
    "hostname",
    "time",
    "channel",
    "event_id",
    "record_id",
    "provider",
    "fields",
    "committed",
    "level",
    "content_hash",
)
_ROW: Final = ", ".join(
    [
        *map(quoted, _STORED),
        *(
            f"{readable(quoted(reading.name), 'ip')} AS {quoted(reading.name)}"
            if reading.type == "address"
            else quoted(reading.name)
            for reading in READINGS
        ),
    ]
)


def _ordering(order: Order) -> str:
    terms: Sequence[str] = [
        f"record.{quoted(_known(column))} {'DESC' if descends else 'ASC'}"
        for column, descends in order
    ]
    # Records of one time keep their places from page to page.
    return ", ".join([*terms, "sensor_id", "record_id DESC", "content_hash", "committed"])


def _known(column: str) -> str:
    if column not in SORTABLE:
        raise BadRequestError(f"cannot sort results by {column!r}")
    return column
