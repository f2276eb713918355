"""Wire formats of JSON records, and a prefilter by member names.

Senders repeat a few sets of member names, so the possible formats of a set are cached. Usually only
one format remains to be tested.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from vedette.ingest.decode import (
    auditd,
    auoms,
    azure,
    defender,
    endpointsecurity,
    eventxml,
    evtx_json,
    evtxecmd,
    getwinevent,
    laurel,
    nxlog,
    osquery,
    santa,
    shipper,
    tetragon,
    vedette_sensor,
    wazuh,
    winlogbeat,
)
from vedette.ingest.decode.elastic import auditbeat
from vedette.ingest.decode.elastic import endpoint as elastic_endpoint
from vedette.ingest.decode.logs import app_log, text_log
from vedette.ingest.record import Record
from vedette.limits import Limit

MEMBER_SETS_CACHED_MAX: Limit[int] = 1_024
"""Maximum sets of member names whose possible formats are cached. Senders choose the names."""

MEMBER_SET_NAMES_MAX: Limit[int] = 32
"""Maximum names of a set that is cached. Larger sets are evaluated each time."""

MEMBER_SET_CHARS_MAX: Limit[int] = 1_024
"""Maximum characters of all names of a set that is cached. Larger sets are evaluated each time."""


_TEXTS = frozenset({*shipper.TEXT_MEMBERS, "event"})
"""Members in which shippers put a log line (`shipper.text_of`)."""


class Format(NamedTuple):
    """A wire format of records and its decoder."""

    members: frozenset[str]
    """An object of this format has at least one of these members."""
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
    Format(frozenset({"EventId"}), evtxecmd.recognises, evtxecmd.decode),
    Format(frozenset({"manager"}), wazuh.recognises, wazuh.decode),
    Format(frozenset({"ActionType", "properties"}), defender.recognises, defender.decode),
    Format(frozenset({text_log.W3C_MEMBER}), text_log.recognises_w3c, text_log.decode_w3c),
    Format(
        frozenset({app_log.AUDIT_MEMBER}),
        app_log.recognises_audit,
        app_log.decode_audit,
    ),
    Format(frozenset({"logtype"}), app_log.recognises_canary, app_log.decode_canary),
    Format(frozenset({"records"}), defender.is_container, defender.container_records),
    Format(frozenset({"event"}), elastic_endpoint.recognises, elastic_endpoint.decode),
    Format(frozenset({"event"}), auditbeat.recognises, auditbeat.decode),
    Format(frozenset(eventxml.MEMBERS), eventxml.recognises, eventxml.decode, is_text=True),
    Format(_TEXTS, auoms.recognises, auoms.decode, is_text=True),
    Format(_TEXTS, auditd.recognises, auditd.decode, is_text=True),
    Format(_TEXTS, santa.recognises_text, santa.decode_text, is_text=True),
    Format(_TEXTS, text_log.recognises, text_log.decode, is_text=True),
)
"""All formats in order of recognition. Text formats come last, so the content of a text member
cannot override a record that is recognized by its own shape."""


_possible: dict[tuple[str, ...], tuple[Format, ...]] = {}


def possible_formats(obj: dict[str, Any]) -> tuple[Format, ...]:
    """Returns the possible formats of an object, in order. Cached by member names."""
    names = tuple(obj)
    found = _possible.get(names)
    if found is None:
        found = tuple(some for some in FORMATS if not some.members.isdisjoint(names))
        if len(names) <= MEMBER_SET_NAMES_MAX and sum(map(len, names)) <= MEMBER_SET_CHARS_MAX:
            if len(_possible) >= MEMBER_SETS_CACHED_MAX:
                _possible.clear()
            _possible[names] = found
    return found
