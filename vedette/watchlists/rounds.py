"""The round of watchlists: judges all documents that commits touched since the watermark, in commit
order.

    commits -> documents, whole -> hits -> tags -> detections, counters and watermark

The telemetry store contains the tags. Detections, counters and the watermark follow in one
transaction of the state database. A crash in between repeats the group of commits: tags of the
interrupted round are newer than the last saved round and do not count (`hits.is_tagged`), so each
hit is reported exactly once. One server of a cluster runs rounds at a time, in one thread.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from vedette import limits
from vedette.alerting.detection_writer import DetectionWriter
from vedette.clock import Clock
from vedette.errors import VedetteError
from vedette.limits import Limit
from vedette.model.findings.detection import Detection
from vedette.record.objects.watchlist import Watchlist
from vedette.state.db import key_values
from vedette.state.db.database import Database, Transaction
from vedette.state.jobs import watermarks
from vedette.state.policy import watchlists
from vedette.state.policy.watchlists import Executed
from vedette.store.engine.client import Engine
from vedette.store.read.detection.touched import (
    Commits,
    next_commits,
    tagged_binaries,
    tagged_segments,
    touched_binaries,
    touched_segments,
)
from vedette.store.write.tags import write_tags
from vedette.watchlists.finder import Active, HitFinder, Touched
from vedette.watchlists.hits import RoundTime, Tally, server_detection
from vedette.watchlists.past import PastSearch
from vedette.watchlists.watch_query import WatchQuery, asks_feeds, stored_query

WATCHLIST_PAST_ROUND_S: Limit[int] = 2
"""Time (s) of a round in which steps through stored telemetry may begin: new telemetry does not
wait long, and steps without hits cost little."""

WATCHLIST_ROWS_A_ROUND: Limit[int] = 50_000
"""Approximate number of partial rows of commits that are judged and saved together."""

WATCHLIST_ROUND_GROUPS: Limit[int] = 20
"""Groups of commits in one round."""

WATCHLIST_COST_S_AN_HOUR: Limit[int] = 180
"""Judging time (s) of one watchlist per hour, above which it is stopped; a thousand ordinary
watchlists together take less than ten."""

WATCHLIST_TAG_LAG_S: Limit[int] = 5
"""Delay (s) for following tags of feeds: rows of a slower insert may still appear."""


FOLLOWER: Final = "watchlists"
"""Name of the watermark with the newest judged commit."""

SAVED: Final = "watchlists saved"
"""Key of the time (epoch us) of the last saved tags."""

TAGS_FOLLOWED: Final = "watchlists tags"
"""Key of the time (epoch us) up to which tags of feeds were judged."""

TOOK_LONGER: Final = "took longer"
"""Prefix of errors that stop a watchlist."""

Within = Callable[[Transaction], None]


class WatchlistRounds:
    """Runs the rounds (see the module). Not thread-safe."""

    def __init__(
        self,
        engine: Engine,
        database: Database,
        clock: Clock,
        detections: DetectionWriter,
        settled: Callable[[], int],
    ) -> None:
        """`settled` returns the newest commit up to which all commits have ended
        (`IngestQueue.settled_seq`)."""
        self._engine = engine
        self._database = database
        self._clock = clock
        self._detections = detections
        self._settled = settled
        self._queries: dict[tuple[str, str], WatchQuery] = {}
        self._finder = HitFinder(engine, database)
        self._past = PastSearch(engine)

    def begin(self) -> None:
        """Call before anything can be stored, so that telemetry from now on is judged although it
        precedes the first round. Raises UnavailableError."""
        if watermarks.load(self._database, FOLLOWER) is None:
            self._save(self._settled())

    def run(self) -> int:
        """Runs one round and returns the number of new hits. Raises UnavailableError; the next
        round continues after the last saved group."""
        settled = self._settled()
        after = watermarks.load(self._database, FOLLOWER)
        if after is None:
            # The server's start is unknown, so everything stored counts as past for every
            # watchlist.
            self._save(settled)
            after = settled
        found = 0
        for _ in range(WATCHLIST_ROUND_GROUPS):
            active = self._active()
            if not active:
                self._save(settled)
                return found
            commits = next_commits(self._engine, after, settled, WATCHLIST_ROWS_A_ROUND)
            if commits is None:
                break
            found += self._judge(active, commits)
            after = commits.until
        return found + self._follow_tags() + self._judge_past()

    def _judge(self, active: Sequence[Active], commits: Commits) -> int:
        """Judges the documents that commits touched, and saves the results with the watermark."""
        touched = Touched(
            touched_segments(self._engine, commits),
            touched_binaries(self._engine, commits),
            commits.until,
        )
        at = self._round_time()
        tallies = self._finder.find(active, touched, at)
        return self._finish(
            tallies, at, lambda save: watermarks.save(save, FOLLOWER, commits.until)
        )

    def _follow_tags(self) -> int:
        """Judges the documents that feeds have tagged since the last call, for watchlists that test
        such tags."""
        until_us = self._clock.now_us() - WATCHLIST_TAG_LAG_S * 1_000_000
        since_us = key_values.load(self._database, TAGS_FOLLOWED)
        active = [one for one in self._active() if asks_feeds(one.query.checked)]
        if since_us is None or not active:
            # Earlier tags are covered by a watchlist's search of stored telemetry.
            key_values.save(self._database, TAGS_FOLLOWED, str(until_us))
            return 0
        segments = tagged_segments(self._engine, int(since_us), until_us)
        binaries = tagged_binaries(self._engine, int(since_us), until_us)
        if not segments and not binaries:
            return 0
        at = self._round_time()
        tallies = self._finder.find(active, Touched(segments, binaries), at)
        return self._finish(
            tallies, at, lambda save: key_values.put(save, TAGS_FOLLOWED, str(until_us))
        )

    def _judge_past(self) -> int:
        """Runs some steps through stored telemetry for new watchlists, alternating: the newest
        telemetry of all first."""
        found = 0
        until_us = self._clock.elapsed_us() + WATCHLIST_PAST_ROUND_S * 1_000_000
        while waiting := [one for one in self._active() if one.watchlist.has_past]:
            found += self._step(max(waiting, key=lambda one: one.watchlist.past_ms))
            if self._clock.elapsed_us() >= until_us:
                break
        return found

    def _step(self, one: Active) -> int:
        scope = self._finder.scope(one.watchlist.group_id)
        past = self._past.step(one.watchlist, one.query, scope)
        at = self._round_time()
        tally = self._finder.of_past(one, past, at)
        return self._finish(
            [tally],
            at,
            lambda save: watchlists.past_judged(save, one.watchlist, past.until_ms),
        )

    def _active(self) -> list[Active]:
        """Returns the watchlists to execute now. Records an error for a watchlist whose query is no
        longer valid."""
        now_us = self._clock.now_us()
        with self._database.reading() as connection:
            stored = [one for one in watchlists.all_watchlists(connection) if one.is_active]
        known = {(one.search_query, one.index_type) for one in stored}
        self._queries = {key: query for key, query in self._queries.items() if key in known}
        found, broken = [], []
        for one in stored:
            try:
                found.append(Active(one, self._query(one, now_us)))
            except VedetteError as error:
                reason = str(error)[: limits.WATCHLIST_ERROR_CHARS_MAX]
                if one.last_error != reason:
                    broken.append(Executed(one.key, one.id, error=reason))
        if broken:
            with self._database.writing() as connection:
                watchlists.executed(connection, broken, now_us)
        return found

    def _query(self, one: Watchlist, now_us: int) -> WatchQuery:
        key = (one.search_query, one.index_type)
        known = self._queries.get(key)
        if known is None or known.is_relative:
            known = self._queries[key] = stored_query(*key, now_us)
        return known

    def _finish(self, tallies: Sequence[Tally], at: RoundTime, within: Within) -> int:
        """Writes tags, then detections with counters and watermarks. Returns the number of new
        hits."""
        now_us = self._clock.now_us()
        stopped = {tally.watchlist.key: self._reason(tally, now_us) for tally in tallies}
        tags = [tag for tally in tallies for tag in tally.tags]
        if tags:
            write_tags(self._engine, tags)
        detections = [one for tally in tallies for one in tally.detections]
        detections += _of_server(tallies, stopped, now_us)

        def save(transaction: Transaction) -> None:
            found = [tally.executed(stopped[tally.watchlist.key]) for tally in tallies]
            watchlists.executed(transaction, found, now_us)
            key_values.put(transaction, SAVED, str(at.now_us))
            within(transaction)

        self._detections.write(detections, save)
        return len(tags)

    def _reason(self, tally: Tally, now_us: int) -> str:
        """Returns the reason to stop the watchlist; "" for none."""
        if tally.error.startswith(TOOK_LONGER):
            return tally.error
        known = tally.watchlist
        spent_us = known.cost_us if known.cost_hour == now_us // 3_600_000_000 else 0
        spent_s = spent_us / 1_000_000 + tally.seconds
        if spent_s <= WATCHLIST_COST_S_AN_HOUR:
            return ""
        return f"took {spent_s:.0f} s in an hour; {WATCHLIST_COST_S_AN_HOUR} s are allowed"

    def _round_time(self) -> RoundTime:
        saved_us = int(key_values.load(self._database, SAVED) or 0)
        return RoundTime(max(self._clock.now_us(), saved_us + 1), saved_us)

    def _save(self, seq: int) -> None:
        known = watermarks.load(self._database, FOLLOWER)
        if known is None or known < seq:
            with self._database.writing() as connection:
                watermarks.save(connection, FOLLOWER, seq)


def _of_server(
    tallies: Iterable[Tally], stopped: Mapping[int, str], now_us: int
) -> list[Detection]:
    """Returns detections of the server about watchlists."""
    found = []
    for tally in tallies:
        if reason := stopped[tally.watchlist.key]:
            found.append(server_detection(tally.watchlist, "stopped", reason, now_us))
        if tally.unreported:
            text = f"{tally.unreported:,} more new hits at once, which are tagged"
            found.append(server_detection(tally.watchlist, "hits", text, now_us))
    return found
