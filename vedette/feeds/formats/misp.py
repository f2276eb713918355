"""MISP: each event of an export is a report; its attributes that are for detection (`to_ids`) and
not deleted are the indicators."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from vedette.feeds.formats.cbfeeds import decoded, text_of
from vedette.feeds.formats.indicator_values import UnreadableError, normal_value
from vedette.feeds.formats.json_pieces import ELEMENT, Piece, cut
from vedette.limits import REPORT_IOCS_MAX, REPORT_TAGS_MAX, REPORT_TEXT_CHARS_MAX
from vedette.model.threat.feed import BrokenPart, Ioc, IocType, Item, Report

_WANTED: Final = (
    ("Event",),
    ("response", ELEMENT, "Event"),
    (ELEMENT, "Event"),
    ("response", "Event"),
)
_SCORES: Final = {"1": 90, "2": 60, "3": 30}
_SCORE_UNKNOWN: Final = 50

_TYPES: Final[dict[str, tuple[IocType | None, ...]]] = {
    "md5": ("md5",),
    "sha256": ("sha256",),
    "domain": ("dns",),
    "hostname": ("dns",),
    "ja3-fingerprint-md5": ("ja3",),
    "ja3s-fingerprint-md5": ("ja3s",),
    "filename|md5": (None, "md5"),
    "filename|sha256": (None, "sha256"),
    "malware-sample": (None, "md5"),
    "hostname|port": ("dns", None),
}
"""Types of attributes, with what each part of their values is."""

_ADDRESSES: Final = frozenset(("ip-src", "ip-dst", "ip-src|port", "ip-dst|port"))
_BOTH: Final = "domain|ip"


def items(chunks: Iterable[bytes]) -> Iterator[Item]:
    """The reports of an export. Raises BrokenDocumentError."""
    for piece in cut(chunks, _WANTED):
        yield from event_items(piece)


def event_items(piece: Piece) -> Iterator[Item]:
    """One event, and the attributes of it that cannot be read."""
    event_id = ""
    try:
        body = decoded(piece)
        event_id = text_of(body, "uuid", REPORT_TEXT_CHARS_MAX, needed=True)
        broken: list[str] = []
        iocs = tuple(dict.fromkeys(_iocs(body, broken)))
        if len(iocs) > REPORT_IOCS_MAX:
            raise UnreadableError(f"has more than {REPORT_IOCS_MAX:,} indicators")
        report = _report(event_id, body, iocs)
    except UnreadableError as problem:
        yield BrokenPart(place=piece.place, problem=str(problem), report_id=event_id)
        return
    for one in broken:
        yield BrokenPart(place=f"{piece.place}, event {event_id}", problem=one)
    yield report


def _report(event_id: str, body: dict[str, Any], iocs: tuple[Ioc, ...]) -> Report:
    time_s = body.get("timestamp", "0")
    if not str(time_s).isdecimal() or len(str(time_s)) > 11:
        raise UnreadableError(f"timestamp: {str(time_s)[:40]!r} is no time")
    tags = body.get("Tag")
    names = [one.get("name") for one in tags if isinstance(one, dict)] if tags else []
    return Report(
        id=event_id,
        title=text_of(body, "info", REPORT_TEXT_CHARS_MAX) or event_id,
        tags=tuple(one for one in names if isinstance(one, str))[:REPORT_TAGS_MAX],
        score=_SCORES.get(str(body.get("threat_level_id")), _SCORE_UNKNOWN),
        time_us=int(time_s) * 1_000_000,
        iocs=iocs,
    )


def _attributes(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    groups = [body, *(one for one in _list(body.get("Object")) if isinstance(one, dict))]
    for group in groups:
        for one in _list(group.get("Attribute")):
            if isinstance(one, dict) and one.get("to_ids") is True and not one.get("deleted"):
                yield one


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _iocs(body: dict[str, Any], broken: list[str]) -> Iterator[Ioc]:
    for one in _attributes(body):
        kind, value = str(one.get("type")), one.get("value")
        try:
            if not isinstance(value, str):
                raise UnreadableError("value: must be text")
            yield from (Ioc(*found) for found in _values(kind, value))
        except UnreadableError as problem:
            broken.append(f"attribute {str(one.get('uuid'))[:40]}: {problem}")


def _values(kind: str, value: str) -> Iterator[tuple[IocType, str]]:
    parts = value.split("|")
    if kind in _ADDRESSES:
        yield _address(parts[0])
    elif kind == _BOTH and len(parts) == 2:
        yield normal_value("dns", parts[0])
        yield _address(parts[1])
    elif kind in _TYPES:
        types = _TYPES[kind]
        if len(parts) != len(types):
            raise UnreadableError(f"{kind}: {value[:80]!r} has not {len(types)} parts")
        for part, what in zip(parts, types, strict=True):
            if what is not None:
                yield normal_value(what, part)
    else:
        raise UnreadableError(f"{kind[:40]!r} is no type that can be matched")


def _address(text: str) -> tuple[IocType, str]:
    return normal_value("ipv6" if ":" in text else "ipv4", text)
