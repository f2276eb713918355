"""Column lists of reads, generated from the column catalogue."""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from vedette.model.columns import EVENT_KINDS, HOST, KEY, METADATA, PROCESS, TOUCHED, Column
from vedette.model.fields import SHAPE_COLUMN

COUNTS: tuple[str, ...] = tuple(f"{kind.name}_count" for kind in EVENT_KINDS)

SORTABLE: frozenset[str] = frozenset([column.name for column in (*KEY, *METADATA)] + list(COUNTS))
"""Columns that results can be sorted by."""

_TYPES = {column.name: column.type for column in (*KEY, *METADATA)}


def quoted(name: str) -> str:
    return f"`{name}`"


def readable(expression: str, kind: str) -> str:
    """An expression whose values come back as the model has them: addresses as 16 bytes."""
    return f"reinterpretAsFixedString({expression})" if kind == "ip" else expression


def readable_array(name: str, kind: str) -> str:
    if kind == "ip":
        return f"arrayMap(value -> reinterpretAsFixedString(value), {quoted(name)})"
    return quoted(name)


def _plain(column: Column) -> str:
    name = quoted(column.name)
    # An alias costs as much as a column, so only what is not a column itself has one.
    return f"{readable(name, column.type)} AS {name}" if column.type == "ip" else name


def best(column: Column) -> str:
    """The aggregate of a column over rows, named `best_<column>`."""
    value = f"{column.merge}({quoted(column.name)})"
    # Another name: within one SELECT, an alias would shadow the column it is made from.
    return f"{readable(value, column.type)} AS `best_{column.name}`"


ROW: str = ", ".join([*map(_plain, (*KEY, *HOST, *PROCESS, *TOUCHED)), *map(quoted, COUNTS)])
"""A segment with its metadata and counts, under FINAL; nothing that is only searched for."""

KNOWN: tuple[str, ...] = tuple(column.name for column in (*HOST, *PROCESS))
"""Metadata columns of host and process: neither counts nor columns that only serve searches."""


def row_with(names: Iterable[str]) -> str:
    """A segment's key and some of its metadata, under FINAL. Each column costs the engine
    a tenth of a millisecond before it is read."""
    wanted = set(names)
    return ", ".join(map(_plain, (*KEY, *(one for one in METADATA if one.name in wanted))))


MERGES: Final[Mapping[str, str]] = {
    **{column.name: "any" for column in KEY},
    **{column.name: column.merge for column in METADATA},
    **dict.fromkeys(COUNTS, "sum"),
    SHAPE_COLUMN: "max",
}
"""How the engine merges the partial rows of a segment, by column."""

_MERGE: Final[Mapping[str, Any]] = {"max": max, "min": min, "sum": sum, "any": next}


def merged(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The partial rows of one segment as one; at least one row, all with the same columns."""
    if len(rows) == 1:
        return rows[0]
    # Texts are in the order of their UTF-8 here too.
    return {name: _MERGE[MERGES[name]](map(itemgetter(name), rows)) for name in rows[0]}


BEST_COUNTS: str = ", ".join(f"sum({quoted(name)}) AS `best_{name}`" for name in COUNTS)

BEST: str = ", ".join([*map(best, METADATA), BEST_COUNTS])
"""Aggregates of partial rows or segments, for a GROUP BY. Names begin `best_`."""
