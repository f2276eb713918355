r"""Rebuilds events from the stored data of a process, under the names that rules use, to evaluate
rules on past telemetry.

Values that the record had and the store lacks are missing (`not_stored` returns such fields by
class). Registry paths are kernel paths with the hive as Sysmon writes it, so a class in `HKCR`
appears in `HKLM\Software\Classes`. Events of senders other than Sysmon are shown as Sysmon would
report them.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from vedette.detect.process_fields import FIELDS, process_lookup
from vedette.detect.views.event import Event, Lookup, text_of
from vedette.detect.views.registry import key_data
from vedette.detect.views.sources import SYSMON_CATEGORIES
from vedette.detect.views.unix import connection_data, event_data
from vedette.model.columns import EVENT_KINDS
from vedette.model.event import (
    CrossKind,
    Crossproc,
    Dnsquery,
    Filemod,
    FileOperation,
    Modload,
    Netconn,
    Pipe,
    PipeOperation,
    ProcessEvent,
    Regmod,
    Scriptblock,
)

METADATA: Final = (
    "process_id",
    "sensor_id",
    "hostname",
    "os_type",
    "start",
    "creation_observed",
    "path",
    "cmdline",
    "username",
    "current_directory",
    "integrity_level",
    "logon_id",
    "process_pid",
    "process_guid",
    "process_md5",
    "process_sha256",
    "process_sha1",
    "original_filename",
    "parent_id",
    "parent_path",
    "parent_cmdline",
    "parent_username",
    "parent_pid",
)
"""Columns of a segment that every view needs."""

Row = Mapping[str, Any]
"""A segment: `METADATA`, and all columns of the requested event kinds."""

Versions = Callable[[str], Mapping[str, Any]]
"""Returns the facts of a file by its MD5: columns of `model.columns.BINARY`."""

_KINDS: Final = {kind.name: kind for kind in EVENT_KINDS}
_PRODUCTS: Final = {"windows": "windows", "osx": "macos", "linux": "linux", "": "linux"}

_CREATION: Final = {
    **{"Image": "path", "CommandLine": "cmdline", "User": "username"},
    **{"CurrentDirectory": "current_directory", "IntegrityLevel": "integrity_level"},
    **{"LogonId": "logon_id", "ProcessId": "process_pid", "ProcessGuid": "process_guid"},
    **{"ParentImage": "parent_path", "ParentCommandLine": "parent_cmdline"},
    **{"ParentUser": "parent_username", "ParentProcessId": "parent_pid"},
    **{"OriginalFileName": "original_filename", "md5": "process_md5"},
    **{"sha256": "process_sha256", "sha1": "process_sha1"},
}
_VERSION: Final = {
    **{"Description": "file_desc", "Product": "product_name", "Company": "company_name"},
    **{"FileVersion": "file_version", "imphash": "imphash"},
    "OriginalFileName": "original_filename",
}
VERSION_FIELDS: Final = frozenset(_VERSION)
"""Fields of a file that are stored by hash."""

_SIGNATURES: Final = {"Signed": "Valid", "Expired": "Expired", "Explicit Distrust": "Revoked"}
_CREATED_PIPE, _CONNECTED_PIPE = 17, 18
_SYSMON: Final = "windows//sysmon"

_HASHES: Final = ("md5", "sha256", "sha1", "Hashes")
_FIELDS_OF: Final[dict[str, tuple[str, ...]]] = {
    "filemod": ("TargetFilename", *_HASHES),
    "modload": ("ImageLoaded", "Signed", "SignatureStatus", "Signature", *_HASHES, *_VERSION),
    "regmod": ("TargetObject", "EventType", "Details"),
    "netconn": (
        "Initiated",
        "Protocol",
        "SourceIp",
        "SourcePort",
        "DestinationIp",
        "DestinationPort",
        "DestinationHostname",
    ),
    "crossproc": ("SourceImage", "TargetImage", "GrantedAccess", "StartModule", "StartFunction"),
    "dnsquery": ("QueryName", "QueryResults", "QueryStatus", "query", "answer"),
    "pipe": ("PipeName", "EventType"),
    "scriptblock": ("ScriptBlockText", "ScriptBlockId", "Path", "MessageNumber", "MessageTotal"),
    "": (*_CREATION, "Hashes", *_VERSION),
}
_OF_OTHERS: Final = frozenset(
    (
        "GrandParentImage",
        "GrandParentCommandLine",
        "TargetCommandLine",
        "TargetParentImage",
        "TargetParentProcessId",
    )
)
_ALWAYS: Final = (FIELDS - _OF_OTHERS) | {"EventID"}

_KIND_OF: Final = {
    "process_creation": "",
    **dict.fromkeys(("file_event", "file_delete"), "filemod"),
    **dict.fromkeys(("image_load", "driver_load"), "modload"),
    **dict.fromkeys(
        ("registry_event", "registry_add", "registry_set", "registry_delete"), "regmod"
    ),
    "network_connection": "netconn",
    **dict.fromkeys(("process_access", "create_remote_thread"), "crossproc"),
    "dns_query": "dnsquery",
    "pipe_created": "pipe",
    "ps_script": "scriptblock",
}
"""Maps a category to the event kind that stores it; "" for metadata of the process."""


def kinds_of(sources: tuple[str, ...]) -> frozenset[str]:
    """Returns the kinds of stored events that log sources cover; "" is the process start."""
    found: set[str] = set()
    for source in sources:
        product, _, rest = source.partition("/")
        if rest in ("/", "/sysmon"):
            return frozenset(_FIELDS_OF) if product == "windows" or rest == "/" else frozenset()
        if rest == "/powershell":
            found.add("scriptblock")
        elif rest in _KIND_OF:
            found.add(_KIND_OF[rest])
    return frozenset(found)


def kind_of_category(name: str) -> str | None:
    """Returns the kind of stored events of a rule category, "" for the process start; None if it is
    not a category or is not stored as events."""
    return _KIND_OF.get(name)


def not_stored(sources: tuple[str, ...], fields: frozenset[str]) -> frozenset[str]:
    """Returns the fields that no stored event of these sources has. Kept records have all
    fields."""
    kinds = kinds_of(sources)
    if not kinds:
        return fields if sources == ("linux//auditd",) else frozenset()
    known = _ALWAYS.union(*(_FIELDS_OF[kind] for kind in kinds))
    return fields - known


def columns_of(kinds: frozenset[str]) -> tuple[str, ...]:
    """Returns the columns of segments that views of these kinds need."""
    events = (column.name for kind in sorted(kinds - {""}) for column in _KINDS[kind].columns)
    return (*METADATA, *events)


def events_of_segment(
    row: Row, kinds: frozenset[str], versions: Versions, *, with_start: bool
) -> Iterator[Event]:
    """Yields the events of a segment. `with_start`: include the process start."""
    process_id = row["process_id"]
    product = _PRODUCTS.get(row["os_type"], "")

    def facts(wanted: str) -> Row:
        return row if wanted == process_id else {}

    known = process_lookup(lambda: process_id, facts, is_creation=False)
    if with_start and "" in kinds and row["creation_observed"]:
        made: Made = ("process_creation",), 1, _creation(row, versions)
        yield _event(product, made, row["start"], process_id, known)
    for event in _stored(row, kinds):
        shown = _windows(event, row, versions) if product == "windows" else _other(event)
        if shown is not None:
            yield _event(product, shown, event.time_us, process_id, known)


def _event(product: str, made: "Made", time_us: int, process_id: str, known: Lookup) -> Event:
    categories, event_id, data = made
    sources = _sources(product, categories)
    if product != "windows":
        return Event(sources, data, time_us, process_id, known)
    data["EventID"] = str(event_id)
    return Event(sources, data, time_us, process_id, known, event_id)


def _sources(product: str, categories: tuple[str, ...]) -> tuple[str, ...]:
    named = tuple(f"{product}/{one}" for one in categories)
    if product != "windows":
        return (*named, f"{product}//")
    if categories == ("ps_script",):
        return (*named, "windows//powershell", "windows//")
    return (*named, _SYSMON, "windows//")


def _stored(row: Row, kinds: frozenset[str]) -> Iterator[ProcessEvent]:
    """Yields the events of a segment as values."""
    for name in sorted(kinds - {""}):
        kind = _KINDS[name]
        arrays = (row[column.name] for column in kind.columns)
        for values in zip(*arrays, strict=True):
            yield kind.struct(row["process_id"], *values)


def _creation(row: Row, versions: Versions) -> dict[str, Any]:
    data = {name: row[column] for name, column in _CREATION.items()}
    found = versions(row["process_md5"])
    data |= {name: found.get(column, "") for name, column in _VERSION.items() if not data.get(name)}
    return _known(data | {"Hashes": _hashes(data)})


def _known(data: dict[str, Any]) -> dict[str, Any]:
    """Drops empty values: rules distinguish a missing field from an empty field."""
    return {name: value for name, value in data.items() if value not in ("", 0, None)}


def _hashes(data: Mapping[str, Any]) -> str:
    """Returns hashes in Sysmon's notation."""
    named = (("MD5", "md5"), ("SHA256", "sha256"), ("SHA1", "sha1"), ("IMPHASH", "imphash"))
    return ",".join(f"{name}={text_of(data[key]).upper()}" for name, key in named if data.get(key))


