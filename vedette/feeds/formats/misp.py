"""MISP: each event of an export becomes a report; its indicators are the attributes that are for
detection (`to_ids`) and not deleted.

`/attributes/restSearch` and `/objects/restSearch` list attributes of any events in any order, each
with its event. They are collected by event, and each event becomes a report.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from vedette.feeds.formats.cbfeeds import decoded, text_of
from vedette.feeds.formats.indicator_values import UnreadableError, normal_value
from vedette.feeds.formats.json_pieces import ELEMENT, BrokenDocumentError, Piece, cut
from vedette.limits import REPORT_IOCS_MAX, REPORT_TAGS_MAX, REPORT_TEXT_CHARS_MAX, Limit
from vedette.model.threat.feed import BrokenPart, Ioc, IocType, Item, Report

MISP_ATTRIBUTES_MAX: Limit[int] = 500_000
"""Attributes of a MISP document that lists them outside their events. They stay in memory until the
end of the document, since attributes of an event may appear anywhere in it."""

MISP_ATTRIBUTES_CHARS_MAX: Limit[int] = 128 * 2**20
"""Characters of these attributes and of their events, in memory."""

MISP_EVENT_NUMBER_CHARS_MAX: Limit[int] = 40
"""Characters of the number of a MISP event, which is part of its report's id if the event has no
UUID."""

MISP_TIME_CHARS_MAX: Limit[int] = 11
"""Digits of a MISP time in epoch seconds; a longer number is not a plausible time."""


_WANTED: Final = (
    ("Event",),
    ("response", ELEMENT, "Event"),
    (ELEMENT, "Event"),
    ("response", "Event"),
)
_ATTRIBUTES: Final = (("response", "Attribute", ELEMENT), ("Attribute", ELEMENT))
_OBJECTS: Final = (("response", ELEMENT, "Object"),)
_KEPT: Final = ("type", "value", "uuid", "to_ids", "deleted")
_KEPT_OF_EVENT: Final = ("info", "threat_level_id", "timestamp", "Tag")
"""Members of an attribute, and of its event, that are kept until the event is complete."""
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
"""Maps attribute type to the indicator type of each part of its value; None for a part that is no
indicator."""

_ADDRESSES: Final = frozenset(("ip-src", "ip-dst", "ip-src|port", "ip-dst|port"))
_BOTH: Final = "domain|ip"


def items(chunks: Iterable[bytes]) -> Iterator[Item]:
    """Yields the reports of an export. Raises BrokenDocumentError, also if the attributes outside
    their events exceed the memory limits."""
    events = _Events()
    for piece in cut(chunks, (*_WANTED, *_ATTRIBUTES, *_OBJECTS)):
        if piece.path in _WANTED:
            yield from event_items(piece)
            continue
        try:
            body = decoded(piece)
            inside = _list(body.get("Attribute")) if piece.path in _OBJECTS else [body]
            for one in inside:
                events.add(one, body, piece.place)
        except UnreadableError as problem:
            yield BrokenPart(place=piece.place, problem=str(problem))
    for event in events.bodies():
        yield from _items_of(event, event["place"])


class _Events:
    """Assembles events from their attributes."""

    def __init__(self) -> None:
        self._events: dict[str, dict[str, Any]] = {}
        self._count = self._chars = 0

    def add(self, attribute: object, around: dict[str, Any], place: str) -> None:
        """Adds an attribute; `around` names its event. Raises UnreadableError for an attribute
        without an event, and BrokenDocumentError above the limits."""
        if not isinstance(attribute, dict):
            raise UnreadableError("an attribute is not an object")
        kept = {one: attribute[one] for one in _KEPT if one in attribute}
        self._reserve(kept)
        self._count += 1
        event = around.get("Event")
        event = event if isinstance(event, dict) else {}
        number = str(around.get("event_id") or event.get("id") or "")[:MISP_EVENT_NUMBER_CHARS_MAX]
        name = event.get("uuid")
        if not isinstance(name, str) or not name:
            if not number:
                raise UnreadableError("an attribute does not name its event")
            name = f"misp-event-{number}"
        found = self._events.get(name)
        if found is None:
            about = {one: event[one] for one in _KEPT_OF_EVENT if one in event}
            self._reserve(about)
            about = {"info": f"MISP event {number}", **about, "uuid": name, "place": place}
            found = self._events[name] = {**about, "Attribute": []}
        found["timestamp"] = _later(found.get("timestamp"), attribute.get("timestamp"))
        found["Attribute"].append(kept)

    def _reserve(self, members: dict[str, Any]) -> None:
        """Reserves memory for members. Raises BrokenDocumentError above the limits."""
        self._chars += sum(len(str(value)) for value in members.values())
        if self._count >= MISP_ATTRIBUTES_MAX or self._chars > MISP_ATTRIBUTES_CHARS_MAX:
            raise BrokenDocumentError(
                f"the document has more than {MISP_ATTRIBUTES_MAX:,} attributes without their "
                f"events, or {MISP_ATTRIBUTES_CHARS_MAX:,} characters of them: export events, or "
                "fewer attributes"
            )

    def bodies(self) -> Iterator[dict[str, Any]]:
        """Yields the events in the form of an event export."""
        while self._events:
            yield self._events.pop(next(iter(self._events)))


def _later(first: object, second: object) -> str:
    """Returns the later of two times, or an invalid one, which is rejected later."""
    texts = [str(one) for one in (first, second) if one is not None]
    wrong = [one for one in texts if not one.isdecimal() or len(one) > MISP_TIME_CHARS_MAX]
    return wrong[0] if wrong else max(texts, key=int, default="0")


def event_items(piece: Piece) -> Iterator[Item]:
    """Yields one event, and its unreadable attributes."""
    try:
        body = decoded(piece)
    except UnreadableError as problem:
        yield BrokenPart(place=piece.place, problem=str(problem))
        return
    yield from _items_of(body, piece.place)


def _items_of(body: dict[str, Any], place: str) -> Iterator[Item]:
    event_id = ""
    try:
        event_id = text_of(body, "uuid", REPORT_TEXT_CHARS_MAX, needed=True)
        broken: list[str] = []
        iocs = tuple(dict.fromkeys(_iocs(body, broken)))
        if len(iocs) > REPORT_IOCS_MAX:
            raise UnreadableError(f"has more than {REPORT_IOCS_MAX:,} indicators")
        report = _report(event_id, body, iocs)
    except UnreadableError as problem:
        yield BrokenPart(place=place, problem=str(problem), report_id=event_id)
        return
    for one in broken:
        yield BrokenPart(place=f"{place}, event {event_id}", problem=one)
    yield report


def _report(event_id: str, body: dict[str, Any], iocs: tuple[Ioc, ...]) -> Report:
    time_s = body.get("timestamp", "0")
    if not str(time_s).isdecimal() or len(str(time_s)) > MISP_TIME_CHARS_MAX:
        raise UnreadableError(f"timestamp: {str(time_s)[:40]!r} is not a time")
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
            if isinstance(one, dict) and _is_set(one, "to_ids") and not _is_set(one, "deleted"):
                yield one


def _is_set(attribute: dict[str, Any], name: str) -> bool:
    """Returns a flag, which older servers write as text."""
    return str(attribute.get(name)).lower() in ("true", "1")


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _iocs(body: dict[str, Any], broken: list[str]) -> Iterator[Ioc]:
    for one in _attributes(body):
        kind, value = str(one.get("type")), one.get("value")
        try:
            if not isinstance(value, str):
                raise UnreadableError("value: must be a string")
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
        raise UnreadableError(f"{kind[:40]!r} is not a supported type")


def _address(text: str) -> tuple[IocType, str]:
    return normal_value("ipv6" if ":" in text else "ipv4", text)
