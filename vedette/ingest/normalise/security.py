"""Normaliser of the Security and System channels.

These records identify processes by pid alone: the process that had the pid at that time. If Sysmon
reports the same host, it is Sysmon's process, and a start or end that both report is stored once
(docs/telemetry-events.md, 4688).
"""

from collections.abc import Callable
from itertools import islice
from typing import Any

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.context.process_state import ProcessState
from vedette.ingest.file_types import file_type_of
from vedette.ingest.normalise.network import netconn
from vedette.ingest.normalise.sysmon.lifetime import ended
from vedette.ingest.normalise.values import (
    access_mask,
    domain_sid,
    free_text,
    known_text,
    number,
    registry_path,
)
from vedette.ingest.paths import file_name
from vedette.ingest.record import Record
from vedette.limits import Limit
from vedette.model.address import pack_address
from vedette.model.event import (
    ChildKind,
    Childproc,
    CrossKind,
    Crossproc,
    Facts,
    Filemod,
    FileOperation,
    Outcome,
    RegistryOperation,
    Regmod,
)
from vedette.model.ids import unknown_parent_id
from vedette.model.metadata_rank import Rank

EVENT_MESSAGE_CHARS_MAX: Limit[int] = 1_024
"""Characters at the start of a Security event's message that are searched for its first value."""

NETBIOS_CHARS_MAX: Limit[int] = 15
"""Maximum characters of a NetBIOS name. A longer host name is truncated in the names of its
accounts."""


Data = dict[str, Any]
Learn = Callable[[Record, HostContext, int], None]
Make = Callable[[Record, HostContext, int], list[Outcome]]
"""Creates outcomes from a record and the event time (us). Returns [] if there is nothing to
model."""

_NOBODY = frozenset({"S-1-0-0", ""})
_NO_LOGON = frozenset({"", "0x0"})


def _user(data: Data, who: str) -> str:
    name, domain = known_text(data.get(f"{who}UserName")), known_text(data.get(f"{who}DomainName"))
    return f"{domain}\\{name}" if domain and name else name


def _actor(data: Data) -> str:
    """Returns the prefix of the account that the new process runs as: Target if named, else
    Subject."""
    sid = known_text(data.get("TargetUserSid"))
    return "Target" if sid not in _NOBODY or known_text(data.get("TargetUserName")) else "Subject"


def _pid(data: Data, name: str) -> int:
    return number(data.get(name))


def _learn_computer_sid(record: Record, ctx: HostContext, who: str) -> None:
    """Learns the SID of the host from one of its own accounts, whose domain is the name of the
    host. It is the account's SID without the last number."""
    domain = known_text(record.data.get(f"{who}DomainName")).lower()
    name = record.host.partition(".")[0]
    if domain and domain in (name, name[:NETBIOS_CHARS_MAX]):
        sid = domain_sid(known_text(record.data.get(f"{who}UserSid")))
        ctx.computer_sid = sid or ctx.computer_sid


# --- 4688, 4689: processes ---------------------------------------------------------------


def _learn_start(record: Record, ctx: HostContext, time_us: int) -> None:
    data = record.data
    actor = _actor(data)
    _learn_computer_sid(record, ctx, actor)
    pid = _pid(data, "NewProcessId")
    if not pid:
        return
    known = ctx.started(pid, time_us)
    path = known_text(data.get("NewProcessName"))
    ctx.learn_path(known, path, Rank.OTHER_CREATION)
    parent_pid, parent_path = _pid(data, "ProcessId"), known_text(data.get("ParentProcessName"))
    if parent_pid:
        ctx.mention(parent_pid, parent_path)
        known.learn_parent(parent_pid, parent_path)
    logon_id = known_text(data.get(f"{actor}LogonId")).lower()
    if logon_id not in _NO_LOGON:
        ctx.learn_logon_process(logon_id, known)


