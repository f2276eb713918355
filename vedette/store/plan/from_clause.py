"""What follows FROM in a search of segments."""

from collections.abc import Iterable
from typing import Final

from vedette.query.compile.condition import Condition
from vedette.query.compile.document import SEGMENT
from vedette.store.read.column_lists import MERGES, quoted

_PLACED: Final = frozenset({"window_ms", "sensor_id"})
"""Columns of a `Place`."""


def selected(where: Condition, columns: Iterable[str] = ()) -> str:
    """The segments that a condition selects, with these columns. The rows of few segments are
    grouped, which costs half of what merging them in the order of keys does."""
    if not where.before or where.merged is None or not MERGES.keys() >= where.merged:
        return f"segment FINAL {where.clause}"
    wanted = sorted({*where.merged, *where.keys, *columns} - _PLACED)
    found = "".join(f", {MERGES[one]}({quoted(one)}) AS {quoted(one)}" for one in wanted)
    return (
        f"(SELECT {SEGMENT.key}, any(sensor_id) AS sensor_id{found} FROM segment "
        f"WHERE {where.before} GROUP BY {SEGMENT.key}) "
        f"WHERE {where.sql}"
    )
