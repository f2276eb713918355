"""A compiled query: SQL with bound values, and properties that search planning uses."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from vedette.model.indexes import IndexKind
from vedette.query.compile.binary_sql import binaries_sql, seen_in_sql

SETTINGS: Mapping[str, str | int] = {
    # Under FINAL a skipping index loses rows of unmerged parts (`segments_sql.py`).
    "use_skip_indexes_if_final": 0,
    # All rows of a process are on one shard, so subqueries are local.
    "distributed_product_mode": "local",
    # A converted Sigma rule has up to 1,400 leaves, and a path in its form takes ten nodes.
    "max_query_size": 16 * 1024 * 1024,
    "max_ast_elements": 1_000_000,
    "max_expanded_ast_elements": 2_000_000,
}
"""Engine settings that a `Condition` requires. Without them results are wrong, or the engine
rejects the query."""

EVERY_ROW = "(1 = 1)"
"""Placeholder in the SQL wherever partial rows are read. `within` replaces it. User input is always
bound, so the text cannot contain the placeholder by chance."""


NO_INDEXES: Final[frozenset[str]] = frozenset()
"""For conditions that no skip index can evaluate."""

LookupIndex = IndexKind | Literal["suffix"]
"""Kind of index that evaluates a lookup: by words, by values, or by suffix tokens."""

TEXT_INDEXES: Final[frozenset[LookupIndex]] = frozenset({"words", "pieces", "values", "suffix"})
"""Text indexes. They identify matching rows, so no column is read."""

_TOKEN_INDEXES: Final = TEXT_INDEXES - {"values"}


@dataclass(frozen=True, slots=True)
class IndexLookup:
    """A condition on partial rows that indexes evaluate fully or partly."""

    sql: str
    kinds: frozenset[LookupIndex] = frozenset()
    """Kinds of the indexes that evaluate it. If empty, columns are read."""
    indexes: frozenset[str] = frozenset()
    """Names of the skip indexes of the columns in the condition."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """A prefilter. Every matching segment has a partial row that satisfies one of the lookups."""

    lookups: tuple[IndexLookup, ...]
    selectivity: int
    """Estimate from the query alone (`selectivity.py`). Higher values are more selective."""

    @property
    def rows(self) -> tuple[str, ...]:
        """SQL of the lookups."""
        return tuple(one.sql for one in self.lookups)

    @property
    def indexes(self) -> frozenset[str]:
        """Names of the skip indexes of the columns in the lookups."""
        return union_of(one.indexes for one in self.lookups)

    @property
    def is_token_lookup(self) -> bool:
        """Whether a single lookup of tokens in text indexes finds the rows."""
        return len(self.lookups) == 1 and not _TOKEN_INDEXES.isdisjoint(self.lookups[0].kinds)


def union_of(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    """Returns the union of sets."""
    return frozenset().union(*sets)


@dataclass(frozen=True, slots=True)
class Condition:
    """A boolean expression over the columns of `segment FINAL`, with its bound values."""

    sql: str
    params: dict[str, Any] = field(default_factory=dict)
    narrowings: tuple[Narrowing, ...] = ()
    """Index prefilters, most selective first (estimated)."""
    before: str = ""
    """Condition on key columns, applied in PREWHERE before rows are merged."""
    of_processes: bool = False
    """Whether the condition is evaluated over whole processes. The rows of a prefilter may then
    belong to any segment of the process, and the keys passed to `within` must include all its
    segments."""
    merged: frozenset[str] | None = None
    """Non-key columns that it reads from merged rows; None if unknown."""
    keys: frozenset[str] = frozenset()
    """Key columns that it reads."""
    looks: int = 0
    """Number of subqueries on events."""
    found: str = ""
    """Condition on keys, evaluated by indexes, that is true for all matches and few other segments;
    "" if the query is too complex."""
    apart: "Apart | None" = None
    """The query split into events and metadata; None if it cannot be split."""
    indexes: frozenset[str] | None = None
    """Names of the skip indexes of the columns in the condition; None if unknown."""

    @property
    def asks_merged(self) -> bool:
        """Whether rows must be merged; False if only keys are read."""
        return self.merged is None or bool(self.merged)

    @property
    def clause(self) -> str:
        """The clause after `FROM segment FINAL`."""
        return f"PREWHERE {self.before} WHERE {self.sql}" if self.before else f"WHERE {self.sql}"

    def within(self, keys: str, params: Mapping[str, Any]) -> "Condition":
        """Returns the condition restricted to segments whose keys satisfy another condition."""
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
        """Returns the condition with its event subqueries restricted by a condition on keys, which
        must be true for every match."""
        return replace(self, sql=self.sql.replace(EVERY_ROW, keys), narrowings=(), apart=None)

    def within_narrowing(self, keys: str, narrowing: Narrowing) -> "Condition":
        """Like `within_rows`, for keys that a narrowing selects."""
        indexes = None if self.indexes is None else self.indexes | narrowing.indexes
        return replace(self.within_rows(keys), indexes=indexes)


@dataclass(frozen=True, slots=True)
class Apart:
    """A query as a union of two sets: segments with a partial row that satisfies one of `rows`, and
    segments that `others` selects by columns of the merged row."""

    rows: tuple[str, ...]
    others: Condition | None
    indexes: frozenset[str]
    """Names of the skip indexes of the columns in `rows`."""


@dataclass(frozen=True, slots=True)
class BinaryCondition:
    """A query on binaries. `sql` is the exact condition, over the values of `columns`. `rows` are
    prefilters: each is a SELECT of `hash` that includes all matching binaries."""

    rows: tuple[str, ...]
    sql: str
    params: dict[str, Any]
    columns: frozenset[str]

    def matching(self, columns: Iterable[str], which: str = "") -> str:
        """Returns a SELECT of `hash` and at least one of `BINARY_COLUMNS` of the matching binaries.
        Few columns are much faster to plan and aggregate than all. `which`, a condition on `hash`
        that is true for all matches, replaces the prefilters."""
        named = dict.fromkeys((*columns, *sorted(self.columns)))
        rows = binaries_sql(which or seen_in_sql(self.rows), named)
        return f"SELECT * FROM ({rows}) WHERE {self.sql}"

    @property
    def binaries(self) -> str:
        """A SELECT of `BINARY_COLUMNS` of the matching binaries."""
        return f"SELECT * FROM ({binaries_sql(seen_in_sql(self.rows))}) WHERE {self.sql}"
