"""Brings the stored reports of a feed to what its document says.

Incremental: new reports, and those with a later timestamp; deletions are not seen. Full: every
report, also changes under the same timestamp, and what the document no longer has is deleted, but
only after it was read to its end. Memory holds one batch of reports, whatever the size.

Indicators are written before the report that has them: a synchronisation that is killed leaves no
report that looks newer than its indicators, so the next one takes it again.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import structlog

from vedette.clock import Clock
from vedette.errors import BadRequestError, NotFoundError, UnavailableError
from vedette.feeds.fetch import Fetcher, Source
from vedette.feeds.formats.documents import read_items
from vedette.feeds.report_rows import content_of, indicator_rows, report_row
from vedette.feeds.report_writer import writing_reports
from vedette.feeds.taxii import Reader, is_taxii
from vedette.limits import (
    FEED_ERRORS_MAX,
    SYNC_IOCS_BATCH,
    SYNC_REPORTS_BATCH,
)
from vedette.model.threat.feed import BrokenPart, Item, Report
from vedette.state.db.database import Database
from vedette.state.db.sealing import Sealing
from vedette.state.policy import feeds
from vedette.state.policy.feeds import Feed, SyncResult
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

log = structlog.get_logger(__name__)

KeepAlive = Callable[[], None]
"""Called between batches; raises where the synchronisation must not go on."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a synchronisation works with."""

    engine: Engine
    database: Database
    sealing: Sealing
    fetcher: Fetcher
    clock: Clock


@dataclass(slots=True)
class Progress:
    """What a synchronisation has done so far."""

    format: str = ""
    etag: str = ""
    read: int = 0
    changed: int = 0
    deleted: int = 0
    iocs: int = 0
    errors: int = 0
    kept: list[BrokenPart] = field(default_factory=list)

    def broken(self, part: BrokenPart) -> None:
        self.errors += 1
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
        )


def source_of(parts: Parts, feed: Feed) -> Source:
    """What is fetched for a feed. Raises UnavailableError where its secrets cannot be opened."""
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
    """Fetch and store a feed; `progress` is called all the while.

    Raises FeedUnreachableError, BrokenDocumentError and UnavailableError; what was stored until
    then stays, and is right.
    """
    etag = "" if is_full else feed.etag
    source = source_of(parts, feed)
    with parts.fetcher.open(source, etag=etag) as document:
        if document.is_unchanged:
            progress.etag, progress.format = feed.etag, feed.format
            return
        if is_taxii(document):
            progress.format = "taxii"
            items = Reader(parts.fetcher, source).items(document.chunks)
        else:
            progress.format, items = read_items(document.chunks)
        writer = _Writer(parts, feed, progress, is_full=is_full)
        for batch in _batches(items):
            keep_alive()
            writer.write(batch)
        progress.etag = "" if is_taxii(document) else document.etag
    if is_full:
        keep_alive()
        progress.deleted = writer.delete_unseen()


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Items in batches of bounded memory."""
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
    """Stores the batches of one synchronisation."""

    def __init__(self, parts: Parts, feed: Feed, progress: Progress, *, is_full: bool) -> None:
        self._parts = parts
        self._feed = feed
        self._progress = progress
        self._is_full = is_full
        self._sync = max(latest_version(parts.engine) + 1, parts.clock.now_us())

    def write(self, batch: list[Item]) -> None:
        """Store a batch, while nobody else changes reports."""
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
        """Delete what a full synchronisation did not see; how many reports."""
        with self._alone() as version:
            return delete_unseen(self._parts.engine, self._feed.id, self._sync, version)

    def _distinct(self, batch: list[Item]) -> dict[str, Report]:
        """The reports of a batch by id, the first one of each."""
        found: dict[str, Report] = {}
        for one in batch:
            if not isinstance(one, Report):
                continue
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
            return True
        if known.sync == self._sync:
            self._twice(report)
            return False
        if self._is_full:
            return known.content != content_of(report) or (known.is_deleted and bool(report.iocs))
        return report.time_us > known.update_us

    def _write_indicators(
        self, reports: list[Report], known: dict[str, KnownReport], version: int
    ) -> None:
        """In slices, so that the stored indicators that they are compared with fit into memory."""
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
    """What is kept and shown of a failed synchronisation."""
    if isinstance(error, BadRequestError | UnavailableError | NotFoundError):
        return error.message
    return f"{type(error).__name__}: a fault of the server, see its log"
