"""Highlights: values on a page of results with their matches between markers
(docs/api-objects.md#search-answer, docs/query-evaluation.md#one-segment-at-a-time).

Each distinct value is one entry with the unique ids of the results that have it.
`query/highlight.py` decides which patterns apply to which columns. Event values are read for the
first `HIGHLIGHT_ROWS_MAX` results only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vedette.errors import UnavailableError
from vedette.limits import Limit
from vedette.model.columns import EVENT_KINDS
from vedette.model.fields import EVENT_COLUMNS
from vedette.model.ids import unique_id
from vedette.query import Tree
from vedette.query.highlight import Marker, markers
from vedette.query.mark import Budget, marked, spans
from vedette.query.pattern import compile_pattern
from vedette.search.deadline import raise_if_over
from vedette.search.processes.process_columns import Row
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import EVERYWHERE, Reach
from vedette.store.read.matching_text import Key, matching_texts

HIGHLIGHT_ROWS_MAX: Limit[int] = 50
"""Results of a page whose events are searched for highlights: each result costs one read of a block
for every kind of event with a marked column."""

HIGHLIGHTS_MAX: Limit[int] = 2_000
"""Highlights of one answer."""


BEFORE: Final = "PREPREPRE"
AFTER: Final = "POSTPOSTPOST"

_KIND_OF: Final[Mapping[str, str]] = {
    column.name: kind.name for kind in EVENT_KINDS for column in kind.columns
}


@dataclass(frozen=True, slots=True)
class Highlight:
    """A value with its matches between markers, and the unique ids of the results that have it."""

    text: str
    ids: Sequence[str]


def process_highlights(
    engine: Engine, tree: Tree, rows: Sequence[Row], reach: Reach
) -> list[Highlight]:
    """Returns the highlights of a page of segments. Omits event values if no time is left to read
    them."""
    by_column = patterns_by_column(markers(tree)) if rows else {}
    if not by_column:
        return []
    found = Highlights(by_column, reach)
    try:
        of_events = _event_texts(engine, by_column, rows[:HIGHLIGHT_ROWS_MAX], reach)
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
    """Collects highlights in the order of the results, at most `HIGHLIGHTS_MAX` values. Ignores
    values added after the deadline of `reach`."""

    def __init__(self, by_column: Mapping[str, Sequence[str]], reach: Reach = EVERYWHERE) -> None:
        self._reach = reach
        self._is_over = False
        self._patterns = {
            column: [compile_pattern(one) for one in patterns]
            for column, patterns in by_column.items()
        }
        self._budget = Budget()
        self._ids: dict[str, dict[str, None]] = {}

    def add(self, column: str, value: str, identity: str) -> None:
        """Adds a value of the result `identity`, unless no pattern of its column matches.

        Raises UnavailableError (`reason` "cancelled").
        """
        if self._is_over:
            return
        try:
            raise_if_over(self._reach)
        except UnavailableError as error:
            if error.reason != "deadline":
                raise
            self._is_over = True
            return
        found = spans(self._patterns[column], value, self._budget)
        if not found:
            return
        name = marked(value, found, BEFORE, AFTER)
        if name in self._ids or len(self._ids) < HIGHLIGHTS_MAX:
            self._ids.setdefault(name, {})[identity] = None

    def entries(self) -> list[Highlight]:
        return [Highlight(text, list(ids)) for text, ids in self._ids.items()]


def marked_text(value: str, patterns: Sequence[str], reach: Reach = EVERYWHERE) -> str:
    """Returns a value with the matches of RE2 patterns (their first group) between markers.

    Raises UnavailableError (`reason` "deadline" or "cancelled").
    """
    if not patterns:
        return value
    raise_if_over(reach)
    found = spans([compile_pattern(one) for one in patterns], value)
    return marked(value, found, BEFORE, AFTER) if found else value


def patterns_by_column(found: Iterable[Marker]) -> dict[str, list[str]]:
    """Maps column to the patterns of its markers."""
    by_column: dict[str, list[str]] = {}
    for marker in found:
        by_column.setdefault(marker.column, []).append(marker.pattern)
    return by_column


def _event_texts(
    engine: Engine, by_column: Mapping[str, list[str]], rows: Sequence[Row], reach: Reach
) -> dict[Key, list[tuple[str, Sequence[str]]]]:
    """Maps segment to (column, matching event values). Skips kinds that have no events on this
    page."""
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
