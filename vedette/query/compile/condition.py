"""A compiled query: SQL with bound values, and what its runner may know of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from vedette.query.compile.binary_sql import binaries_sql
from vedette.query.compile.suffix_index import IndexedEnds

SETTINGS: Mapping[str, str | int] = {
    # An index under FINAL loses rows whose parts are not merged yet (`segments_sql.py`).
    "use_skip_indexes_if_final": 0,
    # On a cluster a process lies on one shard, so each shard asks itself.
    "distributed_product_mode": "local",
    # A converted Sigma rule has up to 1,400 leaves, and a path in its form is ten nodes.
    "max_query_size": 16 * 1024 * 1024,
    "max_ast_elements": 1_000_000,
    "max_expanded_ast_elements": 2_000_000,
}
"""Settings without which a `Condition` may give wrong answers, or none."""

EVERY_ROW = "(1 = 1)"
"""Stands in the text of a condition wherever partial rows are read, for what `within` puts there.
Nothing of a user is ever text, so it cannot come from elsewhere."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A boolean expression over the columns of `segment FINAL`, and its bound values."""

    sql: str
    params: dict[str, Any] = field(default_factory=dict)
    narrowings: tuple[tuple[str, ...], ...] = ()
    """Each a list of conditions on partial rows; every answer has a row for which one of them is
    true. The most promising ones first."""
    before: str = ""
    """A condition on keys alone, which may be asked before rows are merged."""
    of_processes: bool = False
    """Whether other segments of the process count, too: then it may be any of them that has the
    rows of the narrowings, and `within` has to name all of them."""
    merged: frozenset[str] | None = None
    """The columns beside keys that it asks of merged rows; None when that is not known."""
    keys: frozenset[str] = frozenset()
    """The columns of keys that it asks, as a query names them."""
    looks: int = 0
    """How often it looks for events."""
    found: str = ""
    """A condition on keys that holds for every answer and for few others, as the indexes see it;
    "" when there is none so simple."""
    apart: "Apart | None" = None
    """The same in two parts; None when it is not that simple."""
    with_ends: "Callable[[IndexedEnds], Condition] | None" = field(
        default=None, compare=False, repr=False
    )
    """The same condition for a store where end tokens are in indexes: with the same answers."""

    @property
    def asks_merged(self) -> bool:
        """Whether rows have to be merged for it; without, it asks nothing but keys."""
        return self.merged is None or bool(self.merged)

    @property
    def clause(self) -> str:
        """What follows `FROM segment FINAL`."""
        return f"PREWHERE {self.before} WHERE {self.sql}" if self.before else f"WHERE {self.sql}"

    def within(self, keys: str, params: Mapping[str, Any]) -> "Condition":
        """The same, reading only segments for which a condition on their keys is true."""
        sql = self.sql.replace(EVERY_ROW, keys)
        before = f"{self.before} AND {keys}" if self.before else keys
        return replace(
            self,
            sql=sql,
            params={**self.params, **params},
            narrowings=(),
            before=before,
            apart=None,
        )

    def within_rows(self, keys: str) -> "Condition":
        """The same, looking for events only in segments for which a condition on their keys is
        true; it holds of every answer."""
        return replace(self, sql=self.sql.replace(EVERY_ROW, keys), narrowings=(), apart=None)


@dataclass(frozen=True, slots=True)
class Apart:
    """What selects segments, in two parts: those that have a partial row for which one of `rows` is
    true, and those that `others` selects, by columns of the merged row."""

    rows: tuple[str, ...]
    others: Condition | None


@dataclass(frozen=True, slots=True)
class BinaryCondition:
    """What selects binaries: `binaries_sql(rows)` has them and few others, `sql` decides."""

    rows: str
    sql: str
    params: dict[str, Any]

    @property
    def binaries(self) -> str:
        """A SELECT of `BINARY_COLUMNS` of the binaries that answer."""
        return f"SELECT * FROM ({binaries_sql(self.rows)}) WHERE {self.sql}"
