"""Reads hits of watchlists and feeds for forwarders, whether or not they make alerts.

A hook of detection stores hits in the state database, in the transaction that counts them as found.
They stay there until every forwarder that wants them has sent them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import structlog

from vedette.alerting.hooks import WrittenDetection
from vedette.clock import Clock
from vedette.errors import BadRequestError
from vedette.forwarder.json_text import json_of
from vedette.forwarder.record_files import Forwarded
from vedette.forwarder.record_source import Chunk
from vedette.limits import FORWARD_READ_ROWS
from vedette.state.db.database import Database, Transaction
from vedette.state.jobs import forwarded_hits
from vedette.state.jobs.forwarders import Forwarder, RecordSchema

log = structlog.get_logger(__name__)

RenderHit = Callable[[WrittenDetection, int], dict[str, Any]]
"""Makes the JSON record of a hit that is found at a time in epoch microseconds."""
ConvertHit = Callable[[dict[str, Any]], dict[str, Any]]
"""Converts that record to a schema."""


@dataclass(frozen=True, slots=True)
class HitHook:
    """A `DetectionHook` that keeps hits for forwarders."""

    clock: Clock
    render: RenderHit

    def __call__(self, transaction: Transaction, found: Sequence[WrittenDetection]) -> None:
        hits = [one for one in found if one.detection.source.kind in ("watchlist", "feed")]
        if hits and forwarded_hits.is_wanted(transaction):
            now_us = self.clock.now_us()
            forwarded_hits.keep(transaction, self._bodies(hits, now_us), now_us)

    def _bodies(self, hits: Sequence[WrittenDetection], now_us: int) -> Iterator[str]:
        for one in hits:
            try:
                body = json_of(self.render(one, now_us)).decode()
            except Exception:
                # A bug here must not keep detection from writing alerts.
                log.exception("cannot forward a hit", alert=one.detection.id)
            else:
                yield body


@dataclass(frozen=True, slots=True)
class HitSource:
    """The `RecordSource` of hits. A position is the id of a stored hit."""

    database: Database
    convert: Mapping[RecordSchema, ConvertHit]

    def newest(self) -> int:
        return forwarded_hits.newest(self.database)

    def at_time(self, _time_us: int) -> int:
        # Hits that were found before a forwarder wanted them were not kept.
        return self.newest()

    def read(self, forwarder: Forwarder, after: int) -> Chunk:
        convert = self.convert[forwarder.record_schema]
        rows = forwarded_hits.after(self.database, after, FORWARD_READ_ROWS)
        records = [
            Forwarded(number, time_us, convert(orjson.loads(body)))
            for number, time_us, body in rows
        ]
        until = rows[-1][0] if rows else after
        return Chunk(records, until, has_more=len(rows) >= FORWARD_READ_ROWS)

    def check(self, query: str) -> None:
        raise BadRequestError(f"query: watchlist.hit takes none, so not {query[:40]!r}")
