"""Synchronizes the stored reports of a feed with its document.

Incremental: stores new reports, and reports with a later timestamp; does not detect deletions.
Full: compares every report, including changes with the same timestamp, and deletes reports that the
document no longer contains, but only after reading it completely. Memory holds one batch of
reports, whatever the size of the document.

Indicators are written before their report. A killed synchronization therefore leaves no report that
seems newer than its indicators, and the next one repeats it.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import msgspec
import structlog

from vedette.clock import Clock
from vedette.errors import BadRequestError, NotFoundError, UnavailableError
from vedette.feeds.fetch import Fetcher, Source
from vedette.feeds.formats.documents import DOCUMENT, or_problem, read_items
from vedette.feeds.report_rows import content_of, indicator_rows, report_row
from vedette.feeds.report_writer import writing_reports
from vedette.feeds.taxii import Reader, is_taxii
from vedette.limits import FEED_ERRORS_MAX, Limit
from vedette.model.threat.feed import BrokenPart, Item, Report
from vedette.record.objects.feed import Feed
from vedette.state.db.database import Database
from vedette.state.db.sealing import Sealing
from vedette.state.policy import feeds
from vedette.state.policy.feeds import SyncResult
from vedette.store.engine.client import Engine
from vedette.store.read.threat.reports import (
    KnownReport,
    indicators_of,
    known_reports,
    latest_version,
)
from vedette.store.write.reports import (
    delete_unseen,
    touch_reports,
    write_indicators,
    write_reports,
)

SYNC_REPORTS_BATCH: Limit[int] = 2_000
"""Reports per insert of a synchronization."""

SYNC_IOCS_BATCH: Limit[int] = 50_000
"""Indicators after which a batch of reports is stored, even if it has fewer reports."""


log = structlog.get_logger(__name__)

KeepAlive = Callable[[], None]
"""Called between batches; raises if the synchronization must stop."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Services that a synchronization uses."""

    engine: Engine
    database: Database
    sealing: Sealing
    fetcher: Fetcher
    clock: Clock


@dataclass(slots=True)
class Progress:
    """Progress of a synchronization."""

    format: str = ""
    etag: str = ""
    read: int = 0
    changed: int = 0
    deleted: int = 0
    iocs: int = 0
    errors: int = 0
    kept: list[BrokenPart] = field(default_factory=list)
    problem: str = ""
    """Problem of the whole document, which was read completely."""
    awaited: int = 0
    """Reports whose indicators are not valid yet."""

    def broken(self, part: BrokenPart) -> None:
        self.errors += 1
        if part.place == DOCUMENT:
            self.problem = f"the document: {part.problem}"
        if len(self.kept) < FEED_ERRORS_MAX:
            self.kept.append(part)

    def result(self, *, is_full: bool) -> SyncResult:
        return SyncResult(
            is_full=is_full,
            etag=self.etag,
            format=self.format,
            reports_read=self.read,
            reports_changed=self.changed,
            reports_deleted=self.deleted,
            iocs_read=self.iocs,
            errors=self.errors,
            kept_errors=self.kept,
            problem=self.problem,
        )


def source_of(parts: Parts, feed: Feed) -> Source:
    """Returns URL and credentials of a feed. Raises UnavailableError if its secrets cannot be
    decrypted."""
    secrets = feeds.credentials(parts.database, feed.id, parts.sealing)
    return Source(
        url=feed.feed_url,
        is_checked=feed.validate_server_cert is not False,
        by_proxy=bool(feed.use_proxy),
        username=feed.username or "",
        password=secrets.password,
        certificate=feed.ssl_client_crt or "",
        key=secrets.ssl_client_key,
    )


