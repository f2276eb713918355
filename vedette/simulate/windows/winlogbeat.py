"""Windows event-log records in the format of Winlogbeat 8
(docs/telemetry-windows.md, D)."""

import json
from collections.abc import Iterator
from typing import Any

from vedette.simulate.fleet import Host
from vedette.simulate.stream import EventLogStream, Stream, SysmonStream

SYSMON = "Microsoft-Windows-Sysmon/Operational"
SECURITY = "Security"
POWERSHELL = "Microsoft-Windows-PowerShell/Operational"
SYSTEM = "System"

_PROVIDERS = {
    SYSMON: ("Microsoft-Windows-Sysmon", "{5770385f-c22a-43e0-bf4c-06f5698ffbd9}"),
    SECURITY: ("Microsoft-Windows-Security-Auditing", "{54849625-5478-4994-a5ba-3e3b0328c30d}"),
    POWERSHELL: ("Microsoft-Windows-PowerShell", "{a0c1853b-5c40-4b15-8766-3cf1c58f985a}"),
    SYSTEM: ("Service Control Manager", "{555908d1-a6d7-4695-8e1e-26931d2012f4}"),
}

_TASKS: dict[int, tuple[str, str]] = {
    1: (SYSMON, "Process Create (rule: ProcessCreate)"),
    2: (SYSMON, "File creation time changed (rule: FileCreateTime)"),
    3: (SYSMON, "Network connection detected (rule: NetworkConnect)"),
    5: (SYSMON, "Process terminated (rule: ProcessTerminate)"),
    6: (SYSMON, "Driver loaded (rule: DriverLoad)"),
    7: (SYSMON, "Image loaded (rule: ImageLoad)"),
    8: (SYSMON, "CreateRemoteThread detected (rule: CreateRemoteThread)"),
    10: (SYSMON, "Process accessed (rule: ProcessAccess)"),
    11: (SYSMON, "File created (rule: FileCreate)"),
    12: (SYSMON, "Registry object added or deleted (rule: RegistryEvent)"),
    13: (SYSMON, "Registry value set (rule: RegistryEvent)"),
    15: (SYSMON, "File stream created (rule: FileCreateStreamHash)"),
    17: (SYSMON, "Pipe Created (rule: PipeEvent)"),
    18: (SYSMON, "Pipe Connected (rule: PipeEvent)"),
    19: (SYSMON, "WmiEventFilter activity detected (rule: WmiEvent)"),
    22: (SYSMON, "Dns query (rule: DnsQuery)"),
    23: (SYSMON, "File Delete archived (rule: FileDelete)"),
    26: (SYSMON, "File Delete logged (rule: FileDeleteDetected)"),
    4624: (SECURITY, "Logon"),
    4634: (SECURITY, "Logoff"),
    4672: (SECURITY, "Special Logon"),
    4769: (SECURITY, "Kerberos Service Ticket Operations"),
    5156: (SECURITY, "Filtering Platform Connection"),
    4104: (POWERSHELL, "Execute a Remote Command"),
    7045: (SYSTEM, "None"),
}

_INDEX = b'{"create":{"_index":"winlogbeat-8.14.1"}}\n'


def channel_of(event_id: int) -> str:
    return _TASKS[event_id][0]


def open_stream(host: Host, event_id: int, logger_pid: int, record_ids: Iterator[int]) -> Stream:
    """Returns the stream of one event id. All streams of a host's channel share record ids. With
    `logger_pid` 0 the body itself closes `event_data` and contains the logging process."""
    members = json.dumps(_envelope(host, event_id), separators=(",", ":")).encode()
    shared, rest = members[1:-2].split(b'"record_id":0')
    head, to_number = _INDEX + b'{"@timestamp":"', b'Z",' + shared + b'"record_id":'
    to_data = rest + b',"event_data":{'
    tail = b"}}}\n"
    if logger_pid:
        tail = b'},"process":{"pid":%d,"thread":{"id":%d}}}}\n' % (logger_pid, logger_pid + 612)
    if channel_of(event_id) == SYSMON:
        to_utc = to_data + b'"RuleName":"-","UtcTime":"'
        return SysmonStream((head, to_number, to_utc, b'",', tail), record_ids)
    return EventLogStream((head, to_number, to_data, tail), record_ids)


def _envelope(host: Host, event_id: int) -> dict[str, Any]:
    """Returns the constant members; `winlog` is the last one, so that `event_data` can follow."""
    channel, task = _TASKS[event_id]
    provider, guid = _PROVIDERS[channel]
    system = {"identifier": "S-1-5-18", "name": "SYSTEM", "domain": "NT AUTHORITY", "type": "User"}
    return {
        "agent": {
            "id": host.agent_id,
            "name": host.short_name,
            "type": "winlogbeat",
            "version": "8.14.1",
        },
        "ecs": {"version": "8.0.0"},
        "event": {"code": str(event_id), "kind": "event", "provider": provider},
        "host": {"name": host.name},
        "message": f"{task.partition(' (')[0]}.",
        "winlog": {
            "api": "wineventlog",
            "channel": channel,
            "computer_name": host.name,
            "event_id": str(event_id),
            "opcode": "Info",
            "provider_guid": guid,
            "provider_name": provider,
            "record_id": 0,
            "task": task,
            "user": system,
        },
    }