def _start(record: Record, ctx: HostContext, time_us: int) -> list[Outcome]:
    data = record.data
    pid = _pid(data, "NewProcessId")
    if not pid:
        return []
    known = ctx.started(pid, time_us)
    actor = _actor(data)
    path, cmdline = known_text(data.get("NewProcessName")), known_text(data.get("CommandLine"))
    values: dict[str, str | int | bytes] = {
        "path": path,
        "process_name": file_name(path),
        "process_pid": pid,
        "cmdline": cmdline,
        "username": _user(data, actor),
        "uid": known_text(data.get(f"{actor}UserSid")),
        "integrity_level": _INTEGRITY.get(known_text(data.get("MandatoryLabel")), ""),
        "logon_id": known_text(data.get(f"{actor}LogonId")).lower(),
        "logon_type": known.logon_type,
        "creation_observed": 1,
    }
    if not known.keyed:
        values["start"] = time_us
    parent = _parent(data, ctx, time_us)
    if parent is None:
        values["parent_id"] = unknown_parent_id(ctx.sensor_id)
    elif not known.parent_id:
        values["parent_id"] = parent.id
        values["parent_pid"] = parent.pid
        values["parent_path"] = known_text(data.get("ParentProcessName")) or parent.path
        values["parent_name"] = file_name(str(values["parent_path"]))
    out: list[Outcome] = [
        Facts(known.id, time_us, {k: v for k, v in values.items() if v}, Rank.OTHER_CREATION)
    ]
    if parent is not None:
        if not known.created:
            out.append(_child_start(known, parent, time_us, values))
        parent.report(out)
    known.report(out)
    return out


def _parent(data: Data, ctx: HostContext, time_us: int) -> ProcessState | None:
    pid = _pid(data, "ProcessId")
    return ctx.of_image(pid, time_us, known_text(data.get("ParentProcessName"))) if pid else None


def _child_start(
    known: ProcessState, parent: ProcessState, time_us: int, values: dict[str, str | int | bytes]
) -> Childproc:
    return Childproc(
        parent.id,
        time_us,
        1,
        ChildKind.OTHER,
        known.id,
        str(values["path"]),
        known.pid,
        command_line=str(values["cmdline"]),
        username=str(values["username"]),
    )


_INTEGRITY = {
    "S-1-16-0": "Untrusted",
    "S-1-16-4096": "Low",
    "S-1-16-8192": "Medium",
    "S-1-16-8448": "Medium Plus",
    "S-1-16-12288": "High",
    "S-1-16-16384": "System",
    "S-1-16-20480": "Protected",
}
"""Integrity levels by mandatory label, in Sysmon's spelling."""


def _learn_end(record: Record, ctx: HostContext, time_us: int) -> None:
    pid = _pid(record.data, "ProcessId")
    if pid:
        ctx.mention(pid, known_text(record.data.get("ProcessName")))
        ctx.learn_end(pid, time_us)


def _end(record: Record, ctx: HostContext, time_us: int) -> list[Outcome]:
    known = _by_pid(record.data, ctx, time_us)
    if known is None:
        return []
    status = number(record.data.get("Status"))
    if known.ended:  # Sysmon reported the end, but not the exit status
        out: list[Outcome] = [
            Facts(known.id, time_us, {"terminated": 1, "exit_status": str(status)})
        ]
        known.report(out)
        return out
    return ended(known, ctx, time_us, _pid(record.data, "ProcessId"), str(status))


def _by_pid(data: Data, ctx: HostContext, time_us: int) -> ProcessState | None:
    pid = _pid(data, "ProcessId")
    return ctx.of_image(pid, time_us, known_text(data.get("ProcessName"))) if pid else None


# --- 4656, 4657, 4663: objects ------------------------------------------------------------

_WRITE, _APPEND, _DELETE = 0x2, 0x4, 0x10000
_FILE_OPERATIONS = (
    (_WRITE | _APPEND, FileOperation.FIRST_WRITE),
    (_DELETE, FileOperation.DELETED),
)
_KEY_OPERATIONS = (
    (_WRITE, RegistryOperation.WRITTEN),
    (_APPEND, RegistryOperation.CREATED_KEY),
    (_DELETE, RegistryOperation.DELETED_KEY),
)
_VALUE_OPERATIONS = {
    "%%1904": RegistryOperation.WRITTEN,
    "%%1905": RegistryOperation.WRITTEN,
    "%%1906": RegistryOperation.DELETED_VALUE,
}