Made = tuple[tuple[str, ...], int, dict[str, Any]]
"""Categories, Sysmon event id, values."""


def _other(event: ProcessEvent) -> Made | None:
    """Converts events of Linux and macOS as ingest shows them."""
    made = event_data(event)
    return None if made is None else ((made[0],), 0, dict(made[2]))


def _windows(event: ProcessEvent, row: Row, versions: Versions) -> Made | None:
    match event:
        case Filemod():
            return _file(event)
        case Modload():
            return _module(event, versions)
        case Regmod():
            return key_data(event)
        case Netconn():
            return ("network_connection",), 3, _known(dict(connection_data(event)))
        case Crossproc():
            return _access(event, row)
        case Dnsquery(name=name, answers=answers, status=status):
            data = {"QueryName": name, "QueryResults": answers, "query": name, "answer": answers}
            return ("dns_query",), 22, _known(data) | {"QueryStatus": str(status)}
        case Pipe(name=name, operation=operation):
            created = operation == PipeOperation.CREATED
            kind = "CreatePipe" if created else "ConnectPipe"
            number = _CREATED_PIPE if created else _CONNECTED_PIPE
            return SYSMON_CATEGORIES[number], number, {"PipeName": name, "EventType": kind}
        case Scriptblock():
            return ("ps_script",), 4104, _block(event)
    return None


