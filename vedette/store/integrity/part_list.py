"""Lists the data parts of an embedded store, to detect parts whose files were removed.

The engine keeps no such list: it ignores a part whose directory is gone, and results silently lack
its rows. So parts are listed when the store is closed and compared when it is opened next. After a
kill there is no list, and nothing is compared.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from vedette.store.engine.client import Engine
from vedette.store.partitions.lifecycle import list_partitions
from vedette.store.schema.tables import PARTITIONED

_ACTIVE: Final = "name, rows * active, hash_of_all_files"
_DETACHED: Final = "if(reason = '', name, substring(name, length(reason) + 2)), 0, ''"
"""The name of a detached part is prefixed with the reason."""
_ROWS_DIGITS: Final = 19


@dataclass(frozen=True, slots=True, order=True)
class ListedPart:
    """An active part with rows."""

    table: str
    name: str
    row_count: int
    digest: str
    """Hash of its files: a later part can have the name of a lost one."""

    def text(self) -> str:
        """Returns the part as a word without spaces; `read_parts` parses it."""
        return f"{self.table}/{self.name}:{self.row_count}:{self.digest}"


def read_parts(text: str) -> list[ListedPart]:
    """Parses words of `ListedPart.text`, separated by spaces; ignores invalid ones."""
    return [part for word in text.split() if (part := _part(word)) is not None]


def _part(word: str) -> ListedPart | None:
    table, _, rest = word.partition("/")
    name, *values = rest.split(":")
    if len(values) != 2 or not values[0].isdecimal() or len(values[0]) > _ROWS_DIGITS:
        return None
    return ListedPart(table, name, int(values[0]), values[1])


def list_parts(engine: Engine) -> list[ListedPart]:
    """Returns the parts with rows. Raises UnavailableError."""
    return [one for one in _stored(engine, _ACTIVE, "parts") if one.row_count]


def lost_parts(
    engine: Engine, before: Iterable[ListedPart], earlier: Iterable[ListedPart] = ()
) -> list[ListedPart]:
    """Returns the parts of `before` whose rows are in no part any more: neither in a part merged
    from them, nor in their source parts, nor in a detached part. `earlier` lists parts that were
    already lost; they stay lost until they are back themselves, because newer parts can have the
    same blocks. Deleted and unmounted partitions lose none. Raises UnavailableError."""
    mounted = {str(one.opened_ms) for one in list_partitions(engine) if one.state != "cold"}
    active, blocks = list_parts(engine), _Blocks()
    for one in (*active, *_stored(engine, _DETACHED, "detached_parts")):
        blocks.add(one)
    digests = {one.digest for one in active}
    lost = {one for one in before if not blocks.has(one)}
    lost |= {one for one in earlier if one.digest not in digests}
    return sorted(
        one for one in lost if one.table not in PARTITIONED or _partition(one.name) in mounted
    )


class _Blocks:
    """The block ranges of all parts, by table and partition."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[tuple[int, int]]] = {}

    def add(self, part: ListedPart) -> None:
        if (name := _named(part.name)) is not None:
            partition, first, last = name
            self._found.setdefault((part.table, partition), []).append((first, last))

    def has(self, part: ListedPart) -> bool:
        """Whether a part covers all blocks of this part, or parts within it cover the first and the
        last block: numbers in between may never have belonged to its partition."""
        if (name := _named(part.name)) is None:
            return True
        partition, first, last = name
        found = self._found.get((part.table, partition), ())
        within = [one for one in found if first <= one[0] and one[1] <= last]
        ends = {one[0] for one in within} & {first}, {one[1] for one in within} & {last}
        return all(ends) or any(one[0] <= first and last <= one[1] for one in found)


def _named(name: str) -> tuple[str, int, int] | None:
    """Returns partition, first and last block of a part from its name (level and mutation follow);
    None for names of another form."""
    partition, *numbers = name.split("_")
    if not partition or len(numbers) not in (3, 4) or not all(one.isdecimal() for one in numbers):
        return None
    return partition, int(numbers[0]), int(numbers[1])


def _partition(name: str) -> str:
    found = _named(name)
    return found[0] if found is not None else ""


def _stored(engine: Engine, columns: str, parts: str) -> list[ListedPart]:
    found = engine.query(
        f"SELECT table, {columns} FROM {engine.capabilities.system(parts)} "
        f"WHERE database = {{database:String}} ORDER BY table, name",
        {"database": engine.database},
    ).rows
    return [ListedPart(*row) for row in found]
