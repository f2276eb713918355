"""Texts of events that match patterns, of a few segments: what highlights are made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vedette import limits
from vedette.model.fields import EVENT_COLUMNS
from vedette.query.predicate_sql import Binder, either
from vedette.store.engine import Engine
from vedette.store.reach import EVERYWHERE, Reach
from vedette.store.select import quoted
from vedette.store.where import SEGMENT_KEY

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
    """The different texts that one of the RE2 patterns of their event column finds, by segment
    and column; `HIGHLIGHT_VALUES_MAX` of each at most.

    Raises UnavailableError when it takes longer than `reach` allows.
    """
    columns = [column for column in patterns if column in EVENT_COLUMNS]
    if not keys or not columns:
        return []
    bind = Binder("t")
    selected = ", ".join(_matching(column, patterns[column], bind) for column in columns)
    # Without FINAL every index would be asked, which takes longer than reading a few segments.
    rows = reach.ask(
        engine,
        f"SELECT {SEGMENT_KEY}, {selected} FROM segment FINAL WHERE ({SEGMENT_KEY}) IN {_KEYS}",
        {**bind.params, "keys": list(keys)},
    ).rows
    return [
        Texts((row[0], row[1], row[2], row[3]), column, values)
        for row in rows
        for column, values in zip(columns, row[4:], strict=True)
        if values
    ]


def _matching(column: str, patterns: Sequence[str], bind: Binder) -> str:
    found = either(f"match(x, {bind('String', one)})" for one in patterns)
    values = f"arrayDistinct(arrayFilter(x -> {found}, {quoted(column)}))"
    return f"arraySlice({values}, 1, {limits.HIGHLIGHT_VALUES_MAX:d})"
