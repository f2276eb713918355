"""Windows Security events under Sysmon's field names.

4688 corresponds to Sysmon 1, 5156 to Sysmon 3, 4657 to Sysmon 12 and 13. 4656 and 4663 for files
are file accesses; 5156 and 5157 are connections that a firewall allowed or blocked. The events'
original field names remain available.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from vedette.detect.views.event import text_of

Data = Mapping[str, Any]
Read = Callable[[Data], str]

FILE_ACCESS_IDS: Final = frozenset({4656, 4663})
VALUE_CHANGED: Final = 4657
_VALUE_DELETED: Final = "%%1906"


def is_file(data: Data) -> bool:
    """Whether an event about an object is about a file."""
    return text_of(data.get("ObjectType", "")).lower() == "file"


def is_value_deletion(data: Data) -> bool:
    """Whether a 4657 event reports the deletion of a value."""
    return data.get("OperationType") == _VALUE_DELETED


def _user(data: Data) -> str:
    for who in ("Target", "Subject"):
        name = text_of(data.get(f"{who}UserName", ""))
        if name not in ("", "-"):
            domain = text_of(data.get(f"{who}DomainName", ""))
            return f"{domain}\\{name}" if domain not in ("", "-") else name
    return ""


def _pid(name: str) -> Read:
    def read(data: Data) -> str:
        text = text_of(data.get(name, ""))
        try:
            return str(int(text, 16 if text[:2].lower() == "0x" else 10)) if text else ""
        except ValueError:
            return text

    return read


def _as(name: str) -> Read:
    return lambda data: text_of(data.get(name, ""))


_NO_LOGON: Final = frozenset({"", "-", "0", "0x0"})


def _logon(data: Data) -> str:
    """Returns the logon session of the new process: the target's if the event names it, else the
    creator's."""
    target = text_of(data.get("TargetLogonId", ""))
    return text_of(data.get("SubjectLogonId", "")) if target.lower() in _NO_LOGON else target


_LABELS: Final = {
    "S-1-16-4096": "Low",
    "S-1-16-8192": "Medium",
    "S-1-16-12288": "High",
    "S-1-16-16384": "System",
}
_INBOUND: Final = "%%14592"

_HIVES: Final = (
    ("\\registry\\machine\\", "HKLM\\"),
    ("\\registry\\user\\", "HKU\\"),
)
_CONTROL_SET: Final = "HKLM\\system\\controlset001\\"
_CURRENT_SET: Final = "HKLM\\System\\CurrentControlSet\\"


def _key(data: Data) -> str:
    """Returns a registry value as Sysmon names it: hive abbreviated, current control set by its
    name."""
    path = text_of(data.get("ObjectName", ""))
    for begin, hive in _HIVES:
        if path[: len(begin)].lower() == begin:
            path = hive + path[len(begin) :]
            break
    if path[: len(_CONTROL_SET)].lower() == _CONTROL_SET.lower():
        path = _CURRENT_SET + path[len(_CONTROL_SET) :]
    value = text_of(data.get("ObjectValueName", ""))
    return f"{path}\\{value}" if value not in ("", "-") else path


_BINARY, _DWORD, _QWORD = "%%1875", "%%1876", "%%1883"


def _details(data: Data) -> str:
    """Returns the new value as Sysmon writes it."""
    value = text_of(data.get("NewValue", ""))
    kind = data.get("NewValueType")
    if kind == _BINARY:
        return "Binary Data"
    if kind not in (_DWORD, _QWORD):
        return value
    try:
        number = int(value, 16 if value[:2].lower() == "0x" else 10)
    except ValueError:
        return value
    if kind == _DWORD:
        return f"DWORD (0x{number & 0xFFFFFFFF:08x})"
    return f"QWORD (0x{number >> 32 & 0xFFFFFFFF:08x}-0x{number & 0xFFFFFFFF:08x})"


def _connection(action: str) -> dict[str, Read]:
    return {
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
        # Names that firewall rules use.
        "src_ip": _as("SourceAddress"),
        "src_port": _as("SourcePort"),
        "dst_ip": _as("DestAddress"),
        "dst_port": _as("DestPort"),
        "action": lambda _data: action,
        "blocked": lambda _data: "false" if action == "accept" else "true",
    }


_FILE_ACCESS: Final[dict[str, Read]] = {
    "Image": _as("ProcessName"),
    "FileName": _as("ObjectName"),
    "TargetFilename": _as("ObjectName"),
    "ProcessId": _pid("ProcessId"),
    "User": _user,
}

RENAMED: Final[dict[int, dict[str, Read]]] = {
    4656: _FILE_ACCESS,
    4657: {
        "Image": _as("ProcessName"),
        "ProcessId": _pid("ProcessId"),
        "TargetObject": _key,
        "Details": _details,
        "EventType": lambda data: "DeleteValue" if is_value_deletion(data) else "SetValue",
        "User": _user,
    },
    4663: _FILE_ACCESS,
    4688: {
        "Image": _as("NewProcessName"),
        "CommandLine": _as("CommandLine"),
        "ParentImage": _as("ParentProcessName"),
        "ProcessId": _pid("NewProcessId"),
        "ParentProcessId": _pid("ProcessId"),
        "User": _user,
        "IntegrityLevel": lambda data: _LABELS.get(text_of(data.get("MandatoryLabel", "")), ""),
        "LogonId": _logon,
    },
    5156: _connection("accept"),
    5157: _connection("deny"),
}
"""Maps event id to {name in rules: function that reads the value}."""
