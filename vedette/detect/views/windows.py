"""Events of the Windows event log and of Sysmon for Linux, under the names that rules use.

Rules name fields as Sysmon does, and so do records, whoever shipped them; so an event is its
record's own data. What other channels call otherwise is renamed here, what the record lacks of its
process is looked up.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from vedette.detect.views.event import Event, Lookup, no_lookup, text_of
from vedette.detect.views.sources import CHANNEL_SERVICES, SYSMON_CATEGORIES
from vedette.ingest.channels import POWERSHELL, POWERSHELL_CORE, SECURITY, SYSMON, SYSMON_LINUX
from vedette.ingest.record import Record

_DEFENDER: Final = "Microsoft-Windows-Windows Defender/Operational"
_KEY_EVENT: Final = 12
_DELETED: Final = ("DeleteKey", "DeleteValue")


def sources_of_record(record: Record) -> tuple[str, ...]:
    """The classes of an event-log record."""
    event_id = record.event_id
    is_deletion = event_id == _KEY_EVENT and record.data.get("EventType") in _DELETED
    return _sources(record.channel, event_id, is_deletion)


@lru_cache(4_096)
def _sources(channel: str, event_id: int, is_deletion: bool) -> tuple[str, ...]:
    if channel == SYSMON_LINUX:
        categories = SYSMON_CATEGORIES.get(event_id, ())
        return (*(f"linux/{one}" for one in categories), "linux//sysmon", "linux//")
    if channel != SYSMON:
        categories = _OTHER.get((channel, event_id), ())
    elif event_id == _KEY_EVENT:
        categories = ("registry_event", "registry_delete" if is_deletion else "registry_add")
    else:
        categories = SYSMON_CATEGORIES.get(event_id, ())
    services = CHANNEL_SERVICES.get(channel.lower(), ())
    named = tuple(f"windows//{one}" for one in services)
    return (*(f"windows/{one}" for one in categories), *named, "windows//")


_OTHER: Final[dict[tuple[str, int], tuple[str, ...]]] = {
    (SECURITY, 4688): ("process_creation",),
    (SECURITY, 5156): ("network_connection",),
    (POWERSHELL, 4103): ("ps_module",),
    (POWERSHELL, 4104): ("ps_script",),
    (POWERSHELL_CORE, 4103): ("ps_module",),
    (POWERSHELL_CORE, 4104): ("ps_script",),
    ("Windows PowerShell", 400): ("ps_classic_start",),
    ("Windows PowerShell", 600): ("ps_classic_provider_start",),
}


def _user(data: Mapping[str, Any]) -> str:
    for who in ("Target", "Subject"):
        name = text_of(data.get(f"{who}UserName", ""))
        if name not in ("", "-"):
            domain = text_of(data.get(f"{who}DomainName", ""))
            return f"{domain}\\{name}" if domain not in ("", "-") else name
    return ""


def _pid(name: str) -> Callable[[Mapping[str, Any]], str]:
    def read(data: Mapping[str, Any]) -> str:
        text = text_of(data.get(name, ""))
        try:
            return str(int(text, 16 if text[:2].lower() == "0x" else 10)) if text else ""
        except ValueError:
            return text

    return read


def _as(name: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda data: text_of(data.get(name, ""))


_LABELS: Final = {
    "S-1-16-4096": "Low",
    "S-1-16-8192": "Medium",
    "S-1-16-12288": "High",
    "S-1-16-16384": "System",
}
_INBOUND: Final = "%%14592"

_RENAMED: Final[dict[int, dict[str, Callable[[Mapping[str, Any]], str]]]] = {
    4688: {
        "Image": _as("NewProcessName"),
        "CommandLine": _as("CommandLine"),
        "ParentImage": _as("ParentProcessName"),
        "ProcessId": _pid("NewProcessId"),
        "ParentProcessId": _pid("ProcessId"),
        "User": _user,
        "IntegrityLevel": lambda data: _LABELS.get(text_of(data.get("MandatoryLabel", "")), ""),
        "LogonId": _as("TargetLogonId"),
    },
    5156: {
        "Image": _as("Application"),
        "ProcessId": _pid("ProcessID"),
        "Initiated": lambda data: (
            "false" if text_of(data.get("Direction", "")) == _INBOUND else "true"
        ),
        "SourceIp": _as("SourceAddress"),
        "SourcePort": _as("SourcePort"),
        "DestinationIp": _as("DestAddress"),
        "DestinationPort": _as("DestPort"),
        "Protocol": _as("Protocol"),
    },
}
"""Values of Security events under Sysmon's names, by event id."""


def event_of_record(record: Record, process_id: str = "", known: Lookup = no_lookup) -> Event:
    """A record as an event. `known` answers for what the record lacks of its process."""
    data: Mapping[str, Any] = record.data
    renamed = _RENAMED.get(record.event_id) if record.channel == SECURITY else None
    if renamed is not None:
        data = {**data, **{name: read(data) for name, read in renamed.items()}}
    elif record.channel == _DEFENDER:
        # "Source Name" and the like; rules leave out the spaces.
        data = {name.replace(" ", ""): value for name, value in data.items()}

    def lookup(field: str) -> str:
        match field:
            case "EventID":
                return str(record.event_id)
            case "Channel":
                return record.channel
            case "Provider_Name":
                return record.provider
            case "Computer" | "ComputerName" | "Hostname":
                return record.host
        return known(field)

    return Event(sources_of_record(record), data, record.time_us, process_id, lookup)
