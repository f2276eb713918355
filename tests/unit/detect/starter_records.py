"""Records as senders write them, to try the rules of the starter pack on."""

from typing import Any

Sent = dict[str, Any]

SYSTEM32 = "C:\\Windows\\System32\\"
_GUID = "{d68bf9c4-2f5e-5f67-0c01-000000000a00}"
_AT = "2024-01-02T03:04:05.900Z"


def log(channel: str, event_id: int, provider: str = "", **data: Any) -> Sent:
    """A record of a Windows event log, as Winlogbeat sends it."""
    return {
        "@timestamp": _AT,
        "winlog": {
            "channel": channel,
            "computer_name": "ws1",
            "event_id": str(event_id),
            "record_id": 77,
            "provider_name": provider or channel,
            "event_data": data,
        },
    }


def security(event_id: int, **data: Any) -> Sent:
    return log("Security", event_id, "Microsoft-Windows-Security-Auditing", **data)


def service(name: str, path: str) -> Sent:
    """System 7045."""
    return log(
        "System", 7045, "Service Control Manager", ServiceName=name, ImagePath=path, StartType="3"
    )


def sysmon(event_id: int, **data: Any) -> Sent:
    times = {"RuleName": "-", "UtcTime": "2024-01-02 03:04:05.678"}
    provider = "Microsoft-Windows-Sysmon"
    return log(f"{provider}/Operational", event_id, provider, **times, **data)


def ran(image: str, line: str, parent: str = "C:\\Windows\\explorer.exe", **more: Any) -> Sent:
    """A process starts on Windows; a name without a folder lies in System32."""
    return sysmon(
        1,
        ProcessGuid=_GUID,
        ProcessId="4312",
        Image=_whole(image),
        CommandLine=line,
        User="CORP\\ann",
        ParentImage=_whole(parent),
        **more,
    )


def of(event_id: int, image: str, **data: Any) -> Sent:
    """Another event of a Windows process."""
    return sysmon(event_id, ProcessGuid=_GUID, ProcessId="4312", Image=_whole(image), **data)


def opened(source: str, mask: str, target: str = "lsass.exe") -> Sent:
    """A process opens another."""
    return sysmon(
        10,
        SourceProcessGUID=_GUID,
        SourceProcessId="4312",
        SourceImage=_whole(source),
        TargetProcessGUID=_GUID.replace("0c01", "0c02"),
        TargetProcessId="712",
        TargetImage=_whole(target),
        GrantedAccess=mask,
        CallTrace="C:\\Windows\\SYSTEM32\\ntdll.dll+9d4c4",
    )


def block(text: str) -> Sent:
    """A PowerShell script block."""
    channel = "Microsoft-Windows-PowerShell/Operational"
    return log(channel, 4104, ScriptBlockText=text, ScriptBlockId="b-1")


def _whole(image: str) -> str:
    return image if "\\" in image else SYSTEM32 + image


def _call(number: int, name: str, exe: str, parent: str, **more: Any) -> Sent:
    return {
        "ID": "1700000000.123:7",
        "NODE": "srv1",
        "SYSCALL": {
            "arch": "0xc000003e",
            "syscall": number,
            "success": "yes",
            "exit": 0,
            "ppid": 4,
            "PPID": {"EVENT_ID": "1699999999.123:3", "comm": "p", "exe": parent},
            "pid": 7,
            "uid": 33,
            "UID": "www-data",
            "comm": exe.rpartition("/")[2],
            "exe": exe,
            "SYSCALL": name,
        },
        **more,
    }


def executed(exe: str, line: str, parent: str = "/usr/bin/bash") -> Sent:
    """A process starts on Linux, as laurel writes it."""
    words = line.split(" ")
    return _call(
        59,
        "execve",
        exe,
        parent,
        EXECVE={"argc": len(words), "ARGV": words},
        CWD={"cwd": "/"},
        PATH=[{"item": 0, "name": exe, "nametype": "NORMAL", "mode": "0o100755"}],
    )


def _touched(number: int, name: str, exe: str, path: str, kind: str) -> Sent:
    items = [
        {"item": 0, "name": path.rpartition("/")[0], "nametype": "PARENT", "mode": "0o040755"},
        {"item": 1, "name": path, "nametype": kind, "mode": "0o100644"},
    ]
    return _call(number, name, exe, "/usr/bin/bash", CWD={"cwd": "/"}, PATH=items)


def written(exe: str, path: str) -> Sent:
    """A file is created on Linux."""
    return _touched(257, "openat", exe, path, "CREATE")


def removed(exe: str, path: str) -> Sent:
    """A file is deleted on Linux."""
    return _touched(87, "unlink", exe, path, "DELETE")


def audited(kind: str, **members: Any) -> Sent:
    """Another record of the audit system."""
    return {"ID": "1700000000.123:8", "NODE": "srv1", kind: members}


def _mac(event: Sent, path: str, kind: int) -> Sent:
    return {
        "schema_version": 1,
        "event_type": kind,
        "time": _AT,
        "hostname": "mac1",
        "process": {
            "audit_token": {"pid": 7, "pidversion": 9, "euid": 501, "ruid": 501},
            "ppid": 1,
            "executable": {"path": path},
        },
        "event": event,
    }


def launched(path: str, line: str) -> Sent:
    """A process starts on macOS, as Endpoint Security writes it."""
    target = {
        "audit_token": {"pid": 8, "pidversion": 11, "euid": 501, "ruid": 501},
        "ppid": 7,
        "executable": {"path": path},
        "start_time": _AT,
    }
    return _mac({"exec": {"args": line.split(" "), "target": target}}, "/bin/zsh", 9)


def saved(program: str, path: str) -> Sent:
    """A file is created on macOS."""
    return _mac({"create": {"destination": {"existing_file": {"path": path}}}}, program, 13)
