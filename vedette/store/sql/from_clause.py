"""Renders the text after FROM in a search of segments; `choose.can_group_rows` decides which
form."""

from collections.abc import Iterable
from typing import Final

from vedette.query.compile.condition import Condition
from vedette.query.compile.document import SEGMENT
from vedette.store.sql.column_lists import aggregated, quoted

_KEY_COLUMNS: Final = frozenset({"window_ms", "sensor_id"})
"""Columns of a `Place`."""


def merged(where: Condition) -> str:
    """Returns a FROM clause in which the engine merges partial rows in key order (FINAL)."""
    return f"segment FINAL {where.clause}"


def grouped(where: Condition, columns: Iterable[str] = ()) -> str:
    """Returns a FROM clause in which partial rows selected by `where.before` are grouped by key;
    the outer query needs `columns`."""
    wanted = sorted({*(where.merged or ()), *where.keys, *columns} - _KEY_COLUMNS)
    found = "".join(f", {aggregated(one)} AS {quoted(one)}" for one in wanted)
    return (
        f"(SELECT {SEGMENT.key}, any(sensor_id) AS sensor_id{found} FROM segment "
        f"WHERE {where.before} GROUP BY {SEGMENT.key}) "
        f"WHERE {where.sql}"
    )