def _learn_by_pid(record: Record, ctx: HostContext, _time_us: int) -> None:
    data = record.data
    pid = _pid(data, "ProcessId")
    if pid:
        ctx.mention(pid, known_text(data.get("ProcessName")))


def _object_used(record: Record, ctx: HostContext, time_us: int) -> list[Outcome]:
    """Converts 4663. Accesses that change an object become events; reads are stored as records."""
    data = record.data
    known = _by_pid(data, ctx, time_us)
    if known is None:
        return []
    mask, name = access_mask(str(data.get("AccessMask") or "")), free_text(data.get("ObjectName"))
    out: list[Outcome] = []
    match data.get("ObjectType"):
        case "File":
            path = ctx.drive_path(name)
            out += [
                Filemod(known.id, time_us, operation, path, file_type=file_type_of(path))
                for bits, operation in _FILE_OPERATIONS
                if mask & bits
            ]
        case "Key":
            path = registry_path(name)
            out += [
                Regmod(known.id, time_us, operation, path)
                for bits, operation in _KEY_OPERATIONS
                if mask & bits
            ]
        case "Process":
            out.append(_process_opened(known, ctx, time_us, mask, name))
    if out:
        known.report(out)
    return out


def _handle_requested(record: Record, ctx: HostContext, time_us: int) -> list[Outcome]:
    """Converts 4656, only for opened processes. For files and keys, 4663 reports the actual use."""
    return _object_used(record, ctx, time_us) if record.data.get("ObjectType") == "Process" else []


def _process_opened(
    known: ProcessState, ctx: HostContext, time_us: int, mask: int, name: str
) -> Crossproc:
    path = ctx.drive_path(name)
    target = ctx.only_of_file(file_name(path).lower(), time_us)
    return Crossproc(
        known.id,
        time_us,
        CrossKind.PROCESS_OPEN,
        target.id if target and target.path.lower() == path.lower() else "",
        path,
        subtype=1,
        access=mask,
    )


def _value_changed(record: Record, ctx: HostContext, time_us: int) -> list[Outcome]:
    data = record.data
    known = _by_pid(data, ctx, time_us)
    operation = _VALUE_OPERATIONS.get(str(data.get("OperationType")), RegistryOperation.WRITTEN)
    if known is None:
        return []
    name = known_text(data.get("ObjectValueName"))
    path = registry_path(free_text(data.get("ObjectName")))
    value = free_text(data.get("NewValue"))
    out: list[Outcome] = [
        Regmod(known.id, time_us, operation, f"{path}\\{name}" if name else path, value)
    ]
    known.report(out)
    return out


# --- 5156: connections --------------------------------------------------------------------

_OUTBOUND = frozenset({"%%14593", "Outbound", "Ausgehend"})
_MEMBERS = (
    "ProcessID",
    "Application",
    "Direction",
    "SourceAddress",
    "SourcePort",
    "DestAddress",
    "DestPort",
    "Protocol",
)
"""Members of a 5156 in the order of its message, which is the same in every language."""


def _connected_pid(data: Data) -> int:
    """Returns the process id of a 5156. NXLog of 2019 overwrites it with the logger's pid; then it
    is read from the message."""
    pid = _pid(data, "ProcessID") or _pid(data, "ProcessId")
    if pid:
        return pid
    value = next(iter(_values_of(data.get("Message"))), "")
    return number(value) if value.isdecimal() and value.isascii() else 0


def _values_of(message: Any) -> list[str]:
    """Returns the values in the message of an event: the texts after the names on its indented
    lines."""
    if not isinstance(message, str):
        return []
    lines = message[:EVENT_MESSAGE_CHARS_MAX].split("\n")
    details = (line for line in lines if line[:1] in {"\t", " "} and ":" in line)
    return [line.partition(":")[2].strip() for line in islice(details, len(_MEMBERS))]


def _connection(data: Data) -> Data:
    """Returns the members of a 5156, read from its message if there are no event data."""
    if data.get("SourceAddress") or "Message" not in data:
        return data
    return data | dict(zip(_MEMBERS, _values_of(data["Message"]), strict=False))


