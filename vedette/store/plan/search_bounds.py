"""How far a search may go: until when it may take, and back to which window it looks.

A search that is out of time is repeated over the newest part of the store alone
(`search/deadline.py`). `additional_table_filters` applies that bound wherever the text of a query
names `segment`, in its subqueries too, so that the shorter search costs proportionally less; and
no segment lies in two windows, so each that is seen is whole.
"""

import time
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from vedette.errors import UnavailableError
from vedette.model.indexes import INDEXES, index_name
from vedette.model.suffix_columns import ENDS, ends_index, ends_sql
from vedette.query.compile.condition import SETTINGS
from vedette.store.engine.cancel import CancelToken
from vedette.store.engine.client import Engine, Params, Rows, Settings

_ASKED: Final[Settings] = {
    **SETTINGS,
    "optimize_use_projections": 0,
    # What is gathered from rows has the name of the column that it is gathered from.
    "prefer_column_name_to_alias": 1,
}
_ROWS_MAX: Final = ("max_rows_in_set", "max_rows_to_group_by")

_WEIGHED_CHARS_MAX: Final = 100_000
"""A longer query takes so long that it does not matter."""


@dataclass(frozen=True, slots=True)
class Reach:
    """`until_s` is a time of `time.monotonic`; `since_ms` the earliest window, 0 for all."""

    until_s: float | None = None
    since_ms: int = 0
    rows_max: int = 0
    """Rows that a set, or the groups of an answer, may have; 0 for as many as there are."""
    cancel: CancelToken | None = None
    """Cancels every query of this search."""

    @classmethod
    def within(
        cls, duration_s: float | None, since_ms: int = 0, cancel: CancelToken | None = None
    ) -> "Reach":
        """A reach that ends so many seconds from now; never with None."""
        until_s = None if duration_s is None else time.monotonic() + duration_s
        return cls(until_s, since_ms, cancel=cancel)

    def left_s(self) -> float | None:
        """Seconds that are left. Raises UnavailableError (`deadline`) when none are."""
        if self.until_s is None:
            return None
        left_s = self.until_s - time.monotonic()
        if left_s <= 0:
            raise UnavailableError("the search took longer than allowed", reason="deadline")
        return left_s

    def ask(self, engine: Engine, sql: str, params: Params, *, threads: int = 0) -> Rows:
        """Run a SELECT on segments within the reach, with the settings of conditions, and so many
        threads of the engine at most; 0: as many as it likes.

        Raises UnavailableError; its `reason` is "deadline" when time is up. Raises ManyRowsError
        when a set, or the groups of an answer, have more rows than `rows_max`.
        """
        settings = self._settings(engine, sql)
        if threads:
            settings["max_threads"] = threads
        return engine.query(
            sql, params, settings=settings, deadline_s=self.left_s(), cancel=self.cancel
        )

    def ask_table(self, engine: Engine, sql: str, schema: pa.Schema, params: Params) -> pa.Table:
        """The same for many rows, whose columns are those of the schema."""
        settings = self._settings(engine, sql)
        return engine.query_table(
            sql,
            schema,
            params,
            settings=settings,
            deadline_s=self.left_s(),
            cancel=self.cancel,
        )

    def _settings(self, engine: Engine, sql: str) -> dict[str, str | int]:
        settings = {**_ASKED, **_without_other_indexes(sql)}
        if self.rows_max:
            settings |= dict.fromkeys(_ROWS_MAX, self.rows_max)
        if self.since_ms:
            tables = dict.fromkeys(("segment", engine.capabilities.storage("segment")))
            bound = ", ".join(f"'{name}': 'window_ms >= {self.since_ms:d}'" for name in tables)
            settings["additional_table_filters"] = f"{{{bound}}}"
        return settings


def _without_other_indexes(sql: str) -> dict[str, str]:
    """Settings that leave out indexes of columns that a query does not ask. The engine weighs each
    of them anew in every read, which is a quarter of what a look into one of them costs."""
    if len(sql) > _WEIGHED_CHARS_MAX:
        return {}
    others = [index_name(column) for column, _ in INDEXES if f"`{column}`" not in sql]
    others += [ends_index(column) for column in ENDS if ends_sql(column) not in sql]
    return {"ignore_data_skipping_indices": ",".join(others)} if others else {}


EVERYWHERE = Reach()
"""All segments, for as long as it takes."""


def newest_since(engine: Engine, part: float, reach: Reach = EVERYWHERE) -> int:
    """The window since which about that part of all segments came in, at least 1."""
    sql = "SELECT toUInt64(ifNotFinite(quantile({older:Float64})(window_ms), 0)) FROM segment"
    since_ms: int = reach.ask(engine, sql, {"older": 1 - part}).rows[0][0]
    return max(since_ms, 1)
