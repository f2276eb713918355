"""A compiled query: SQL with bound values, and what a search plan may know of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from vedette.model.indexes import IndexKind
from vedette.query.compile.binary_sql import binaries_sql, seen_in_sql

SETTINGS: Mapping[str, str | int] = {
    # Under FINAL a skipping index loses rows of parts that are not merged (`segments_sql.py`).
    "use_skip_indexes_if_final": 0,
    # All rows of a process are on one shard, so subqueries are local.
    "distributed_product_mode": "local",
    # A converted Sigma rule has up to 1,400 leaves, and a path in its form is ten nodes.
    "max_query_size": 16 * 1024 * 1024,
    "max_ast_elements": 1_000_000,
    "max_expanded_ast_elements": 2_000_000,
}
"""Engine settings that a `Condition` needs: without them answers are wrong, or refused."""

EVERY_ROW = "(1 = 1)"
"""Placeholder in the SQL wherever partial rows are read; `within` replaces it. User input is always
bound, so it never occurs in the text by chance."""


NO_INDEXES: Final[frozenset[str]] = frozenset()
"""For conditions that no skip index can evaluate."""

LookupIndex = IndexKind | Literal["suffix"]
"""A kind of index that evaluates a lookup: by words, by values, or by suffix tokens."""

TEXT_INDEXES: Final[frozenset[LookupIndex]] = frozenset({"words", "pieces", "values", "suffix"})
"""Kinds that are text indexes: they tell the rows, so that no column is read."""

_TOKEN_INDEXES: Final = TEXT_INDEXES - {"values"}


@dataclass(frozen=True, slots=True)
class IndexLookup:
    """A condition on partial rows that indexes evaluate, wholly or in part."""

    sql: str
    kinds: frozenset[LookupIndex] = frozenset()
    """The indexes that evaluate it; empty when none does, so that columns are read."""
    indexes: frozenset[str] = frozenset()
    """Names of the skip indexes of the columns that it names."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """A prefilter: every matching segment has a partial row that meets one of the lookups."""

    lookups: tuple[IndexLookup, ...]
    selectivity: int
    """Estimated, from the query alone (`selectivity.py`); higher is rarer."""

    @property
    def rows(self) -> tuple[str, ...]:
        """SQL of the lookups."""
        return tuple(one.sql for one in self.lookups)

    @property
    def indexes(self) -> frozenset[str]:
        """Names of the skip indexes of the columns that the lookups name."""
        return union_of(one.indexes for one in self.lookups)

    @property
    def is_token_lookup(self) -> bool:
        """Whether one lookup of tokens in text indexes finds its rows."""
        return len(self.lookups) == 1 and not _TOKEN_INDEXES.isdisjoint(self.lookups[0].kinds)


def union_of(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    """The names that occur in one of the sets."""
    return frozenset().union(*sets)


@dataclass(frozen=True, slots=True)
class Condition:
    """A boolean expression over the columns of `segment FINAL`, and its bound values."""

    sql: str
    params: dict[str, Any] = field(default_factory=dict)
    narrowings: tuple[Narrowing, ...] = ()
    """Index prefilters, by estimated selectivity, the most selective first."""
    before: str = ""
    """Condition on key columns alone, applied in PREWHERE before rows are merged."""
    of_processes: bool = False
    """Whether it is evaluated over whole processes: then the rows of a prefilter may be of any
    segment of the process, and `within` has to name all of them."""
    merged: frozenset[str] | None = None
    """Non-key columns that it reads from merged rows; None when unknown."""
    keys: frozenset[str] = frozenset()
    """Key columns that it reads."""
    looks: int = 0
    """Number of subqueries on events."""
    found: str = ""
    """Condition on keys, answered by indexes, that holds for all matches and few other segments;
    "" when the query is not that simple."""
    apart: "Apart | None" = None
    """The query split into events and metadata; None when it cannot be split."""
    indexes: frozenset[str] | None = None
    """Names of the skip indexes of the columns that it names; None when unknown."""

    @property
    def asks_merged(self) -> bool:
        """Whether rows have to be merged; False when it reads only keys."""
        return self.merged is None or bool(self.merged)

    @property
    def clause(self) -> str:
        """The clause after `FROM segment FINAL`."""
        return f"PREWHERE {self.before} WHERE {self.sql}" if self.before else f"WHERE {self.sql}"

    def within(self, keys: str, params: Mapping[str, Any]) -> "Condition":
        """The condition restricted to segments whose keys meet another condition."""
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
        """The condition with its event subqueries restricted by a condition on keys that is true of
        every match."""
        return replace(self, sql=self.sql.replace(EVERY_ROW, keys), narrowings=(), apart=None)

    def within_narrowing(self, keys: str, narrowing: Narrowing) -> "Condition":
        """`within_rows` for keys that a narrowing selects."""
        indexes = None if self.indexes is None else self.indexes | narrowing.indexes
        return replace(self.within_rows(keys), indexes=indexes)


@dataclass(frozen=True, slots=True)
class Apart:
    """A query as a union: segments with a partial row that meets one of `rows`, and segments that
    `others` selects by columns of the merged row."""

    rows: tuple[str, ...]
    others: Condition | None
    indexes: frozenset[str]
    """Names of the skip indexes of the columns that `rows` name."""


@dataclass(frozen=True, slots=True)
class BinaryCondition:
    """A query on binaries: `sql` decides, by values of `columns`. `rows` are prefilters: SELECTs
    of `hash`, each of which has all matching binaries."""

    rows: tuple[str, ...]
    sql: str
    params: dict[str, Any]
    columns: frozenset[str]

    def matching(self, columns: Iterable[str], which: str = "") -> str:
        """A SELECT of `hash` and some of `BINARY_COLUMNS`, at least one, of the matching binaries:
        to plan and aggregate few columns is much faster than all. `which` on `hash` is true of all
        that match and replaces the prefilters."""
        named = dict.fromkeys((*columns, *sorted(self.columns)))
        rows = binaries_sql(which or seen_in_sql(self.rows), named)
        return f"SELECT * FROM ({rows}) WHERE {self.sql}"

    @property
    def binaries(self) -> str:
        """A SELECT of `BINARY_COLUMNS` of the matching binaries."""
        return f"SELECT * FROM ({binaries_sql(seen_in_sql(self.rows))}) WHERE {self.sql}"
