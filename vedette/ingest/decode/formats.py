"""The formats of JSON records, and which of them an object can be of by the names of its members.

A sender writes the same few sets of members all day, so what these leave to ask is remembered:
mostly one format, where asking all of them in turn costs as much as reading the record's text.
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
"""Where shippers put the line of a log (`shipper.text_of`)."""


class Format(NamedTuple):
    """One wire format."""

    members: frozenset[str]
    """No object without any of these is of this format."""
    recognises: Callable[[dict[str, Any]], bool]
    decode: Callable[..., list[Record]]
    """Of an object; where it `asks_text`, of an object and its text."""
    is_flat: bool = False
    """Whether its decoder ignores what is nested, however deeply."""
    asks_text: bool = False
    is_text: bool = False
    """Whether the record is text inside a member that a log shipper made."""


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
"""In order of recognition. Formats of text come last, so that nothing a text member says can
replace a record that its own shape identifies."""

_SETS_MAX = 1_024
_SET_MEMBERS_MAX = 32
_SET_CHARS_MAX = 1_024
"""How many sets of names are remembered, and how large ones: names are the sender's choice."""

_possible: dict[tuple[str, ...], tuple[Format, ...]] = {}


def possible_formats(obj: dict[str, Any]) -> tuple[Format, ...]:
    """Those of `FORMATS` that an object can be of, in their order."""
    names = tuple(obj)
    found = _possible.get(names)
    if found is None:
        found = tuple(some for some in FORMATS if not some.members.isdisjoint(names))
        if len(names) <= _SET_MEMBERS_MAX and sum(map(len, names)) <= _SET_CHARS_MAX:
            if len(_possible) >= _SETS_MAX:
                _possible.clear()
            _possible[names] = found
    return found
