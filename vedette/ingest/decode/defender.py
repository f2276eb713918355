"""Decoder of Microsoft Defender advanced hunting: the tables `DeviceProcessEvents`,
`DeviceFileEvents`, `DeviceNetworkEvents`, `DeviceRegistryEvents` and `DeviceImageLoadEvents`.

The streaming API wraps a row (`category`, `properties`); an exported query contains only rows.
`ActionType` decides the kind of an event. `InitiatingProcess...` is the acting process; for a
`ProcessCreated` it is the parent of the process that the row describes.
"""

from typing import Any

from vedette.ingest.decode.endpoint import (
    Kind,
    Part,
    System,
    hashes_text,
    make_process,
    make_record,
    record_id_of,
)
from vedette.ingest.decode.eventlog import integer, lower_host, text
from vedette.ingest.record import Record, RecordError, unknown_format
from vedette.ingest.times import any_time_us
from vedette.model.event import FileOperation, RegistryOperation

CHANNEL = "defender"

_CATEGORY = "AdvancedHunting-"
_ROW = frozenset({"DeviceName", "ActionType"})
_INITIATING = "InitiatingProcess"
_WITHOUT_HOST = "the row has no host"

_FILE_OPERATIONS: dict[str, int] = {
    "FileCreated": FileOperation.CREATED,
    "FileModified": FileOperation.FIRST_WRITE,
    "FileDeleted": FileOperation.DELETED,
    "FileRenamed": FileOperation.CREATED,
}
_KEY_OPERATIONS: dict[str, int] = {
    "RegistryValueSet": RegistryOperation.WRITTEN,
    "RegistryValueDeleted": RegistryOperation.DELETED_VALUE,
    "RegistryKeyCreated": RegistryOperation.CREATED_KEY,
    "RegistryKeyDeleted": RegistryOperation.DELETED_KEY,
    "RegistryKeyRenamed": RegistryOperation.CREATED_KEY,
}
_CONNECTIONS: dict[str, bool] = {
    "ConnectionSuccess": True,
    "ConnectionFailed": True,
    "ConnectionRequest": True,
    "InboundConnectionAccepted": False,
}
"""Actions about a connection, and whether this host initiated it."""


def recognises(obj: dict[str, Any]) -> bool:
    properties = obj.get("properties")
    if isinstance(properties, dict):
        category = obj.get("category")
        return isinstance(category, str) and category.startswith(_CATEGORY)
    return obj.keys() >= _ROW and ("Timestamp" in obj or "TimeGenerated" in obj)


def decode(obj: dict[str, Any]) -> list[Record]:
    """Raises RecordError: no_host, no_time, bad_time, bad_process."""
    properties = obj.get("properties")
    row = properties if isinstance(properties, dict) else obj
    host = lower_host(text(row.get("DeviceName")))
    if not host:
        raise RecordError("no_host", _WITHOUT_HOST)
    time = row.get("Timestamp") or row.get("TimeGenerated") or obj.get("time")
    kind, details = _kind(row)
    process, parent = _processes(row, kind)
    return [
        make_record(
            host,
            time,
            CHANNEL,
            _system(row),
            kind,
            process,
            parent=parent,
            record_id=_record_id(obj, row, time),
            **details,
        )
    ]


def container_records(obj: dict[str, Any]) -> list[Record]:
    """Decodes a container that is a single document of a request. Raises RecordError for the first
    record that cannot be decoded, with its position."""
    found: list[Record] = []
    for place, one in enumerate(obj["records"]):
        if not isinstance(one, dict) or not recognises(one):
            given = one if isinstance(one, dict) else {}
            raise unknown_format(given, f"records[{place}] is not a Defender row with")
        try:
            found += decode(one)
        except RecordError as error:
            raise RecordError(error.reason, f"records[{place}]: {error.message}") from error
    return found


def is_container(obj: dict[str, Any]) -> bool:
    """Whether an object is a container of rows, judged by its first record."""
    records = obj.get("records")
    if not isinstance(records, list) or not records:
        return False
    return isinstance(records[0], dict) and recognises(records[0])


def _record_id(obj: dict[str, Any], row: dict[str, Any], time: Any) -> int:
    """Returns a record id. `ReportId` repeats; it identifies a row only together with device and
    time."""
    report = text(row.get("ReportId"))
    table = text(obj.get("category")) or text(row.get("Type"))
    place = text(row.get("ActionType"))
    return record_id_of(report, text(time), table.removeprefix(_CATEGORY), place) if report else 0


def _system(row: dict[str, Any]) -> System:
    """Returns the operating system, derived from the form of paths: rows do not name it."""
    for name in (f"{_INITIATING}FolderPath", "FolderPath", "RegistryKey"):
        path = text(row.get(name))
        if path[1:3] == ":\\" or path.startswith(("\\", "HKEY_")):
            return "windows"
        if path.startswith("/"):
            return "osx" if path.startswith(("/System/", "/Applications/", "/Users/")) else "linux"
    return ""


