"""What the document of a feed says of itself: read when the feed is added."""

import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import urlsplit

from msgspec import structs

from vedette.feeds.fetch import Fetcher, Source
from vedette.feeds.formats.documents import read_items
from vedette.feeds.formats.json_pieces import BrokenDocumentError
from vedette.feeds.taxii import is_taxii
from vedette.limits import FEED_HEAD_BYTES_MAX, FEED_HEAD_S, FEED_NAME_CHARS_MAX
from vedette.model.findings.tag import YARA_FEED
from vedette.model.threat.feed import FeedInfo, Report

_OTHERS: Final = re.compile(r"[^a-z0-9]")


def fetch_info(fetcher: Fetcher, source: Source) -> FeedInfo:
    """The description of a feed, empty where the document has none among its first bytes.

    Raises FeedUnreachableError, and BrokenDocumentError for what is no feed at all.
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
            # The head ends somewhere; without anything good in it, it is no feed.
            if not has_reports:
                raise
        return FeedInfo()


def with_name(info: FeedInfo, url: str, taken: Iterable[str]) -> FeedInfo:
    """The description with a name that is not taken: its own, or one made of the URL."""
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
