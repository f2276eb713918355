"""Wire formats of JSON records, and a prefilter by member names.

Senders repeat a few sets of member names, so the formats possible for a set are cached; mostly one
is left to test.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from vedette.ingest.decode import (
    auditd,
    auoms,
    azure,
    endpointsecurity,
    eventxml,
    evtx_json,
    getwinevent,
    laurel,
    nxlog,
    osquery,
    santa,
    shipper,
    tetragon,
    vedette_sensor,
    winlogbeat,
)
from vedette.ingest.record import Record

_TEXTS = frozenset({*shipper.TEXT_MEMBERS, "event"})
"""Members in which shippers put a log line (`shipper.text_of`)."""


class Format(NamedTuple):
    """One wire format."""

    members: frozenset[str]
    """An object with none of these members is not of this format."""
    recognises: Callable[[dict[str, Any]], bool]
    decode: Callable[..., list[Record]]
    """Takes the object; with `asks_text` also its text."""
    is_flat: bool = False
    """Whether the decoder ignores nested values."""
    asks_text: bool = False
    is_text: bool = False
    """Whether the record is text in a member of a shipper's record."""


FORMATS: tuple[Format, ...] = (
    Format(frozenset({"EventID"}), nxlog.recognises, nxlog.decode, is_flat=True),
    Format(frozenset({"vedette_event"}), vedette_sensor.recognises, vedette_sensor.decode),
    Format(frozenset({"winlog", "log_name"}), winlogbeat.recognises, winlogbeat.decode),
    Format(frozenset({"Event"}), evtx_json.recognises, evtx_json.decode),
    Format(frozenset({"EventID"}), azure.recognises, azure.decode),
    Format(frozenset({"EventID"}), getwinevent.recognises, getwinevent.decode),
    Format(frozenset({"ID"}), laurel.recognises, laurel.decode, asks_text=True),
    Format(frozenset({"hostIdentifier", "node_key"}), osquery.recognises, osquery.decode),
    Format(frozenset(tetragon.KINDS), tetragon.recognises, tetragon.decode),
    Format(frozenset({"process"}), endpointsecurity.recognises, endpointsecurity.decode),
    Format(frozenset({"event_time", "eventTime"}), santa.recognises, santa.decode),
    Format(frozenset(eventxml.MEMBERS), eventxml.recognises, eventxml.decode, is_text=True),
    Format(_TEXTS, auoms.recognises, auoms.decode, is_text=True),
    Format(_TEXTS, auditd.recognises, auditd.decode, is_text=True),
    Format(_TEXTS, santa.recognises_text, santa.decode_text, is_text=True),
)
"""In order of recognition. Text formats come last, so the content of a text member cannot
replace a record that is recognised by its own shape."""

_SETS_MAX = 1_024
_SET_MEMBERS_MAX = 32
_SET_CHARS_MAX = 1_024
"""Bounds of the cache, in sets, names and characters: names are chosen by the sender."""

_possible: dict[tuple[str, ...], tuple[Format, ...]] = {}


def possible_formats(obj: dict[str, Any]) -> tuple[Format, ...]:
    """Formats that an object may have, in order. Cached by member names."""
    names = tuple(obj)
    found = _possible.get(names)
    if found is None:
        found = tuple(some for some in FORMATS if not some.members.isdisjoint(names))
        if len(names) <= _SET_MEMBERS_MAX and sum(map(len, names)) <= _SET_CHARS_MAX:
            if len(_possible) >= _SETS_MAX:
                _possible.clear()
            _possible[names] = found
    return found
