"""Views of events from the Windows event log and Sysmon for Linux, under the names that rules use.

Rules use Sysmon's field names, and so do records of every shipper, so an event is mostly its
record's own data. This module renames fields of other channels, derives further fields when a rule
reads them, and looks up process metadata that the record lacks.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, Literal

from vedette.detect.views import security
from vedette.detect.views.event import Event, Lookup, no_lookup, text_of
from vedette.detect.views.sources import CHANNEL_SERVICES, LOG_SOURCES, SYSMON_CATEGORIES
from vedette.ingest.channels import (
    APPLICATION,
    DEFENDER,
    POWERSHELL,
    POWERSHELL_CLASSIC,
    POWERSHELL_CORE,
    RPC_FIREWALL,
    SECURITY,
    SYSMON,
    SYSMON_LINUX,
)
from vedette.ingest.record import Record
from vedette.limits import Limit

DETECT_SOURCES_CACHED_MAX: Limit[int] = 4_096
"""Maximum cached log sources of (channel, event id, variant): enough for all that occur."""


ACTOR_GUIDS: Final = ("ProcessGuid", "SourceProcessGUID", "SourceProcessGuid")
"""Members that identify the acting process."""

TARGET_GUIDS: Final = ("TargetProcessGUID", "TargetProcessGuid")
"""Members that identify the process that is acted on."""

Variant = Literal["", "deletion", "file"]
"""Distinguishes events with the same id."""

_KEY_EVENT: Final = 12
_DELETED: Final = ("DeleteKey", "DeleteValue")
_VARIED: Final = frozenset({_KEY_EVENT, security.VALUE_CHANGED, *security.FILE_ACCESS_IDS})


def sources_of_record(record: Record) -> tuple[str, ...]:
    """Returns the classes of an event-log record."""
    event_id = record.event_id
    variant = _variant(record) if event_id in _VARIED else ""
    return _sources(record.channel, event_id, variant)


def _variant(record: Record) -> Variant:
    data, event_id = record.data, record.event_id
    if record.channel == SYSMON:
        return "deletion" if data.get("EventType") in _DELETED else ""
    if record.channel == SECURITY:
        if event_id == security.VALUE_CHANGED:
            return "deletion" if security.is_value_deletion(data) else ""
        return "file" if security.is_file(data) else ""
    return ""


@lru_cache(DETECT_SOURCES_CACHED_MAX)
def _sources(channel: str, event_id: int, variant: Variant) -> tuple[str, ...]:
    if channel in LOG_SOURCES:
        return LOG_SOURCES[channel]
    if channel == SYSMON_LINUX:
        categories = SYSMON_CATEGORIES.get(event_id, ())
        return (*(f"linux/{one}" for one in categories), "linux//sysmon", "linux//")
    if channel != SYSMON:
        categories = _OTHER.get((channel, event_id, variant), ())
    elif event_id == _KEY_EVENT:
        kind = "registry_delete" if variant == "deletion" else "registry_add"
        categories = ("registry_event", kind)
    else:
        categories = SYSMON_CATEGORIES.get(event_id, ())
    services = CHANNEL_SERVICES.get(channel.lower(), ())
    named = tuple(f"windows//{one}" for one in services)
    return (*(f"windows/{one}" for one in categories), *named, "windows//")


_OTHER: Final[dict[tuple[str, int, Variant], tuple[str, ...]]] = {
    (SECURITY, 4656, "file"): ("file_access",),
    (SECURITY, 4657, ""): ("registry_event", "registry_set"),
    (SECURITY, 4657, "deletion"): ("registry_event", "registry_delete"),
    (SECURITY, 4663, "file"): ("file_access",),
    (SECURITY, 4688, ""): ("process_creation",),
    (SECURITY, 5156, ""): ("network_connection", "firewall"),
    (SECURITY, 5157, ""): ("firewall",),
    (POWERSHELL, 4103, ""): ("ps_module",),
    (POWERSHELL, 4104, ""): ("ps_script",),
    (POWERSHELL_CORE, 4103, ""): ("ps_module",),
    (POWERSHELL_CORE, 4104, ""): ("ps_script",),
    (POWERSHELL_CLASSIC, 400, ""): ("ps_classic_start",),
    (POWERSHELL_CLASSIC, 600, ""): ("ps_classic_provider_start",),
    (POWERSHELL_CLASSIC, 800, ""): ("ps_classic_script",),
    **{
        (DEFENDER, event_id, ""): ("antivirus",)
        for event_id in (*range(1006, 1013), 1015, 1017, 1018, 1019, *range(1115, 1120))
    },
}


def channels_of(sources: tuple[str, ...]) -> frozenset[str] | None:
    """Returns the channels, in lower case, whose records have one of these classes; None for any
    channel."""
    found: set[str] = set()
    for source in sources:
        if source == "windows//":
            return None
        if source.startswith("linux/"):
            found.add(SYSMON_LINUX.lower())
        found.update(channel for channel, classes in LOG_SOURCES.items() if source in classes)
        found.update(
            channel
            for channel, services in CHANNEL_SERVICES.items()
            if any(source == f"windows//{one}" for one in services)
        )
        if source.removeprefix("windows/") in _CATEGORIES:
            found.add(SYSMON.lower())
        for (channel, _, _), categories in _OTHER.items():
            if any(source == f"windows/{one}" for one in categories):
                found.add(channel.lower())
    return frozenset(found)


_CATEGORIES: Final = frozenset(
    {name for names in SYSMON_CATEGORIES.values() for name in names}
    | {"registry_add", "registry_delete"}
)


def is_plain(record: Record) -> bool:
    """Whether the event of a record has exactly the record's data and event id."""
    channel = record.channel
    if channel == SECURITY and record.event_id in security.RENAMED:
        return False
    return channel != DEFENDER and "EventID" not in record.data