def _kind(row: dict[str, Any]) -> tuple[Kind, Part]:
    action = text(row.get("ActionType"))
    if action == "ProcessCreated":
        return "start", {}
    if action in _FILE_OPERATIONS:
        return "file", {"file": _file(row, action)}
    if action in _KEY_OPERATIONS:
        return "registry", {"registry": _key(row, action)}
    if action == "ImageLoaded":
        return "module", {"module": {"path": _path(row, ""), "hashes": _hashes(row, "")}}
    if action in _CONNECTIONS and text(row.get("RemoteIP")):
        return "connection", {"connection": _connection(row, _CONNECTIONS[action])}
    return "", {"fields": {name: value for name, value in row.items() if value not in (None, "")}}


def _processes(row: dict[str, Any], kind: Kind) -> tuple[Part, Part]:
    """Returns the process of the event and its parent."""
    initiating = _process(row, _INITIATING, f"{_INITIATING}CommandLine")
    if kind == "start":
        started = _process(row, "", "ProcessCommandLine")
        version = {
            "original_name": text(row.get("ProcessVersionInfoOriginalFileName")),
            "description": text(row.get("ProcessVersionInfoFileDescription")),
            "product": text(row.get("ProcessVersionInfoProductName")),
            "company": text(row.get("ProcessVersionInfoCompanyName")),
            "file_version": text(row.get("ProcessVersionInfoProductVersion")),
        }
        return started | {name: value for name, value in version.items() if value}, initiating
    parent = make_process(
        row.get(f"{_INITIATING}ParentId"),
        row.get(f"{_INITIATING}ParentFileName"),
        start=row.get(f"{_INITIATING}ParentCreationTime"),
    )
    return initiating, parent


def _process(row: dict[str, Any], prefix: str, cmdline: str) -> Part:
    """Returns the process whose columns have this prefix."""
    pid = row.get(f"{prefix}Id") if prefix else row.get("ProcessId")
    created = row.get(f"{prefix}CreationTime") if prefix else row.get("ProcessCreationTime")
    integrity = row.get(f"{prefix or 'Process'}IntegrityLevel")
    logon = integer(row.get(f"{prefix}LogonId"))
    domain = text(row.get(f"{prefix}AccountDomain"))
    name = text(row.get(f"{prefix}AccountName"))
    return make_process(
        pid,
        _path(row, prefix),
        row.get(cmdline),
        start=created if any_time_us(created) else None,
        user=f"{domain}\\{name}" if domain and name else name,
        uid=text(row.get(f"{prefix}AccountSid")),
        hashes=_hashes(row, prefix),
        integrity=text(integrity).capitalize(),
        logon_id=f"0x{logon:x}" if logon > 0 else "",
    )


def _path(row: dict[str, Any], prefix: str) -> str:
    """Returns the path of a file. `FolderPath` usually includes the file name; some rows need it
    appended."""
    folder, name = text(row.get(f"{prefix}FolderPath")), text(row.get(f"{prefix}FileName"))
    if not folder or not name or folder.lower().endswith(name.lower()):
        return folder or name
    mark = "/" if folder.startswith("/") else "\\"
    return f"{folder.rstrip(mark)}{mark}{name}"


def _hashes(row: dict[str, Any], prefix: str) -> str:
    return hashes_text({name: row.get(prefix + name.upper()) for name in ("md5", "sha1", "sha256")})


def _file(row: dict[str, Any], action: str) -> Part:
    previous = {
        "FolderPath": row.get("PreviousFolderPath"),
        "FileName": row.get("PreviousFileName"),
    }
    return {
        "operation": int(_FILE_OPERATIONS[action]),
        "path": _path(row, ""),
        "old_path": _path(previous, "") if action == "FileRenamed" else "",
        "hashes": _hashes(row, ""),
    }


def _key(row: dict[str, Any], action: str) -> Part:
    is_deleted = action.endswith("Deleted")
    key = text(row.get("RegistryKey")) or text(row.get("PreviousRegistryKey") if is_deleted else "")
    name = text(row.get("RegistryValueName"))
    if is_deleted and not name:
        name = text(row.get("PreviousRegistryValueName"))
    has_value = action.startswith("RegistryValue") and name
    is_renamed = action == "RegistryKeyRenamed"
    return {
        "operation": int(_KEY_OPERATIONS[action]),
        "path": f"{key}\\{name}" if has_value else key,
        "old_path": text(row.get("PreviousRegistryKey")) if is_renamed else "",
        "value": text(row.get("RegistryValueData")),
    }


def _connection(row: dict[str, Any], outbound: bool) -> Part:
    local = (text(row.get("LocalIP")), integer(row.get("LocalPort")), "")
    remote = (text(row.get("RemoteIP")), integer(row.get("RemotePort")), _domain(row))
    source, destination = (local, remote) if outbound else (remote, local)
    return {
        "outbound": outbound,
        "protocol": _protocol(row),
        "source_ip": source[0],
        "source_port": source[1],
        "source_name": source[2],
        "destination_ip": destination[0],
        "destination_port": destination[1],
        "destination_name": destination[2],
    }


def _protocol(row: dict[str, Any]) -> str:
    """Returns the protocol in lower case. Rows write `Tcp`, `Udp`, `TcpV4` and so on."""
    return text(row.get("Protocol")).lower().removesuffix("v4").removesuffix("v6")


def _domain(row: dict[str, Any]) -> str:
    """Returns the host of `RemoteUrl`, which is a name or a URL."""
    url = text(row.get("RemoteUrl"))
    host = url.partition("://")[2] or url
    return host.partition("/")[0].partition(":")[0]