def synchronise(
    parts: Parts, feed: Feed, progress: Progress, keep_alive: KeepAlive, *, is_full: bool
) -> None:
    """Fetches and stores a feed; updates `progress` and calls `keep_alive` between batches.

    Raises FeedUnreachableError, BrokenDocumentError and UnavailableError; everything stored before
    stays and is consistent.
    """
    etag = "" if is_full else feed.etag
    source = source_of(parts, feed)
    with parts.fetcher.open(source, etag=etag) as document:
        if document.is_unchanged:
            progress.etag, progress.format = feed.etag, feed.format
            return
        if is_taxii(document):
            progress.format = "taxii"
            items = or_problem("taxii", Reader(parts.fetcher, source).items(document.chunks))
        else:
            progress.format, items = read_items(document.chunks)
        writer = _Writer(parts, feed, progress, is_full=is_full)
        for batch in _batches(items):
            keep_alive()
            writer.write(batch)
        # Without an ETag the document is read again: so that the problem of an empty document stays
        # until it has indicators, and because some reports become valid later.
        is_over = not (is_taxii(document) or progress.problem or progress.awaited)
        progress.etag = document.etag if is_over else ""
    if is_full:
        keep_alive()
        progress.deleted = writer.delete_unseen()


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yields items in batches of bounded memory."""
    batch: list[Item] = []
    iocs = 0
    for item in items:
        batch.append(item)
        iocs += len(item.iocs) if isinstance(item, Report) else 0
        if len(batch) >= SYNC_REPORTS_BATCH or iocs >= SYNC_IOCS_BATCH:
            yield batch
            batch, iocs = [], 0
    if batch:
        yield batch


class _Writer:
    """Stores the batches of one synchronization."""

    def __init__(self, parts: Parts, feed: Feed, progress: Progress, *, is_full: bool) -> None:
        self._parts = parts
        self._feed = feed
        self._progress = progress
        self._is_full = is_full
        self._now_us = parts.clock.now_us()
        self._sync = max(latest_version(parts.engine) + 1, parts.clock.now_us())

    def write(self, batch: list[Item]) -> None:
        """Stores a batch, under the lock on reports."""
        with self._alone() as version:
            self._write(batch, version)

    def _alone(self) -> AbstractContextManager[int]:
        return writing_reports(self._parts.engine, self._parts.database, self._parts.clock)

    def _write(self, batch: list[Item], version: int) -> None:
        reports = self._distinct(batch)
        broken = [one for one in batch if isinstance(one, BrokenPart)]
        for part in broken:
            self._progress.broken(part)
        lost = {part.report_id for part in broken if part.report_id}
        known = known_reports(self._parts.engine, self._feed.id, [*reports, *lost])
        changed = [one for one in reports.values() if self._is_taken(one, known.get(one.id))]
        self._write_indicators(changed, known, version)
        write_reports(
            self._parts.engine,
            [
                report_row(self._feed, one, known.get(one.id), sync=self._sync, version=version)
                for one in changed
            ],
        )
        if self._is_full:
            same = (set(reports) | lost) & set(known) - {one.id for one in changed}
            touch_reports(self._parts.engine, self._feed.id, sorted(same), self._sync, version)
        self._progress.changed += len(changed)

    def delete_unseen(self) -> int:
        """Deletes reports that a full synchronization did not contain and returns their number."""
        with self._alone() as version:
            return delete_unseen(self._parts.engine, self._feed.id, self._sync, version)

    def _distinct(self, batch: list[Item]) -> dict[str, Report]:
        """Returns the reports of a batch by id; of duplicates, the first."""
        found: dict[str, Report] = {}
        for one in batch:
            if not isinstance(one, Report):
                continue
            if one.valid_from_us > self._now_us:
                one = msgspec.structs.replace(one, iocs=())
                self._progress.awaited += 1
            self._progress.read += 1
            self._progress.iocs += len(one.iocs)
            if found.setdefault(one.id, one) is not one:
                self._twice(one)
        return found

    def _twice(self, one: Report) -> None:
        place = f"report {one.id}"
        self._progress.broken(
            BrokenPart(place=place, problem="its id is that of an earlier report")
        )

    def _is_taken(self, report: Report, known: KnownReport | None) -> bool:
        if known is None:
            return report.valid_from_us <= self._now_us
        if known.sync == self._sync:
            self._twice(report)
            return False
        if self._is_full:
            return known.content != content_of(report) or (known.is_deleted and bool(report.iocs))
        is_valid_now = known.is_deleted and report.valid_from_us > 0 and bool(report.iocs)
        return report.time_us > known.update_us or is_valid_now

    def _write_indicators(
        self, reports: list[Report], known: dict[str, KnownReport], version: int
    ) -> None:
        """Writes indicators in slices, so that the stored indicators for comparison fit into
        memory."""
        waiting: list[Report] = []
        stored = 0
        for one in reports:
            waiting.append(one)
            stored += known[one.id].ioc_count if one.id in known else 0
            if stored >= SYNC_IOCS_BATCH:
                self._write_slice(waiting, known, version)
                waiting, stored = [], 0
        self._write_slice(waiting, known, version)

    def _write_slice(
        self, reports: list[Report], known: dict[str, KnownReport], version: int
    ) -> None:
        stored: dict[str, list[dict[str, Any]]] = {}
        older = [one.id for one in reports if one.id in known]
        if older:
            for row in indicators_of(self._parts.engine, self._feed.id, older):
                stored.setdefault(row["report_id"], []).append(row)
        rows = [
            row
            for one in reports
            for row in indicator_rows(self._feed, one, stored.get(one.id, ()), version)
        ]
        write_indicators(self._parts.engine, rows)


def describe(error: Exception) -> str:
    """Returns the description of a failed synchronization that is stored and shown."""
    if isinstance(error, BadRequestError | UnavailableError | NotFoundError):
        return error.message
    return f"{type(error).__name__}: a fault of the server, see its log"
