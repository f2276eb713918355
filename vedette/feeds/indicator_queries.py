"""Indicators that are queries: each is asked of the rows that values are matched with.

A query that takes too long is asked of the rows in parts, so that nothing is passed over. One that
takes too long all the same, or cannot be understood any more, is not asked again until a feed
changes, and that is reported with the errors of its feed.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import structlog

from vedette import limits
from vedette.errors import UnavailableError, VedetteError
from vedette.feeds.indicator_hits import Hits
from vedette.model.binary_fields import BINARY
from vedette.model.fields import PROCESS
from vedette.query import check, compile_binaries, compile_segments
from vedette.query.parse.query_params import parse_stored
from vedette.store.engine.client import Engine
from vedette.store.read.threat.indicator_matches import BinaryHit, MatchedRows, SegmentHit
from vedette.store.read.threat.indicator_query_hits import (
    binaries_matching,
    query_indicators,
    segments_matching,
)

log = structlog.get_logger(__name__)

_EVENTS: Final = "events"

Report = Callable[[int, str, str], None]
"""Keeps a problem for people: id of the feed, id of the report, what is wrong."""


@dataclass(frozen=True, slots=True)
class _Query:
    row: Mapping[str, Any]
    number: int
    """In place of a key; negative, so that it is none."""


class QueryIndicators:
    """The query indicators in force. Not thread-safe."""

    def __init__(self, engine: Engine, report: Report) -> None:
        self._engine = engine
        self._report = report
        self._queries: list[_Query] = []

    @property
    def count(self) -> int:
        return len(self._queries)

    def reload(self, names: Mapping[int, str], now_us: int) -> None:
        """Read those of enabled feeds; those beyond `INDICATOR_QUERIES_MAX` are not asked."""
        rows = query_indicators(self._engine, sorted(names), now_us)
        some = rows[: limits.INDICATOR_QUERIES_MAX]
        left = Counter(row["feed_id"] for row in rows[limits.INDICATOR_QUERIES_MAX :])
        for feed_id, count in left.items():
            text = f"{count} queries are not asked: at most {limits.INDICATOR_QUERIES_MAX} are"
            self._report(feed_id, "", text)
        self._queries = [_Query(row, -1 - number) for number, row in enumerate(some)]

    def find(self, rows: MatchedRows, added_after: int, now_us: int) -> Iterator[Hits]:
        """The hits of the queries that were added after a version, in pages."""
        for query in list(self._queries):
            if query.row["added"] <= added_after:
                continue
            until_s = time.monotonic() + limits.INDICATOR_QUERY_ROUND_S
            try:
                for hits in self._in_parts(query, rows, now_us, until_s):
                    hits.by_key[query.number] = [query.row]
                    yield hits
            except VedetteError as error:
                if isinstance(error, UnavailableError) and error.reason != "deadline":
                    raise  # the store does not answer: the round is repeated
                self._stop(query, str(error))

    def _stop(self, query: _Query, problem: str) -> None:
        self._queries.remove(query)
        feed_id, report_id = query.row["feed_id"], query.row["report_id"]
        text = f"its query is not asked any more: {problem}"
        log.warning("a query of a feed is stopped", feed=feed_id, report=report_id, problem=text)
        self._report(feed_id, report_id, text)

    def _in_parts(
        self, query: _Query, rows: MatchedRows, now_us: int, until_s: float
    ) -> Iterator[Hits]:
        """The hits on some rows; on each half of them when they take too long together. What was
        found before is found again then, and reported once."""
        try:
            yield from self._ask(query, rows, now_us)
        except UnavailableError as error:
            halves = rows.halves
            if error.reason != "deadline" or halves is None or time.monotonic() > until_s:
                raise
            for half in halves:
                yield from self._in_parts(query, half, now_us, until_s)

    def _ask(self, query: _Query, rows: MatchedRows, now_us: int) -> Iterator[Hits]:
        text, seconds = query.row["value"], limits.INDICATOR_QUERY_S
        if query.row["index_type"] == _EVENTS:
            checked = check(parse_stored(text, PROCESS), PROCESS, now_us=now_us)
            where = compile_segments(checked, prefix="ioc")
            pages: Iterator[list[SegmentHit]] = segments_matching(
                self._engine, where, rows, seconds, query.number
            )
            for page in pages:
                yield Hits(segments=page)
        elif rows.binaries:
            checked = check(parse_stored(text, BINARY), BINARY, now_us=now_us)
            condition = compile_binaries(checked, prefix="ioc")
            found: Iterator[list[BinaryHit]] = binaries_matching(
                self._engine, condition, rows, seconds, query.number
            )
            for some in found:
                yield Hits(binaries=some)
