"""Description of a feed from its own document, read when the feed is added."""

import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import urlsplit

from msgspec import structs

from vedette.feeds.fetch import Fetcher, Source
from vedette.feeds.formats.documents import read_items
from vedette.feeds.formats.json_pieces import BrokenDocumentError
from vedette.feeds.taxii import is_taxii
from vedette.limits import FEED_HEAD_S, FEED_NAME_CHARS_MAX, Limit
from vedette.model.findings.tag import YARA_FEED
from vedette.model.threat.feed import FeedInfo, Report

FEED_HEAD_BYTES_MAX: Limit[int] = 4 * 2**20
"""Bytes of a document that are read for the description of a new feed."""


_OTHERS: Final = re.compile(r"[^a-z0-9]")


def fetch_info(fetcher: Fetcher, source: Source) -> FeedInfo:
    """Returns the description of a feed; empty if the start of the document contains none.

    Raises FeedUnreachableError, and BrokenDocumentError for a document that is not a feed.
    """
    with fetcher.open(source, seconds_max=FEED_HEAD_S) as document:
        if is_taxii(document):
            return FeedInfo()
        _, items = read_items(_head(document.chunks))
        has_reports = False
        try:
            for item in items:
                if isinstance(item, FeedInfo):
                    return item
                has_reports = has_reports or isinstance(item, Report)
        except BrokenDocumentError:
            # The head cuts the document off, so this error is expected unless no valid report
            # precedes it.
            if not has_reports:
                raise
        return FeedInfo()


def with_name(info: FeedInfo, url: str, taken: Iterable[str]) -> FeedInfo:
    """Returns the description with a name that is not taken: its own, or a name derived from the
    URL."""
    if info.name:
        return info
    split = urlsplit(url)
    base = (
        _OTHERS.sub("", f"{split.hostname or ''}{split.path}".lower())[:FEED_NAME_CHARS_MAX]
        or "feed"
    )
    known = {YARA_FEED, *(name.lower() for name in taken)}
    name, number = base, 1
    while name in known:
        number += 1
        name = f"{base}{number}"
    return structs.replace(info, name=name)


def _head(chunks: Iterable[bytes]) -> Iterator[bytes]:
    left = FEED_HEAD_BYTES_MAX
    for chunk in chunks:
        yield chunk[:left]
        left -= len(chunk)
        if left <= 0:
            return
