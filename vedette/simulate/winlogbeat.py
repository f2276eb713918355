"""The shape of Windows event-log records as Winlogbeat 8 ships them (telemetry.md 1, D)."""

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

_TASKS: dict[tuple[str, int], str] = {
    (SYSMON, 1): "Process Create (rule: ProcessCreate)",
    (SYSMON, 2): "File creation time changed (rule: FileCreateTime)",
    (SYSMON, 3): "Network connection detected (rule: NetworkConnect)",
    (SYSMON, 5): "Process terminated (rule: ProcessTerminate)",
    (SYSMON, 6): "Driver loaded (rule: DriverLoad)",
    (SYSMON, 7): "Image loaded (rule: ImageLoad)",
    (SYSMON, 8): "CreateRemoteThread detected (rule: CreateRemoteThread)",
    (SYSMON, 10): "Process accessed (rule: ProcessAccess)",
    (SYSMON, 11): "File created (rule: FileCreate)",
    (SYSMON, 12): "Registry object added or deleted (rule: RegistryEvent)",
    (SYSMON, 13): "Registry value set (rule: RegistryEvent)",
    (SYSMON, 15): "File stream created (rule: FileCreateStreamHash)",
    (SYSMON, 17): "Pipe Created (rule: PipeEvent)",
    (SYSMON, 18): "Pipe Connected (rule: PipeEvent)",
    (SYSMON, 19): "WmiEventFilter activity detected (rule: WmiEvent)",
    (SYSMON, 22): "Dns query (rule: DnsQuery)",
    (SYSMON, 23): "File Delete archived (rule: FileDelete)",
    (SYSMON, 26): "File Delete logged (rule: FileDeleteDetected)",
    (SECURITY, 4624): "Logon",
    (SECURITY, 4634): "Logoff",
    (SECURITY, 4672): "Special Logon",
    (SECURITY, 4769): "Kerberos Service Ticket Operations",
    (SECURITY, 5156): "Filtering Platform Connection",
    (POWERSHELL, 4104): "Execute a Remote Command",
    (SYSTEM, 7045): "None",
}

_INDEX = b'{"create":{"_index":"winlogbeat-8.14.1"}}\n'


def open_stream(
    host: Host, channel: str, event_id: int, logger_pid: int, record_ids: Iterator[int]
) -> Stream:
    """The stream of one event id. Record ids are shared by all streams of (host, channel).

    With `logger_pid` 0 the body itself closes `event_data` and names the logging process.
    """
    members = json.dumps(_envelope(host, channel, event_id), separators=(",", ":"))
    shared = members.encode().replace(b"%", b"%%").replace(b'"record_id":0', b'"record_id":%d')
    head = _INDEX + b'{"@timestamp":"%bT%b.%bZ",' + shared[1:-2] + b',"event_data":{'
    tail = b"}}}\n"
    if logger_pid:
        tail = b'},"process":{"pid":%d,"thread":{"id":%d}}}}\n' % (logger_pid, logger_pid + 612)
    if channel == SYSMON:
        return SysmonStream(head + b'"RuleName":"-","UtcTime":"%b %b.%b",', tail, record_ids)
    return EventLogStream(head, tail, record_ids)


def _envelope(host: Host, channel: str, event_id: int) -> dict[str, Any]:
    """All that does not change; `winlog` is the last member so that `event_data` can follow."""
    provider, guid = _PROVIDERS[channel]
    task = _TASKS[channel, event_id]
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
