"""Indicators that are queries: each runs over the rows that value indicators are matched with.

A query that takes too long runs over parts of the rows, so that no row is skipped. A query that
still takes too long, or is no longer valid, does not run again until a feed changes; the errors of
its feed include it.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import structlog

from vedette.errors import UnavailableError, VedetteError
from vedette.feeds.indicator_hits import Hits
from vedette.limits import Limit
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

INDICATOR_QUERIES_MAX: Limit[int] = 500
"""Active query indicators; each takes about 40 ms per round."""

INDICATOR_QUERY_S: Limit[float] = 10.0
"""Timeout (s) of one query; a slower query runs over parts of the rows."""

INDICATOR_QUERY_ROUND_S: Limit[float] = 60.0
"""Time (s) after which a query's rows are not split further; the query is then stopped."""


log = structlog.get_logger(__name__)

_EVENTS: Final = "events"

Report = Callable[[int, str, str], None]
"""Reports a problem to users: feed id, report id, description."""


@dataclass(frozen=True, slots=True)
class _Query:
    row: Mapping[str, Any]
    number: int
    """In place of a key; negative, so that it never equals a key."""


class QueryIndicators:
    """The active query indicators. Not thread-safe."""

    def __init__(self, engine: Engine, report: Report) -> None:
        self._engine = engine
        self._report = report
        self._queries: list[_Query] = []

    @property
    def count(self) -> int:
        return len(self._queries)

    def reload(self, names: Mapping[int, str], now_us: int) -> None:
        """Loads the queries of enabled feeds; reports those beyond `INDICATOR_QUERIES_MAX`, which
        do not run."""
        rows = query_indicators(self._engine, sorted(names), now_us)
        some = rows[:INDICATOR_QUERIES_MAX]
        left = Counter(row["feed_id"] for row in rows[INDICATOR_QUERIES_MAX:])
        for feed_id, count in left.items():
            text = f"{count} queries are not asked: at most {INDICATOR_QUERIES_MAX} are"
            self._report(feed_id, "", text)
        self._queries = [_Query(row, -1 - number) for number, row in enumerate(some)]

    def find(self, rows: MatchedRows, added_after: int, now_us: int) -> Iterator[Hits]:
        """Yields pages of hits of the queries that were added after a version."""
        for query in list(self._queries):
            if query.row["added"] <= added_after:
                continue
            until_s = time.monotonic() + INDICATOR_QUERY_ROUND_S
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
        log.warning("stopped a feed query", feed=feed_id, report=report_id, problem=text)
        self._report(feed_id, report_id, text)

    def _in_parts(
        self, query: _Query, rows: MatchedRows, now_us: int, until_s: float
    ) -> Iterator[Hits]:
        """Yields the hits on some rows; if they take too long together, the hits on each half. Hits
        found before the split are found again, and deduplicated later."""
        try:
            yield from self._ask(query, rows, now_us)
        except UnavailableError as error:
            halves = rows.halves
            if error.reason != "deadline" or halves is None or time.monotonic() > until_s:
                raise
            for half in halves:
                yield from self._in_parts(query, half, now_us, until_s)

    def _ask(self, query: _Query, rows: MatchedRows, now_us: int) -> Iterator[Hits]:
        text, seconds = query.row["value"], INDICATOR_QUERY_S
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
