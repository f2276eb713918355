"""Bounds of a search: deadline, earliest window, rows, cancellation.

A search that exceeds its deadline is retried over the newest part of the store
(`search/deadline.py`). `additional_table_filters` applies the earliest window wherever a query
names `segment`, subqueries included, so the cost shrinks in proportion. A segment never spans two
windows, so every segment in the range is complete.
"""

import time
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from vedette.errors import UnavailableError
from vedette.model.indexes import INDEXES, SEQ_INDEX, index_name
from vedette.model.scope import EVERYTHING, Scope
from vedette.model.suffix_columns import SUFFIX_COLUMNS, suffix_index_name
from vedette.query.compile.condition import NO_INDEXES, SETTINGS, Condition
from vedette.store.engine.cancel import CancelToken
from vedette.store.engine.client import Engine, Page, Params, Rows, Settings
from vedette.store.sql.scope_filter import scoped

_ASKED: Final[Settings] = {
    **SETTINGS,
    "optimize_use_projections": 0,
    # Aggregates have the name of the column that they aggregate.
    "prefer_column_name_to_alias": 1,
}
_ROWS_MAX: Final = ("max_rows_in_set", "max_rows_to_group_by")

_SKIP_INDEXES: Final = (
    *(index_name(column) for column, _ in INDEXES),
    *map(suffix_index_name, SUFFIX_COLUMNS),
    SEQ_INDEX,
)
"""All skip indexes of `segment`."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Bounds of a search. `until_s` is a time of `time.monotonic`. Windows from `since_ms` (0 for
    all) to below `before_ms` (0 for no end) are read."""

    until_s: float | None = None
    since_ms: int = 0
    rows_max: int = 0
    """Rows allowed in a set or in the groups of a result; 0: unlimited."""
    cancel: CancelToken | None = None
    """Cancels every query of this search."""
    before_ms: int = 0

    @classmethod
    def within(
        cls,
        duration_s: float | None,
        since_ms: int = 0,
        cancel: CancelToken | None = None,
        before_ms: int = 0,
    ) -> "Reach":
        """Returns bounds that end in `duration_s` seconds; None: never."""
        until_s = None if duration_s is None else time.monotonic() + duration_s
        return cls(until_s, since_ms, cancel=cancel, before_ms=before_ms)

    def left_s(self) -> float | None:
        """Returns the seconds until the deadline; None without one. Raises UnavailableError
        (`deadline`)."""
        if self.until_s is None:
            return None
        left_s = self.until_s - time.monotonic()
        if left_s <= 0:
            raise UnavailableError("the search exceeded its time limit", reason="deadline")
        return left_s

    def ask(
        self,
        engine: Engine,
        sql: str,
        params: Params,
        *,
        indexes: frozenset[str] | None,
        threads: int = 0,
    ) -> Rows:
        """Runs a SELECT on segments within the bounds, with the settings that conditions need.

        `indexes` are the skip indexes that its conditions can use (`Condition.indexes`), None if
        unknown; the others are ignored. `threads` limits the engine's threads; 0: its default.
        Raises UnavailableError (`reason` "deadline", "cancelled"), and ManyRowsError when a set or
        the groups of a result exceed `rows_max`.
        """
        settings = self._settings(engine, indexes)
        if threads:
            settings["max_threads"] = threads
        return engine.query(
            sql, params, settings=settings, deadline_s=self.left_s(), cancel=self.cancel
        )

    def ask_page(
        self, engine: Engine, sql: str, params: Params, *, indexes: frozenset[str] | None
    ) -> Page:
        """Like `ask`, for a page with the number of all rows (`Engine.query_page`)."""
        return engine.query_page(
            sql,
            params,
            settings=self._settings(engine, indexes),
            deadline_s=self.left_s(),
            cancel=self.cancel,
        )

    def ask_table(
        self,
        engine: Engine,
        sql: str,
        schema: pa.Schema,
        params: Params,
        indexes: frozenset[str] | None,
    ) -> pa.Table:
        """Like `ask`, for many rows: returns a table with this schema."""
        settings = self._settings(engine, indexes)
        return engine.query_table(
            sql,
            schema,
            params,
            settings=settings,
            deadline_s=self.left_s(),
            cancel=self.cancel,
        )

    def _settings(self, engine: Engine, indexes: frozenset[str] | None) -> dict[str, str | int]:
        settings = {**_ASKED, **_without_other_indexes(indexes)}
        if self.rows_max:
            settings |= dict.fromkeys(_ROWS_MAX, self.rows_max)
        ends = [f"window_ms >= {self.since_ms:d}"] if self.since_ms else []
        ends += [f"window_ms < {self.before_ms:d}"] if self.before_ms else []
        if ends:
            tables = dict.fromkeys(("segment", engine.capabilities.storage("segment")))
            bound = ", ".join(f"'{name}': '{' AND '.join(ends)}'" for name in tables)
            settings["additional_table_filters"] = f"{{{bound}}}"
        return settings


def _without_other_indexes(indexes: frozenset[str] | None) -> dict[str, str]:
    """Returns settings that ignore all other skip indexes: the engine analyzes every index in every
    read, a quarter of the cost of one index lookup."""
    if indexes is None:
        return {}
    others = [name for name in _SKIP_INDEXES if name not in indexes]
    return {"ignore_data_skipping_indices": ",".join(others)} if others else {}


EVERYWHERE = Reach()
"""All segments, without a deadline."""


def newest_since(
    engine: Engine, part: float, reach: Reach = EVERYWHERE, scope: Scope = EVERYTHING
) -> int:
    """Returns the earliest window (epoch ms, at least 1) of about the newest `part` of all segments
    of a scope within `reach`. Answers contain it, so it must reveal nothing about other hosts."""
    within = scoped(Condition("1"), scope)
    sql = (
        "SELECT toUInt64(ifNotFinite(quantile({older:Float64})(window_ms), 0)) FROM segment "
        f"WHERE {within.sql}"
    )
    params = {**within.params, "older": 1 - part}
    since_ms: int = reach.ask(engine, sql, params, indexes=NO_INDEXES).rows[0][0]
    return max(since_ms, 1)
