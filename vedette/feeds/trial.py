"""Trial of a feed: reads its document like a synchronization, without storing anything."""

from collections import Counter
from dataclasses import dataclass, field

from vedette.feeds.egress import FeedUnreachableError
from vedette.feeds.fetch import Fetcher, Source
from vedette.feeds.formats.documents import or_problem, read_items
from vedette.feeds.taxii import Reader, is_taxii
from vedette.limits import FEED_HEAD_S, Limit
from vedette.model.threat.feed import BrokenPart, FeedInfo, Item, Report

FEED_TRIAL_ERRORS: Limit[int] = 20
"""Broken parts that the trial of a feed lists; all are counted."""

FEED_TRIAL_REPORTS: Limit[int] = 5
"""Titles of reports that the trial of a feed shows."""


@dataclass(slots=True)
class Trial:
    """Contents read from a document; `is_whole` if it was read completely."""

    format: str = ""
    info: FeedInfo = field(default_factory=FeedInfo)
    reports: int = 0
    indicators: Counter[str] = field(default_factory=Counter)
    titles: list[str] = field(default_factory=list)
    """Titles of the first reports."""
    errors: int = 0
    broken: list[BrokenPart] = field(default_factory=list)
    """The first unreadable parts."""
    is_whole: bool = False

    def take(self, item: Item) -> None:
        if isinstance(item, FeedInfo):
            self.info = item
        elif isinstance(item, BrokenPart):
            self.errors += 1
            self.broken += [item] if len(self.broken) < FEED_TRIAL_ERRORS else []
        else:
            self._take_report(item)

    def _take_report(self, report: Report) -> None:
        self.reports += 1
        self.indicators.update(one.type for one in report.iocs)
        self.titles += [report.title] if len(self.titles) < FEED_TRIAL_REPORTS else []


def try_feed(fetcher: Fetcher, source: Source) -> Trial:
    """Reads a feed for as long as a request may wait. Raises FeedUnreachableError if nothing could
    be read, and BrokenDocumentError for a document that is not a feed."""
    found = Trial()
    with fetcher.open(source, seconds_max=FEED_HEAD_S) as document:
        if is_taxii(document):
            found.format = "taxii"
            items = or_problem("taxii", Reader(fetcher, source).items(document.chunks))
        else:
            found.format, items = read_items(document.chunks)
        try:
            for item in items:
                found.take(item)
            found.is_whole = True
        except FeedUnreachableError:
            if not found.reports:
                raise
    return found
