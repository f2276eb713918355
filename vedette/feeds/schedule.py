"""Schedule of feed synchronization: requested feeds first, the others by time, with growing pauses
after failures. One server of a cluster reads a feed at a time."""

import threading
from dataclasses import dataclass, field

import structlog

from vedette.errors import BadRequestError, NotFoundError, UnavailableError
from vedette.feeds.report_writer import writing_reports
from vedette.feeds.synchronise import Parts, Progress, describe, synchronise
from vedette.limits import Limit
from vedette.record.objects.feed import Feed
from vedette.state.jobs.leases import Leases
from vedette.state.policy import feeds
from vedette.state.policy.feeds import EVERYTHING
from vedette.store.read.threat.reports import stored_feeds
from vedette.store.write.reports import delete_feed

SYNC_LEASE_S: Limit[float] = 120.0
"""Time (s) for which a synchronizing server may be silent before another one takes over."""

SYNC_RETRY_S: Limit[float] = 60.0
"""Pause (s) after a failed synchronization; doubles with each further failure."""

SYNC_RETRY_S_MAX: Limit[float] = 3_600.0
"""Maximum pause (s) after failed synchronizations."""


log = structlog.get_logger(__name__)

_SECOND_US = 1_000_000


class StoppedError(UnavailableError):
    """The server is stopping, another server has taken over, or the feed was deleted or changed."""

    reason = "stopped"


@dataclass(frozen=True, slots=True)
class Schedule:
    """Synchronizes the feeds that are due."""

    parts: Parts
    leases: Leases
    interval_s: float
    stopping: threading.Event = field(default_factory=threading.Event)

    def run_due(self) -> int:
        """Synchronizes every due feed and returns their number. The failure of a feed is recorded
        with it and does not affect others."""
        done = 0
        for feed in feeds.due(self.parts.database, self.parts.clock.now_us()):
            if self.stopping.is_set():
                break
            if self.leases.hold(_lease(feed), SYNC_LEASE_S):
                self.run(feed)
                done += 1
        if done:
            self._remove_orphans()
        return done

    def run(self, feed: Feed) -> Progress:
        """Synchronizes one feed and records the result."""
        parts, progress = self.parts, Progress()
        is_full = feed.sync_wanted == EVERYTHING
        feeds.begin_sync(parts.database, feed.id, parts.clock.now_us())
        try:
            synchronise(parts, feed, progress, lambda: self._check(feed), is_full=is_full)
        except StoppedError:
            return progress
        except (BadRequestError, UnavailableError, NotFoundError) as error:
            self._failed(feed, progress, error)
        except Exception as error:
            log.exception("feed synchronization failed", feed=feed.name)
            self._failed(feed, progress, error)
        else:
            now_us = parts.clock.now_us()
            next_us = now_us + int(self.interval_s * _SECOND_US)
            result = progress.result(is_full=is_full)
            feeds.note_synced(parts.database, feed, result, now_us=now_us, next_us=next_us)
            log.info(
                "feed synchronized",
                feed=feed.name,
                reports=progress.read,
                changed=progress.changed,
                deleted=progress.deleted,
                errors=progress.errors,
            )
        return progress

    def _check(self, feed: Feed) -> None:
        if self.stopping.is_set() or not self.leases.hold(_lease(feed), SYNC_LEASE_S):
            raise StoppedError("stopped")
        try:
            known = feeds.get(self.parts.database, feed.id)
        except NotFoundError:
            raise StoppedError("the feed was deleted") from None
        if not known.enabled or known.feed_url != feed.feed_url:
            raise StoppedError("the feed was changed")

    def _failed(self, feed: Feed, progress: Progress, error: Exception) -> None:
        wait_s = min(SYNC_RETRY_S * 2 ** min(feed.failures, 30), SYNC_RETRY_S_MAX)
        next_us = self.parts.clock.now_us() + int(wait_s * _SECOND_US)
        problem = describe(error)
        feeds.note_failed(self.parts.database, feed, problem, progress.kept, next_us=next_us)
        log.warning("feed synchronization failed", feed=feed.name, problem=problem)

    def _remove_orphans(self) -> None:
        """Deletes reports that were stored for a feed while it was being deleted."""
        known = {feed.id for feed in feeds.all_feeds(self.parts.database)}
        parts = self.parts
        for feed_id in stored_feeds(parts.engine) - known:
            with writing_reports(parts.engine, parts.database, parts.clock) as version:
                delete_feed(parts.engine, feed_id, version)


def _lease(feed: Feed) -> str:
    return f"feed {feed.id}"