def event_of_record(record: Record, process_id: str = "", known: Lookup = no_lookup) -> Event:
    """Converts a record to an event. `known` looks up process values that the record lacks."""
    data: Mapping[str, Any] = record.data
    if record.channel == SECURITY:
        renamed = security.RENAMED.get(record.event_id)
        if renamed is not None:
            data = {**data, **{name: read(data) for name, read in renamed.items()}}
    elif record.channel == DEFENDER:
        data = _without_spaces(data)

    def lookup(field: str) -> str:
        derive = _DERIVED.get(field)
        if derive is not None and (found := derive(record)):
            return found
        return known(_OF_SOURCE.get(field, field))

    event_id = record.event_id
    own = data.get("EventID")
    if own is not None and text_of(own) != str(event_id):
        event_id = 0  # a flat record with a different number of its own
    sources = sources_of_record(record)
    return Event(sources, data, record.time_us, process_id, lookup, event_id)


def _without_spaces(data: Mapping[str, Any]) -> dict[str, Any]:
    """Returns members of Defender events ("Threat Name") under the spellings in rules: without
    spaces and with underscores. Adds the two members that rules for any anti-malware product
    test."""
    found: dict[str, Any] = {}
    for name, value in data.items():
        found[name.replace(" ", "_")] = value
        found[name.replace(" ", "")] = value
    for name, own in (("Signature", "Threat Name"), ("Filename", "Path")):
        if own in data:
            found[name] = data[own]
    return found


def _positional(record: Record) -> str:
    """Returns unnamed values, joined. Rules call them Data; they are also the variable part of the
    rendered message."""
    data = record.data
    texts: list[str] = []
    while (name := f"param{len(texts) + 1}") in data:
        texts.append(text_of(data[name]))
    return " ".join(texts)


def _member(name: str) -> Callable[[Record], str]:
    return lambda record: text_of(record.data.get(name, ""))


def _hash(wanted: str) -> Callable[[Record], str]:
    """Returns a function that reads one hash from Sysmon's combined value."""

    def read(record: Record) -> str:
        written = text_of(record.data.get("Hashes") or record.data.get("Hash") or "")
        pairs = (one.partition("=") for one in written.split(","))
        return next((value for name, _, value in pairs if name.strip().lower() == wanted), "")

    return read


_TEXT_RECORD: Final = "type:  16 "


def _record_type(record: Record) -> str:
    """Returns the type of a DNS answer as far as Sysmon reports it: it names all types except
    addresses."""
    answers = text_of(record.data.get("QueryResults", ""))
    return "TXT" if _TEXT_RECORD in answers else ""


_CRASH: Final = 1000
_CRASH_VALUES: Final = (
    "AppName",
    "AppVersion",
    "AppTimeStamp",
    "ModuleName",
    "ModuleVersion",
    "ModuleTimeStamp",
    "ExceptionCode",
    "FaultingOffset",
)


def _crash(number: int) -> Callable[[Record], str]:
    """Returns a function that reads a value of Application 1000. Older Windows versions write these
    values without names."""
    name = f"param{number}"

    def read(record: Record) -> str:
        if record.event_id != _CRASH or record.channel != APPLICATION:
            return ""
        return text_of(record.data.get(name, ""))

    return read


_INTERFACE: Final = re.compile(r"\{?([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\}?")
_RPC_VALUES: Final = tuple(f"param{number}" for number in range(1, 17))


def _rpc_call(record: Record, offset: int) -> str:
    """Returns a value of an event of RPC Firewall, which writes them without names: the first that
    is a UUID is the interface (`offset` 0), the one after it the operation number (`offset` 1)."""
    if record.channel != RPC_FIREWALL:
        return ""
    for name, following in pairwise(_RPC_VALUES):
        found = _INTERFACE.fullmatch(text_of(record.data.get(name, "")))
        if found is not None:
            return text_of(record.data.get(following, "")) if offset else found[1]
    return ""


def _host(record: Record) -> str:
    return record.host


_DERIVED: Final[dict[str, Callable[[Record], str]]] = {
    "EventID": lambda record: str(record.event_id),
    "Channel": lambda record: record.channel,
    "EventLog": lambda record: record.channel,
    "InterfaceUuid": lambda record: _rpc_call(record, 0),
    "OpNum": lambda record: _rpc_call(record, 1),
    "Provider_Name": lambda record: record.provider,
    "Computer": _host,
    "ComputerName": _host,
    "Hostname": _host,
    "Level": lambda record: str(record.level),
    "Keywords": lambda record: record.keywords,
    "Data": _positional,
    "Message": _positional,
    "query": _member("QueryName"),
    "answer": _member("QueryResults"),
    "record_type": _record_type,
    **{name: _crash(number) for number, name in enumerate(_CRASH_VALUES, 1)},
    **{
        name: _hash(name.lower())
        for kind in ("md5", "sha1", "sha256", "imphash")
        for name in (kind, kind.upper(), kind.capitalize())
    },
}
"""Maps a field name in rules to a function that derives it from the record."""

MADE_FIELDS: Final = frozenset(_DERIVED).union(*security.RENAMED.values())
"""Fields whose values are not the text of a member of the record."""

_OF_SOURCE: Final = {
    "SourceCommandLine": "CommandLine",
    "SourceParentImage": "ParentImage",
    "SourceParentCommandLine": "ParentCommandLine",
}
"""Metadata of a process that acts on another, mapped to the usual names."""

LOOKED_UP: Final = frozenset(_DERIVED) | frozenset(_OF_SOURCE)
"""Fields that are provided here although the record lacks them."""
