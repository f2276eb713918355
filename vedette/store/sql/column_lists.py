"""Column lists of reads, generated from the column catalogue."""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from vedette.model.columns import (
    CLAIMS,
    EVENT_KINDS,
    HOST,
    KEY,
    METADATA,
    PROCESS,
    RANKS,
    SHAPE,
    TOUCHED,
    Column,
)

COUNTS: tuple[str, ...] = tuple(f"{kind.name}_count" for kind in EVENT_KINDS)

SORTABLE: frozenset[str] = frozenset([column.name for column in (*KEY, *METADATA)] + list(COUNTS))
"""Columns by which results can be sorted."""

_TYPES = {column.name: column.type for column in (*KEY, *METADATA)}


def quoted(name: str) -> str:
    return f"`{name}`"


def readable(expression: str, kind: str) -> str:
    """Returns an expression whose result has the model's representation: addresses as 16 bytes."""
    return f"reinterpretAsFixedString({expression})" if kind == "ip" else expression


def readable_array(name: str, kind: str) -> str:
    if kind == "ip":
        return f"arrayMap(value -> reinterpretAsFixedString(value), {quoted(name)})"
    return quoted(name)


def _plain(column: Column) -> str:
    name = quoted(column.name)
    # An alias costs as much as a column, so only expressions that are not plain columns get one.
    return f"{readable(name, column.type)} AS {name}" if column.type == "ip" else name


_BY_NAME: Final[Mapping[str, Column]] = {column.name: column for column in (*KEY, *METADATA, SHAPE)}


def aggregated(name: str) -> str:
    """The value of a column over partial rows of a segment, or over all rows of a process, without
    FINAL: of a group, that of the best claim."""
    column = _BY_NAME.get(name)
    if column is not None and column.group:
        first = CLAIMS[column.group][0]
        if column is RANKS[column.group]:
            return first.rank(f"max({quoted(first.physical)})")
        return column.shown(f"max({quoted(column.physical)})")
    return f"{MERGES[name]}({quoted(name)})"


def best(column: Column) -> str:
    """Returns the aggregate of a column over rows, named `best_<column>`."""
    # Another name: within one SELECT, an alias would shadow the column it is computed from.
    return f"{readable(aggregated(column.name), column.type)} AS `best_{column.name}`"


ROW: str = ", ".join(
    [*map(_plain, (*KEY, *HOST, *PROCESS, *TOUCHED, *RANKS.values())), *map(quoted, COUNTS)]
)
"""A partial row with its metadata and counts, for `merged`; without columns that only serve
searches."""

KNOWN: tuple[str, ...] = tuple(column.name for column in (*HOST, *PROCESS))
"""Metadata columns of host and process: neither counts nor columns that only serve searches."""


def row_with(names: Iterable[str]) -> str:
    """Returns a segment's key and some of its metadata, under FINAL. Each column costs the engine a
    tenth of a millisecond before it is read."""
    wanted = set(names)
    return ", ".join(map(_plain, (*KEY, *(one for one in METADATA if one.name in wanted))))


CLAIM: Final = "claim"

MERGES: Final[Mapping[str, str]] = {
    **{column.name: "any" for column in KEY},
    **{column.name: CLAIM if column.group else column.merge for column in (*METADATA, SHAPE)},
    **dict.fromkeys(COUNTS, "sum"),
}
"""Maps column to how the engine merges the partial rows of a segment: by an aggregate function, or
`CLAIM`, by the rank of the group."""

_RANK_NAMES: Final = frozenset(rank.name for rank in RANKS.values())

_MERGE: Final[Mapping[str, Any]] = {"max": max, "min": min, "sum": sum, "any": next}


def merged(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merges the partial rows of one segment, as the engine does; removes the ranks. Needs at least
    one row; all rows have the same columns, and the ranks of their groups."""
    return {name: _merged_value(rows, name) for name in rows[0] if name not in _RANK_NAMES}


def _merged_value(rows: Sequence[dict[str, Any]], name: str) -> Any:
    # Python also orders texts by their UTF-8.
    merge = MERGES[name]
    if merge != CLAIM:
        return _MERGE[merge](map(itemgetter(name), rows))
    rank = RANKS[_BY_NAME[name].group].name
    return max(map(itemgetter(rank, name), rows))[1]


BEST_COUNTS: str = ", ".join(f"sum({quoted(name)}) AS `best_{name}`" for name in COUNTS)

BEST: str = ", ".join([*map(best, METADATA), BEST_COUNTS])
"""Aggregates of partial rows or segments, for a GROUP BY. Names begin with `best_`."""
