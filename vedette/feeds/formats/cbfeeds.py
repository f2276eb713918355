"""The cbfeeds format: `{"feedinfo": {...}, "reports": [...]}` (docs/feeds.md)."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from vedette.feeds.formats.indicator_values import UnreadableError, normal_query, normal_value
from vedette.feeds.formats.json_pieces import ELEMENT, Piece, cut
from vedette.limits import (
    FEED_ICON_CHARS_MAX,
    FEED_TEXT_CHARS_MAX,
    REPORT_IOCS_MAX,
    REPORT_TAGS_MAX,
    REPORT_TEXT_CHARS_MAX,
)
from vedette.model.threat.feed import BrokenPart, FeedInfo, Ioc, Item, Report

_WANTED: Final = (("feedinfo",), ("reports", ELEMENT))
_ID: Final = re.compile(r"[a-zA-Z0-9\-_.]{1,512}")
_TEXTS: Final = ("name", "display_name", "provider_url", "summary", "tech_data", "category")
_SECOND_US: Final = 1_000_000
_LATEST: Final = 253_402_300_800
"""The year 10000, in epoch seconds."""


def items(chunks: Iterable[bytes]) -> Iterator[Item]:
    """Yields description, reports and broken parts of a document.

    Raises BrokenDocumentError where the document itself ends early.
    """
    for piece in cut(chunks, _WANTED):
        if piece.path == ("feedinfo",):
            yield from _feed_info(piece)
        else:
            yield from report_items(piece)


def report_items(piece: Piece) -> Iterator[Item]:
    """Yields a report, or its problem. The valid indicators of a report are kept."""
    report_id = ""
    try:
        body = decoded(piece)
        report_id = _report_id(body.get("id"))
        broken: list[str] = []
        iocs = tuple(dict.fromkeys(_iocs(body.get("iocs"), broken)))
        if broken and not iocs:
            raise UnreadableError("; ".join(broken[:3]))
        report = _report(report_id, body, iocs)
    except UnreadableError as problem:
        yield BrokenPart(place=piece.place, problem=str(problem), report_id=report_id)
        return
    for one in broken:
        yield BrokenPart(place=f"{piece.place}, report {report_id}", problem=one)
    yield report


def decoded(piece: Piece) -> dict[str, Any]:
    """Decodes a piece, which must be an object. Raises UnreadableError."""
    if piece.data is None:
        raise UnreadableError("is too large, or nested too deeply")
    try:
        value = orjson.loads(piece.data)
    except orjson.JSONDecodeError as error:
        raise UnreadableError(f"is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise UnreadableError("is not an object")
    return value


def text_of(body: dict[str, Any], name: str, chars_max: int, *, needed: bool = False) -> str:
    """Returns a text member; "" if it is missing. Raises UnreadableError."""
    value = body.get(name)
    if value is None and not needed:
        return ""
    if not isinstance(value, str) or (needed and not value.strip()):
        raise UnreadableError(f"{name}: must be a string")
    if len(value) > chars_max:
        raise UnreadableError(f"{name}: has more than {chars_max:,} characters")
    return value


def _feed_info(piece: Piece) -> Iterator[Item]:
    try:
        body = decoded(piece)
        rating = body.get("provider_rating")
        yield FeedInfo(
            **{name: text_of(body, name, FEED_TEXT_CHARS_MAX) for name in _TEXTS},
            icon=text_of(body, "icon", FEED_ICON_CHARS_MAX),
            icon_small=text_of(body, "icon_small", FEED_ICON_CHARS_MAX),
            provider_rating=float(rating) if isinstance(rating, int | float) else None,
        )
    except UnreadableError as problem:
        yield BrokenPart(place=piece.place, problem=f"feedinfo: {problem}")


def _report_id(value: object) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise UnreadableError(f"id: {str(value)[:80]!r} is not of letters, digits, -, _ and . only")
    return value


def _report(report_id: str, body: dict[str, Any], iocs: tuple[Ioc, ...]) -> Report:
    return Report(
        id=report_id,
        title=text_of(body, "title", REPORT_TEXT_CHARS_MAX, needed=True),
        description=text_of(body, "description", REPORT_TEXT_CHARS_MAX),
        link=text_of(body, "link", REPORT_TEXT_CHARS_MAX),
        tags=_tags(body.get("tags")),
        score=_score(body.get("score")),
        time_us=_time_us(body.get("timestamp")),
        iocs=iocs,
    )


def _tags(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise UnreadableError("tags: must be a list of strings")
    if len(value) > REPORT_TAGS_MAX or sum(map(len, value)) > REPORT_TEXT_CHARS_MAX:
        raise UnreadableError("tags: are too many")
    return tuple(value)


def _score(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -100 <= value <= 100:
        raise UnreadableError(f"score: {str(value)[:40]!r} is not a number from -100 to 100")
    return round(value)


def _time_us(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LATEST:
        raise UnreadableError(f"timestamp: {str(value)[:40]!r} is not a time in epoch seconds")
    return int(value * _SECOND_US)


def _iocs(value: object, broken: list[str]) -> Iterator[Ioc]:
    """Yields the indicators of a report; appends the problems of invalid ones to `broken`."""
    if value is None or value in ({}, []):
        return
    if not isinstance(value, dict):
        raise UnreadableError("iocs: must be an object")
    if "query" in value and len(value) > 1:
        raise UnreadableError("iocs: a query excludes indicators of other types")
    count = 0
    for kind, values in value.items():
        for one in _queries(values, broken) if kind == "query" else _values(kind, values, broken):
            count += 1
            if count > REPORT_IOCS_MAX:
                raise UnreadableError(f"iocs: are more than {REPORT_IOCS_MAX:,}")
            yield one


def _values(kind: str, values: object, broken: list[str]) -> Iterator[Ioc]:
    if not isinstance(values, list):
        broken.append(f"iocs.{kind[:40]}: must be a list")
        return
    for number, value in enumerate(values):
        try:
            yield Ioc(*normal_value(kind, value))
        except UnreadableError as problem:
            broken.append(f"iocs.{kind[:40]}[{number}]: {problem}")


def _queries(value: object, broken: list[str]) -> Iterator[Ioc]:
    """Accepts both forms: an object with a list of queries, and a list of objects with one query
    each."""
    for number, one in enumerate(value if isinstance(value, list) else [value]):
        asked = one.get("search_query") if isinstance(one, dict) else None
        for text in asked if isinstance(asked, list) else [asked]:
            try:
                index_type = one.get("index_type") if isinstance(one, dict) else None
                checked, query = normal_query(index_type, text)
                yield Ioc("query", query, checked)
            except UnreadableError as problem:
                broken.append(f"iocs.query[{number}]: {problem}")
