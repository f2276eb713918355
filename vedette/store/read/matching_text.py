"""Event texts of a few segments that match patterns, for highlights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from vedette.limits import Limit
from vedette.model.fields import EVENT_COLUMNS
from vedette.query.compile.binder import Binder, either
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import EVERYWHERE, Reach
from vedette.store.read.process_events import BY_KEY
from vedette.store.sql.column_lists import quoted
from vedette.store.sql.scope_filter import SEGMENT_KEY

HIGHLIGHT_VALUES_MAX: Limit[int] = 20
"""Distinct values of one column of a segment that are highlighted."""


Key = tuple[int, int, str, int]
"""A segment by `SEGMENT_KEY`."""

_KEYS: Final = "{keys:Array(Tuple(UInt64, UInt32, String, UInt64))}"


@dataclass(frozen=True, slots=True)
class Texts:
    """Values of one column of one segment."""

    key: Key
    column: str
    values: Sequence[str]


def matching_texts(
    engine: Engine,
    keys: Sequence[Key],
    patterns: Mapping[str, Sequence[str]],
    *,
    reach: Reach = EVERYWHERE,
) -> list[Texts]:
    """Returns the distinct texts that match an RE2 pattern of their event column, by segment and
    column; at most `HIGHLIGHT_VALUES_MAX` of each.

    Raises UnavailableError when it takes longer than `reach` allows.
    """
    columns = [column for column in patterns if column in EVENT_COLUMNS]
    if not keys or not columns:
        return []
    bind = Binder("t")
    selected = ", ".join(_matching(column, patterns[column], bind) for column in columns)
    # Without FINAL, since an event is in exactly one partial row.
    rows = engine.query(
        f"SELECT {SEGMENT_KEY}, seq, {selected} FROM segment PREWHERE ({SEGMENT_KEY}) IN {_KEYS}",
        {**bind.params, "keys": list(keys)},
        settings=BY_KEY,
        deadline_s=reach.left_s(),
    ).rows
    found: dict[tuple[Key, str], dict[str, None]] = {}
    for row in sorted(rows, key=itemgetter(4)):
        for column, values in zip(columns, row[5:], strict=True):
            found.setdefault((row[:4], column), {}).update(dict.fromkeys(values))
    most = HIGHLIGHT_VALUES_MAX
    return [Texts(*key, list(values)[:most]) for key, values in found.items() if values]


def _matching(column: str, patterns: Sequence[str], bind: Binder) -> str:
    found = either(f"match(x, {bind('String', one)})" for one in patterns)
    values = f"arrayDistinct(arrayFilter(x -> {found}, {quoted(column)}))"
    return f"arraySlice({values}, 1, {HIGHLIGHT_VALUES_MAX:d})"
