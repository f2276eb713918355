"""Where in a store the end tokens of columns are in an index (`model/suffix_columns.py`), as
conditions on
partial rows. The engine tells from the names of its parts which of them to read.

Whatever is said here, answers are the same: a row whose part has no index is asked the expression
itself, which is several times dearer than its words.
"""

from dataclasses import dataclass
from typing import Any, Final

from vedette.model.suffix_columns import MERGED_ENDS

_SETTLED: Final = "settled_partitions"
_MERGING: Final = "merging_partitions"

_IN_SETTLED: Final = f"_partition_id IN {{{_SETTLED}:Array(String)}}"
_IS_MERGED: Final = "NOT match(_part, '^[^_]+_[0-9]+_[0-9]+_0(_|$)')"
"""The name of a part tells how often its rows were merged: `<partition>_<blocks>_<merges>`."""
_IN_MERGED: Final = (
    f"({_IN_SETTLED} OR _partition_id IN {{{_MERGING}:Array(String)}} AND {_IS_MERGED})"
)


@dataclass(frozen=True, slots=True)
class IndexedEnds:
    """What is known of the partitions of a store, each named by its opening time."""

    settled: tuple[int, ...] = ()
    """Those with the indexes of all columns."""
    merging: tuple[int, ...] = ()
    """Others, whose merged parts have the indexes of `MERGED_ENDS`."""
    everywhere: frozenset[str] = frozenset()
    """Columns whose index all rows have, or all but so few that they may be asked without."""

    def where(self, column: str) -> str | None:
        """Which rows have the index of a column; "" for all, None for none."""
        if column in self.everywhere:
            return ""
        if self.merging and column in MERGED_ENDS:
            return _IN_MERGED
        return _IN_SETTLED if self.settled else None

    @property
    def params(self) -> dict[str, Any]:
        """The values of what `where` says."""
        if not self.settled and not self.merging:
            return {}
        return {_SETTLED: list(map(str, self.settled)), _MERGING: list(map(str, self.merging))}


NO_ENDS: Final = IndexedEnds()
"""No partition is known to have any."""