def _file(event: Filemod) -> Made:
    data: dict[str, Any] = {"TargetFilename": event.path, "md5": event.md5}
    data |= {"sha256": event.sha256, "sha1": event.sha1}
    data = _known(data | {"Hashes": _hashes(data)})
    if event.operation == FileOperation.DELETED:
        return ("file_delete",), 23, data
    return ("file_event",), 11, data


def _module(event: Modload, versions: Versions) -> Made:
    data: dict[str, Any] = {"ImageLoaded": event.path, "Signature": event.digsig_publisher}
    data |= {"md5": event.md5, "sha256": event.sha256, "sha1": event.sha1}
    found = versions(event.md5)
    data |= {name: found.get(column, "") for name, column in _VERSION.items()}
    if event.digsig_result:
        data["Signed"] = "false" if event.digsig_result == "Unsigned" else "true"
        data["SignatureStatus"] = _SIGNATURES.get(event.digsig_result, "Unavailable")
    is_driver = event.path.lower().endswith(".sys")
    kind, number = ("driver_load", 6) if is_driver else ("image_load", 7)
    return (kind,), number, _known(data | {"Hashes": _hashes(data)})


def _access(event: Crossproc, row: Row) -> Made | None:
    """Converts a cross-process event, seen from the acting process; None for the target's copy."""
    if event.is_target:
        return None
    data = {"SourceImage": row["path"], "TargetImage": event.path}
    if event.kind == CrossKind.REMOTE_THREAD:
        data |= {"StartModule": event.start_module, "StartFunction": event.start_function}
        return ("create_remote_thread",), 8, _known(data)
    return ("process_access",), 10, _known(data | {"GrantedAccess": hex(event.access)})


def _block(event: Scriptblock) -> dict[str, Any]:
    data = {"ScriptBlockText": event.text, "ScriptBlockId": event.block_id, "Path": event.path}
    return _known(data | {"MessageNumber": event.part, "MessageTotal": event.parts})
