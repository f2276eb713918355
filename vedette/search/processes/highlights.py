"""Highlights: the values on a page of results in which the query was found, the found pieces
between markers (api.md 2.2, query-language 6).

Each different value is one entry, with the unique ids of the results that have it. What is looked
for, and where, is decided by `query/highlight.py`. Values of events are looked up for the first
results of a page only (`limits.py`); a page that has them is complete without.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import re2

from vedette import limits
from vedette.errors import UnavailableError
from vedette.model.columns import EVENT_KINDS
from vedette.model.fields import EVENT_COLUMNS
from vedette.model.ids import unique_id
from vedette.query import Tree
from vedette.query.highlight import Marker, markers
from vedette.query.mark import Budget, marked, spans
from vedette.search.bodies.process import Body, Row
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.matching_text import Key, matching_texts

BEFORE: Final = "PREPREPRE"
AFTER: Final = "POSTPOSTPOST"

_KIND_OF: Final[Mapping[str, str]] = {
    column.name: kind.name for kind in EVENT_KINDS for column in kind.columns
}


def process_highlights(engine: Engine, tree: Tree, rows: Sequence[Row], reach: Reach) -> list[Body]:
    """The highlights of a page of segments; [] without rows, and without events where there is
    no time left for them."""
    by_column = patterns_by_column(markers(tree)) if rows else {}
    if not by_column:
        return []
    found = Highlights(by_column)
    try:
        of_events = _event_texts(engine, by_column, rows[: limits.HIGHLIGHT_ROWS_MAX], reach)
    except UnavailableError as error:
        if error.reason != "deadline":
            raise
        of_events = {}
    for row in rows:
        identity = unique_id(row["process_id"], row["segment_id"])
        metadata = ((column, [row[column]]) for column in by_column if column in row)
        for column, values in (*metadata, *of_events.get(_key(row), ())):
            for value in values:
                found.add(column, value, identity)
    return found.entries()


class Highlights:
    """Marked values and who has them, in the order they were found."""

    def __init__(self, by_column: Mapping[str, Sequence[str]]) -> None:
        self._patterns = {
            column: [re2.compile(one) for one in patterns] for column, patterns in by_column.items()
        }
        self._budget = Budget()
        self._ids: dict[str, dict[str, None]] = {}

    def add(self, column: str, value: str, identity: str) -> None:
        """Note a value of a result; one in which nothing is found is left out."""
        found = spans(self._patterns[column], value, self._budget)
        if not found:
            return
        name = marked(value, found, BEFORE, AFTER)
        if name in self._ids or len(self._ids) < limits.HIGHLIGHTS_MAX:
            self._ids.setdefault(name, {})[identity] = None

    def entries(self) -> list[Body]:
        return [{"name": name, "ids": list(ids)} for name, ids in self._ids.items()]


def marked_text(value: str, patterns: Sequence[str]) -> str:
    """A value with what the groups of the RE2 patterns find between markers."""
    found = spans([re2.compile(one) for one in patterns], value) if patterns else []
    return marked(value, found, BEFORE, AFTER) if found else value


def patterns_by_column(found: Iterable[Marker]) -> dict[str, list[str]]:
    """The patterns of some markers."""
    by_column: dict[str, list[str]] = {}
    for marker in found:
        by_column.setdefault(marker.column, []).append(marker.pattern)
    return by_column


def _event_texts(
    engine: Engine, by_column: Mapping[str, list[str]], rows: Sequence[Row], reach: Reach
) -> dict[Key, list[tuple[str, Sequence[str]]]]:
    """Values of events by segment, for kinds that one of the segments has events of."""
    wanted = {
        column: patterns
        for column, patterns in by_column.items()
        if column in EVENT_COLUMNS and any(row[f"{_KIND_OF[column]}_count"] for row in rows)
    }
    found: dict[Key, list[tuple[str, Sequence[str]]]] = {}
    for texts in matching_texts(engine, list(map(_key, rows)), wanted, reach=reach):
        found.setdefault(texts.key, []).append((texts.column, texts.values))
    return found


def _key(row: Row) -> Key:
    return row["window_ms"], row["sensor_id"], row["process_id"], row["segment_id"]
