"""Matches indicators with new telemetry, behind a watermark, and new indicators with stored
telemetry.

    commits -> distinct keys -> those of indicators -> segments and binaries -> tags
            -> detections and watermark

The keys of all indicators are one sorted array of 8 bytes each. Stored telemetry is searched for
the indicators that were stored when the keys were read: commits are not yet matched with later
ones, and their feed or report may not be loaded.

The telemetry store contains the tags; detections and the watermark follow in one transaction of the
state database. A crash in between repeats the group of commits: tags written after the last saved
round do not count as reported, so each hit is reported exactly once. One server of a cluster runs
rounds at a time, in one thread.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Final

import numpy as np
import structlog

from vedette.alerting.detection_writer import DetectionWriter
from vedette.clock import Clock
from vedette.feeds.indicator_hits import Hits, Indicator, detections_of, tags_of
from vedette.feeds.indicator_queries import QueryIndicators
from vedette.limits import Limit
from vedette.state.db.database import Database, Transaction
from vedette.state.jobs import past_search, watermarks
from vedette.state.jobs.past_search import PastSearch
from vedette.state.policy import feeds
from vedette.store.engine.client import Engine
from vedette.store.read.detection.touched import next_commits
from vedette.store.read.threat.indicator_matches import (
    Keys,
    MatchedRows,
    binaries_with,
    common_keys,
    indicator_keys,
    indicators_with,
    kept_records_with,
    keys_of_rows,
    network_lengths,
    newest_added,
    next_windows,
    reports_of,
    segments_with,
    written_binary_tags,
    written_tags,
)
from vedette.store.write.tags import write_tags

INDICATOR_ROWS_A_ROUND: Limit[int] = 100_000
"""Rows of commits matched at once; their hits are in memory."""

INDICATOR_ROUND_GROUPS: Limit[int] = 20
"""Groups of commits in one round, so that stored telemetry gets its turn."""

INDICATOR_PAST_ROWS: Limit[int] = 200_000
"""Stored segments that one step of the search of stored telemetry reads."""

INDICATOR_PAST_STEPS: Limit[int] = 5
"""Steps of the search of stored telemetry in one round; limits how long new commits wait."""

INDICATOR_RELOAD_S: Limit[float] = 60.0
"""Interval (s) for rereading keys without a change of feeds, since indicators expire."""


log = structlog.get_logger(__name__)

FOLLOWER: Final = "indicators"
"""Name of the watermark with the newest matched commit."""

SAVED: Final = "indicators saved"
"""Name of the watermark with the time (us) of the last saved tags."""

_COMMITS: Final = "seq > {after:UInt64} AND seq <= {until:UInt64}"
_WINDOWS: Final = "window_ms > {after:UInt64} AND window_ms <= {until:UInt64}"
_STORED: Final = (
    "toUnixTimestamp64Milli(committed) > {after:UInt64} "
    "AND toUnixTimestamp64Milli(committed) <= {until:UInt64}"
)
"""Kept records belong to the window range in which they were committed, so that each is searched
once."""
_NO_SEGMENTS: Final = "0"
_END_MS: Final = 2**62
"""After all stored telemetry."""
_LAST_VERSION: Final = 2**63
_NO_KEYS: Final[Keys] = np.zeros(0, np.uint64)

Within = Callable[[Transaction], None]


@dataclass(slots=True)
class _Known:
    """The indicators in force, as last read."""

    version: int = -1
    newest: int = -1
    """Highest version at which any of them was added."""
    read_s: float = 0.0
    names: dict[int, str] = field(default_factory=dict)
    """Names of enabled feeds, by id."""
    ratings: dict[int, float] = field(default_factory=dict)
    keys: Keys = field(default_factory=lambda: _NO_KEYS)
    bits: list[int] = field(default_factory=list)


class IndicatorRounds:
    """Runs the matching (see the module). Not thread-safe."""

    def __init__(
        self,
        engine: Engine,
        database: Database,
        clock: Clock,
        detections: DetectionWriter,
        settled: Callable[[], int],
        settle_s: float = 0.0,
    ) -> None:
        """`settled` returns the newest commit up to which all commits have ended
        (`IngestQueue.settled_seq`). After `settle_s`, every queried replica has an indicator
        (`servers/joining.py`)."""
        self._engine = engine
        self._database = database
        self._clock = clock
        self._detections = detections
        self._settled = settled
        self._settle_us = int(settle_s * 1e6)
        self._known = _Known()
        self._queries = QueryIndicators(engine, partial(feeds.note_problem, database))

    def begin(self) -> None:
        """Call before anything can be stored, so that telemetry from now on is matched although it
        precedes the first round. Raises UnavailableError."""
        if watermarks.load(self._database, FOLLOWER) is None:
            self._save(self._settled())

    def run(self) -> int:
        """Runs one round and returns the number of new hits. Raises UnavailableError; the next
        round continues after the last saved group."""
        self._reload()
        settled = self._settled()
        after = watermarks.load(self._database, FOLLOWER)
        if after is None:
            # The server's start is unknown, so everything stored counts as past for every
            # indicator.
            self._save(settled)
            after = settled
        found = 0
        for _ in range(INDICATOR_ROUND_GROUPS):
            if not len(self._known.keys) and not self._queries.count:
                self._save(settled)
                break
            commits = next_commits(self._engine, after, settled, INDICATOR_ROWS_A_ROUND)
            if commits is None:
                break
            rows = MatchedRows(_COMMITS, commits.params, _COMMITS, _COMMITS)
            after = commits.until
            save = partial(watermarks.save, name=FOLLOWER, seq=after)
            found += self._match(rows, self._known.keys, 0, save)
        return found + self._search_past()

    def _search_past(self) -> int:
        """Runs some steps of the search of stored telemetry for new indicators."""
        past, found = past_search.load(self._database), 0
        if not past.is_running:
            if self._known.newest <= past.done:
                return 0
            past = replace(past, target=self._known.newest, window_ms=0)
        keys = indicator_keys(
            self._engine, sorted(self._known.names), self._clock.now_us(), past.done
        )
        for _ in range(INDICATOR_PAST_STEPS):
            until = next_windows(self._engine, past.window_ms, INDICATOR_PAST_ROWS)
            # The first window range covers all binaries.
            binaries = "" if past.window_ms else "1"
            params = {"after": past.window_ms, "until": until or _END_MS}
            # After the last windows only records remain.
            windows = _WINDOWS if until or not past.window_ms else _NO_SEGMENTS
            rows = MatchedRows(windows, params, binaries, _STORED)
            done = past.done
            past = replace(past, window_ms=until) if until else PastSearch(past.target, past.target)
            save = partial(past_search.save, past=past)
            found += self._match(rows, keys, done, save)
            if not past.is_running:
                break
        return found

    def _newest_us(self) -> int:
        """Returns the version up to which indicators count as read: of two that are replicated
        concurrently, the later may arrive first. A version is a time, or the previous version plus
        one."""
        return self._clock.now_us() - self._settle_us if self._settle_us else _LAST_VERSION

    def _match(self, rows: MatchedRows, keys: Keys, added_after: int, within: Within) -> int:
        """Matches rows and saves the hits page by page, with `within` in the last transaction.
        Returns the number of new hits."""
        now_us, found = self._clock.now_us(), 0
        saved_us = watermarks.load(self._database, SAVED) or 0
        waiting: Hits | None = None
        asked: Iterator[Hits] = iter(())
        if rows.condition != _NO_SEGMENTS:
            asked = self._queries.find(rows, added_after, now_us)
        for hits in chain(self._of_values(rows, keys, now_us), asked):
            if waiting is not None and not waiting.has_room_for(hits):
                found += self._finish(waiting, saved_us)
                waiting = None
            waiting = hits if waiting is None else waiting.joined(hits)
        if waiting is not None:
            return found + self._finish(waiting, saved_us, within)
        with self._database.writing() as connection:
            within(connection)
        return found

    def _of_values(self, rows: MatchedRows, keys: Keys, now_us: int) -> Iterator[Hits]:
        """Yields pages of hits of value indicators."""
        known = self._known
        if not len(keys):
            return
        common = common_keys(keys_of_rows(self._engine, rows, known.bits), keys)
        if not common:
            return
        by_key: dict[int, list[Indicator]] = {}
        for row in indicators_with(self._engine, sorted(known.names), common, now_us):
            by_key.setdefault(row["key"], []).append(row)
        wanted = sorted(by_key)
        for page in segments_with(self._engine, rows, wanted, known.bits):
            yield Hits(by_key=dict(by_key), segments=page)
        if rows.binaries:
            for some in binaries_with(self._engine, rows, wanted):
                yield Hits(by_key=dict(by_key), binaries=some)
        if rows.records:
            for records in kept_records_with(self._engine, rows, wanted, known.bits):
                yield Hits(by_key=dict(by_key), records=records)

    def _finish(self, hits: Hits, saved_us: int, within: Within | None = None) -> int:
        """Tags and reports a page of hits. The last page also saves the watermarks."""
        segments = [hit.segment for hit in hits.segments]
        hits.names, hits.ratings = self._known.names, self._known.ratings
        hits.reports = reports_of(self._engine, hits.report_keys())
        hits.written = written_tags(self._engine, segments, saved_us)
        digests = sorted({hit.digest for hit in hits.binaries})
        hits.tagged = written_binary_tags(self._engine, digests)
        tags, detections = tags_of(hits), detections_of(hits)
        if tags:
            write_tags(self._engine, tags)
        until_us = time.time_ns() // 1_000  # the clock that dates tags

        def save(transaction: Transaction) -> None:
            if within is not None:
                watermarks.save(transaction, SAVED, until_us)
                within(transaction)

        self._detections.write(detections, save)
        return len(detections)

    def _reload(self) -> None:
        """Rereads the keys when feeds have changed or indicators were added, and periodically,
        since indicators expire."""
        known, version = self._known, feeds.indicator_version(self._database)
        newest = newest_added(self._engine, self._newest_us())
        is_old = time.monotonic() - known.read_s > INDICATOR_RELOAD_S
        if version == known.version and newest <= known.newest and not is_old:
            return
        enabled = [feed for feed in feeds.all_feeds(self._database) if feed.enabled]
        names = {feed.id: feed.name for feed in enabled}
        ratings = {feed.id: rated for feed in enabled if (rated := feed.rating) is not None}
        keys = indicator_keys(self._engine, sorted(names), self._clock.now_us())
        bits = network_lengths(self._engine)
        self._queries.reload(names, self._clock.now_us())
        self._known = _Known(version, newest, time.monotonic(), names, ratings, keys, bits)

    def _save(self, seq: int) -> None:
        if (watermarks.load(self._database, FOLLOWER) or -1) < seq:
            with self._database.writing() as connection:
                watermarks.save(connection, FOLLOWER, seq)
