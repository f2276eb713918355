"""Matches indicators with new telemetry, behind a watermark, and new indicators with the stored
past.

    commits -> distinct keys -> those of indicators -> segments and binaries -> tags
            -> detections and watermark

The keys of all indicators are one sorted array: 8 bytes each. The past is searched for those that
were stored when the keys were read: of a later one, commits are not matched yet, and its feed or
report may not be known. Tags lie in the telemetry store;
detections and the watermark are one transaction of the state database after them. A crash between
the two repeats the group of commits: tags that were written after the last round that was saved do
not count as reported, so each hit is reported exactly once.

One server of a cluster runs rounds at a time, in one thread.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Final

import numpy as np
import structlog

from vedette import limits
from vedette.alerting.detection_writer import DetectionWriter
from vedette.clock import Clock
from vedette.feeds.indicator_hits import Hits, Indicator, detections_of, tags_of
from vedette.feeds.indicator_queries import QueryIndicators
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

log = structlog.get_logger(__name__)

FOLLOWER: Final = "indicators"
"""Name of the watermark: the newest commit that was matched."""

SAVED: Final = "indicators saved"
"""Name of the watermark with the time of the last tags that were saved, in microseconds."""

_COMMITS: Final = "seq > {after:UInt64} AND seq <= {until:UInt64}"
_WINDOWS: Final = "window_ms > {after:UInt64} AND window_ms <= {until:UInt64}"
_STORED: Final = (
    "toUnixTimestamp64Milli(committed) > {after:UInt64} "
    "AND toUnixTimestamp64Milli(committed) <= {until:UInt64}"
)
"""Kept records belong to the windows that follow the one before: all have their turn once."""
_NO_SEGMENTS: Final = "0"
_END_MS: Final = 2**62
"""After all that is stored."""
_LAST_VERSION: Final = 2**63
_NO_KEYS: Final[Keys] = np.zeros(0, np.uint64)

Within = Callable[[Transaction], None]


@dataclass(slots=True)
class _Known:
    """The indicators in force, as they were read last."""

    version: int = -1
    newest: int = -1
    """The greatest version with which one of them was added."""
    read_s: float = 0.0
    names: dict[int, str] = field(default_factory=dict)
    """Enabled feeds."""
    ratings: dict[int, float] = field(default_factory=dict)
    keys: Keys = field(default_factory=lambda: _NO_KEYS)
    bits: list[int] = field(default_factory=list)


class IndicatorRounds:
    """See the module. Not thread-safe."""

    def __init__(
        self,
        engine: Engine,
        database: Database,
        clock: Clock,
        detections: DetectionWriter,
        settled: Callable[[], int],
        settle_s: float = 0.0,
    ) -> None:
        """`settled` is the newest commit that is over (`IngestQueue.settled_seq`). After `settle_s`
        every replica that is asked has an indicator (`servers/joining.py`)."""
        self._engine = engine
        self._database = database
        self._clock = clock
        self._detections = detections
        self._settled = settled
        self._settle_us = int(settle_s * 1e6)
        self._known = _Known()
        self._queries = QueryIndicators(engine, partial(feeds.note_problem, database))

    def begin(self) -> None:
        """Call it before anything can be stored: what comes from here on is matched, though it came
        before the first round. Raises UnavailableError."""
        if watermarks.load(self._database, FOLLOWER) is None:
            self._save(self._settled())

    def run(self) -> int:
        """One round; returns the number of new hits. Raises UnavailableError; the next round goes
        on from the last group that was saved."""
        self._reload()
        settled = self._settled()
        after = watermarks.load(self._database, FOLLOWER)
        if after is None:
            # Nobody knows any more when the server began: all is the past of every indicator.
            self._save(settled)
            after = settled
        found = 0
        for _ in range(limits.INDICATOR_ROUND_GROUPS):
            if not len(self._known.keys) and not self._queries.count:
                self._save(settled)
                break
            commits = next_commits(self._engine, after, settled, limits.INDICATOR_ROWS_A_ROUND)
            if commits is None:
                break
            rows = MatchedRows(_COMMITS, commits.params, _COMMITS, _COMMITS)
            after = commits.until
            save = partial(watermarks.save, name=FOLLOWER, seq=after)
            found += self._match(rows, self._known.keys, 0, save)
        return found + self._search_past()

    def _search_past(self) -> int:
        """Some steps through the stored past for indicators that are new."""
        past, found = past_search.load(self._database), 0
        if not past.is_running:
            if self._known.newest <= past.done:
                return 0
            past = replace(past, target=self._known.newest, window_ms=0)
        keys = indicator_keys(
            self._engine, sorted(self._known.names), self._clock.now_us(), past.done
        )
        for _ in range(limits.INDICATOR_PAST_STEPS):
            until = next_windows(self._engine, past.window_ms, limits.INDICATOR_PAST_ROWS)
            # All binaries are asked with the first windows.
            binaries = "" if past.window_ms else "1"
            params = {"after": past.window_ms, "until": until or _END_MS}
            # After the last windows there are only records left.
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
        """Up to which versions indicators count as read: of two that are under way to a replica the
        later may be there first. A version is a time, or one more than the version before."""
        return self._clock.now_us() - self._settle_us if self._settle_us else _LAST_VERSION

    def _match(self, rows: MatchedRows, keys: Keys, added_after: int, within: Within) -> int:
        """Matches some rows and saves what was found, page by page; `within` with the last. The
        number of new hits."""
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
        """The hits of indicators that are values, in pages."""
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
        """Tags and reports a page; the last one is saved with all before it."""
        segments = [hit.segment for hit in hits.segments]
        hits.names, hits.ratings = self._known.names, self._known.ratings
        hits.reports = reports_of(self._engine, hits.report_keys())
        hits.written = written_tags(self._engine, segments, saved_us)
        digests = sorted({hit.digest for hit in hits.binaries})
        hits.tagged = written_binary_tags(self._engine, digests)
        tags, detections = tags_of(hits), detections_of(hits)
        if tags:
            write_tags(self._engine, tags)
        until_us = time.time_ns() // 1_000  # as tags are dated

        def save(transaction: Transaction) -> None:
            if within is not None:
                watermarks.save(transaction, SAVED, until_us)
                within(transaction)

        self._detections.write(detections, save)
        return len(detections)

    def _reload(self) -> None:
        """Reads the keys anew when feeds have changed or there are new ones, and from time to time:
        some expire."""
        known, version = self._known, feeds.indicator_version(self._database)
        newest = newest_added(self._engine, self._newest_us())
        is_old = time.monotonic() - known.read_s > limits.INDICATOR_RELOAD_S
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
