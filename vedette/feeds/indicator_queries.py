"""Indicators that are queries: each is asked of the rows that values are matched with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import structlog

from vedette.errors import VedetteError
from vedette.feeds.indicator_hits import Hits
from vedette.limits import INDICATOR_HITS_MAX, INDICATOR_QUERIES_MAX, INDICATOR_QUERY_S
from vedette.model.binary_fields import BINARY
from vedette.model.fields import PROCESS
from vedette.query import check, compile_binaries, compile_segments
from vedette.query.parse.query_params import parse_stored
from vedette.store.engine.client import Engine
from vedette.store.read.threat.indicator_matches import Rows, SegmentHit
from vedette.store.read.threat.indicator_query_hits import (
    binaries_matching,
    query_indicators,
    segments_matching,
)

log = structlog.get_logger(__name__)

_EVENTS: Final = "events"


@dataclass(frozen=True, slots=True)
class _Query:
    row: Mapping[str, Any]
    number: int
    """In place of a key; negative, so that it is none."""


class QueryIndicators:
    """The query indicators in force. Not thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._queries: list[_Query] = []

    @property
    def count(self) -> int:
        return len(self._queries)

    def reload(self, names: Mapping[int, str], now_us: int) -> None:
        """Read those of enabled feeds; those beyond `INDICATOR_QUERIES_MAX` are not asked."""
        rows = query_indicators(self._engine, sorted(names), now_us)
        if len(rows) > INDICATOR_QUERIES_MAX:
            log.warning("more queries of feeds than are asked", asked=INDICATOR_QUERIES_MAX)
        some = rows[:INDICATOR_QUERIES_MAX]
        self._queries = [_Query(row, -1 - number) for number, row in enumerate(some)]

    def find(self, hits: Hits, rows: Rows, added_after: int, now_us: int) -> None:
        """Add the hits of the queries that were added after a version. One that cannot be
        understood any more, or is too slow, finds nothing."""
        for query in self._queries:
            if query.row["added"] <= added_after:
                continue
            try:
                self._ask(query, hits, rows, now_us)
            except VedetteError as error:
                log.warning(
                    "a query of a feed failed",
                    feed=query.row["feed_id"],
                    report=query.row["report_id"],
                    problem=str(error)[:200],
                )

    def _ask(self, query: _Query, hits: Hits, rows: Rows, now_us: int) -> None:
        text = query.row["value"]
        if query.row["index_type"] == _EVENTS:
            checked = check(parse_stored(text, PROCESS), PROCESS, now_us=now_us)
            where = compile_segments(checked, prefix="ioc")
            found = segments_matching(self._engine, where, rows, INDICATOR_QUERY_S)
            hits.segments += [
                SegmentHit(one.segment, (query.number,), one.last_update_us, one.shown)
                for one in found[:INDICATOR_HITS_MAX]
            ]
            is_hit = bool(found)
        else:
            checked = check(parse_stored(text, BINARY), BINARY, now_us=now_us)
            condition = compile_binaries(checked, prefix="ioc")
            digests: Sequence[str] = binaries_matching(
                self._engine, condition, rows, INDICATOR_QUERY_S
            )
            hits.binaries += [(one, (query.number,)) for one in digests]
            is_hit = bool(digests)
        if is_hit:
            hits.by_key[query.number] = [query.row]
