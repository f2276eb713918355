"""TAXII 2.1: follows any TAXII URL (discovery, API root, collections, one collection, its objects)
to the objects of every readable collection, page by page.

Credentials are sent only to the server of the feed's URL.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import orjson

from vedette.feeds.egress import FeedUnreachableError
from vedette.feeds.fetch import Document, Fetcher, Source, followed_url
from vedette.feeds.formats import stix
from vedette.feeds.formats.json_pieces import ELEMENT, Piece, cut
from vedette.limits import Limit
from vedette.model.threat.feed import Item
from vedette.record.objects.feed import server_of

FEED_PAGES_MAX: Limit[int] = 100_000
"""Pages of one TAXII collection or MISP feed, after which a server that never ends is abandoned."""

FEED_PAGE_OBJECTS: Limit[int] = 1_000
"""Objects requested per page of a TAXII collection."""


CONTENT_TYPE: Final = "application/taxii+json"

_NAMES: Final = ("api_roots", "versions", "id", "can_read", "more", "next")
_WANTED: Final = (stix.OBJECTS, ("collections", ELEMENT), *((name,) for name in _NAMES))


def is_taxii(document: Document) -> bool:
    """Whether a TAXII server sent the document."""
    return document.content_type.partition(";")[0].strip().lower() == CONTENT_TYPE


class Reader:
    """Reads one feed from a TAXII server, within the time limit of a document."""

    def __init__(self, fetcher: Fetcher, source: Source) -> None:
        self._fetcher = fetcher
        self._source = source
        self._until_s = time.monotonic() + fetcher.rules.seconds_max
        self._pages = 0

    def items(self, chunks: Iterable[bytes], url: str = "") -> Iterator[Item]:
        """Yields the reports that a document leads to, and their broken parts.

        Raises FeedUnreachableError and BrokenDocumentError.
        """
        url = url or self._source.url
        found: dict[str, Any] = {}
        collections: list[str] = []
        for piece in cut(chunks, _WANTED):
            if piece.path == stix.OBJECTS:
                yield from stix.object_items(piece)
            elif piece.path == ("collections", ELEMENT):
                collections += _readable(piece)
            else:
                found[piece.name] = _value(piece)
        if found.get("more") is True and isinstance(found.get("next"), str | int):
            yield from self._next(_with_query(url, str(found["next"])))
        yield from self._below(url, found, collections)

    def _below(self, url: str, found: dict[str, Any], collections: list[str]) -> Iterator[Item]:
        folder = url.partition("?")[0].rstrip("/") + "/"
        if isinstance(found.get("api_roots"), list):
            for root in found["api_roots"]:
                followed = str(followed_url(url, str(root))).rstrip("/")
                yield from self._next(f"{followed}/collections/")
        elif isinstance(found.get("versions"), list):
            yield from self._next(f"{folder}collections/")
        elif found.get("can_read") is True and isinstance(found.get("id"), str):
            yield from self._next(_with_query(f"{folder}objects/"))
        for name in collections:
            yield from self._next(_with_query(f"{folder}{quote(name, safe='')}/objects/"))

    def _next(self, url: str) -> Iterator[Item]:
        self._pages += 1
        if self._pages > FEED_PAGES_MAX:
            raise FeedUnreachableError(f"more than {FEED_PAGES_MAX:,} pages")
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise FeedUnreachableError("the collection takes too long (setting feed_timeout_s)")
        source = replace(self._source, url=str(followed_url(self._source.url, url)))
        if server_of(url) != server_of(self._source.url):
            source = replace(source, username="", password="", certificate="", key="")
        with self._fetcher.open(source, seconds_max=left_s) as document:
            yield from self.items(document.chunks, url)


def _readable(piece: Piece) -> list[str]:
    """Returns the id of a collection if it is readable, else []."""
    body = _value(piece)
    if isinstance(body, dict) and body.get("can_read") is True and isinstance(body.get("id"), str):
        return [body["id"]]
    return []


def _value(piece: Piece) -> Any:
    try:
        return None if piece.data is None else orjson.loads(piece.data)
    except orjson.JSONDecodeError:
        return None


def _with_query(url: str, following: str = "") -> str:
    """Returns the URL of a page of a collection."""
    split = urlsplit(url)
    query = {"limit": str(FEED_PAGE_OBJECTS)} | ({"next": following} if following else {})
    return split._replace(query=urlencode(query)).geturl()