def _learn_connection(record: Record, ctx: HostContext, _time_us: int) -> None:
    data = _connection(record.data)
    pid = _connected_pid(data)
    application = known_text(data.get("Application"))
    if pid:
        ctx.mention(pid, application)
    ctx.learn_device_path(application)
    if str(data.get("Direction")) in _OUTBOUND:
        ctx.learn_local(pack_address(free_text(data.get("SourceAddress"))))


def _connected(record: Record, ctx: HostContext, time_us: int) -> list[Outcome]:
    data = _connection(record.data)
    pid = _connected_pid(data)
    if not pid:
        return []
    application = known_text(data.get("Application"))
    known = ctx.of_image(pid, time_us, application)
    event = netconn(
        ctx,
        known.id,
        time_us,
        str(data.get("Direction")) in _OUTBOUND,
        number(data.get("Protocol"), 256),
        (pack_address(free_text(data.get("SourceAddress"))), _port(data, "SourcePort")),
        (pack_address(free_text(data.get("DestAddress"))), _port(data, "DestPort")),
    )
    out: list[Outcome] = [event]
    known.report(out)
    return out


def _port(data: Data, name: str) -> int:
    return number(data.get(name), 65_536)


# --- 4624, 4697, 7045: logons and services ------------------------------------------------


def _learn_logon(record: Record, ctx: HostContext, _time_us: int) -> None:
    _learn_computer_sid(record, ctx, "Target")
    logon_id = known_text(record.data.get("TargetLogonId")).lower()
    logon_type = number(record.data.get("LogonType"), 256)
    if logon_id not in _NO_LOGON and logon_type:
        ctx.learn_logon(logon_id, logon_type)


def _logged_on(record: Record, ctx: HostContext, _time_us: int) -> list[Outcome]:
    """Returns metadata that a logon adds to processes. The record itself is stored too."""
    out: list[Outcome] = []
    for known in ctx.logon_processes(known_text(record.data.get("TargetLogonId")).lower()):
        known.report(out)
    return out


_SERVICES_PATH = r"C:\Windows\System32\services.exe"
_SERVICES_KEY = r"\registry\machine\system\currentcontrolset\services"


def _learn_service(record: Record, ctx: HostContext, _time_us: int) -> None:
    ctx.mention(_services_pid(record), _SERVICES_PATH)


def _services_pid(record: Record) -> int:
    # The Service Control Manager itself logs 7045, but not 4697.
    return record.pid if record.event_id == 7045 else 0


def _service_installed(record: Record, ctx: HostContext, time_us: int) -> list[Outcome]:
    """Converts a service install to a registry write of services.exe to the service's key. The
    record itself is stored too."""
    data = record.data
    name = known_text(data.get("ServiceName"))
    if not name:
        return []
    known = ctx.latest_of_file("services.exe") or ctx.mention(_services_pid(record), _SERVICES_PATH)
    command = free_text(data.get("ServiceFileName") or data.get("ImagePath"))
    path = f"{_SERVICES_KEY}\\{name}\\ImagePath"
    out: list[Outcome] = [Regmod(known.id, time_us, RegistryOperation.WRITTEN, path, command)]
    known.report(out)
    return out


LEARN: dict[int, Learn] = {
    4624: _learn_logon,
    4656: _learn_by_pid,
    4657: _learn_by_pid,
    4663: _learn_by_pid,
    4688: _learn_start,
    4689: _learn_end,
    4697: _learn_service,
    5156: _learn_connection,
}
MAKE: dict[int, Make] = {
    4624: _logged_on,
    4656: _handle_requested,
    4657: _value_changed,
    4663: _object_used,
    4688: _start,
    4689: _end,
    4697: _service_installed,
    5156: _connected,
}
SYSTEM_LEARN: dict[int, Learn] = {7045: _learn_service}
SYSTEM_MAKE: dict[int, Make] = {7045: _service_installed}

ALSO_KEPT = frozenset({4624, 4697, 7045})
"""Event ids stored both as records and as process events."""
