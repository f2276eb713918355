"""Conditions on partial rows that have suffix indexes (`model/suffix_columns.py`). The engine
selects parts by name, so these conditions cost no reads.

Results do not depend on them: rows of parts without the index are tested by the expression itself,
which costs several times as much as the indexed tokens.
"""

from dataclasses import dataclass
from typing import Any, Final

from vedette.model.suffix_columns import MERGED_SUFFIX_COLUMNS

_INDEXED: Final = "settled_partitions"
_MERGING: Final = "merging_partitions"

_IN_INDEXED: Final = f"_partition_id IN {{{_INDEXED}:Array(String)}}"
_IS_MERGED: Final = "NOT match(_part, '^[^_]+_[0-9]+_[0-9]+_0(_|$)')"
"""Part names have the form `<partition>_<blocks>_<merges>`."""
_IN_MERGED: Final = (
    f"({_IN_INDEXED} OR _partition_id IN {{{_MERGING}:Array(String)}} AND {_IS_MERGED})"
)


@dataclass(frozen=True, slots=True)
class SuffixIndexes:
    """Partitions of a store that have suffix indexes, by opening time. The store passes this
    capability to the compiler (`store/partitions/index_build.py`)."""

    indexed: tuple[int, ...] = ()
    """Partitions with the indexes of all columns."""
    merging: tuple[int, ...] = ()
    """Partitions whose merged parts have the indexes of `MERGED_SUFFIX_COLUMNS`."""
    everywhere: frozenset[str] = frozenset()
    """Columns whose index covers all rows, or all except so few that scanning those is cheap."""

    def where(self, column: str) -> str | None:
        """Returns SQL that selects the rows with the column's index; "" for all rows, None for
        none."""
        if column in self.everywhere:
            return ""
        if self.merging and column in MERGED_SUFFIX_COLUMNS:
            return _IN_MERGED
        return _IN_INDEXED if self.indexed else None

    @property
    def params(self) -> dict[str, Any]:
        """Bound values of `where`."""
        if not self.indexed and not self.merging:
            return {}
        return {_INDEXED: list(map(str, self.indexed)), _MERGING: list(map(str, self.merging))}


NO_SUFFIX_INDEXES: Final = SuffixIndexes()
"""No partition has suffix indexes."""
