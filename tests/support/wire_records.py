"""One record of every wire format, as its sender writes it: `RECORDS` by name of the sender."""

import json
from typing import Any

_SYSMON = "Microsoft-Windows-Sysmon/Operational"
_GUID = "{d68bf9c4-2f5e-5f67-0c01-000000000a00}"
_START: dict[str, Any] = {
    "RuleName": "-",
    "UtcTime": "2024-01-02 03:04:05.678",
    "ProcessGuid": _GUID,
    "ProcessId": "4312",
    "Image": "C:\\Windows\\cmd.exe",
    "CommandLine": "cmd.exe /c whoami",
    "CurrentDirectory": "C:\\",
    "User": "CORP\\ann",
    "ParentCommandLine": "explorer.exe",
}
_XML_DATA = "".join(f'<Data Name="{name}">{value}</Data>' for name, value in _START.items())
_XML = (
    '<Event><System><Provider Name="Microsoft-Windows-Sysmon"/><EventID>1</EventID>'
    '<TimeCreated SystemTime="2024-01-02T03:04:05.900Z"/><EventRecordID>77</EventRecordID>'
    f'<Execution ProcessID="2468"/><Channel>{_SYSMON}</Channel><Computer>ws1</Computer>'
    f"</System><EventData>{_XML_DATA}</EventData></Event>"
)
_AUDIT = "msg=audit(1700000000.123:7):"
_SANTA_LINE = (
    "[2023-05-01T10:00:00.123Z] I santad: action=EXEC|decision=ALLOW|pid=12|pidversion=3|ppid=1"
    "|path=/bin/ls|args=ls whoami|machineid=mac1"
)
_ES_PROCESS = {"audit_token": {"pid": 7, "pidversion": 9}, "executable": {"path": "/bin/ls"}}

RECORDS: dict[str, dict[str, Any]] = {
    "native": {
        "vedette_record": "windows",
        "host": "ws1",
        "time_us": 1_704_164_645_000_000,
        "channel": _SYSMON,
        "event_id": 1,
        "data": _START,
    },
    "winlogbeat 8": {
        "@timestamp": "2024-01-02T03:04:05.900Z",
        "message": "Process Create:\nRuleName: -",
        "event": {"code": "1", "original": "<Event/>"},
        "host": {"name": "collector"},
        "winlog": {
            "channel": _SYSMON,
            "computer_name": "ws1",
            "event_id": "1",
            "record_id": 77,
            "provider_name": "Microsoft-Windows-Sysmon",
            "event_data": _START,
        },
    },
    "winlogbeat 6": {
        "@timestamp": "2024-01-02T03:04:05.900Z",
        "log_name": _SYSMON,
        "event_id": 1,
        "computer_name": "ws1",
        "record_number": "77",
        "message": "Process Create",
        "event_data": _START,
    },
    "nxlog": {
        "EventTime": "2024-01-02 03:04:05",
        "EventReceivedTime": "2024-01-02 03:04:06",
        "SourceModuleType": "im_msvistalog",
        "Hostname": "ws1",
        "Channel": _SYSMON,
        "EventID": 1,
        "RecordNumber": 77,
        "SourceName": "Microsoft-Windows-Sysmon",
        "ExecutionProcessID": 2468,
        "Message": "Process Create",
        **_START,
    },
    "get-winevent": {
        "TimeCreated": "2024-01-02T03:04:05.900Z",
        "Hostname": "ws1",
        "Channel": _SYSMON,
        "EventID": 1,
        "Message": "Process Create",
        **_START,
    },
    "evtx": {
        "Event": {
            "System": {
                "Provider": {"#attributes": {"Name": "Microsoft-Windows-Sysmon"}},
                "EventID": 1,
                "TimeCreated": {"#attributes": {"SystemTime": "2024-01-02T03:04:05.900Z"}},
                "EventRecordID": 77,
                "Channel": _SYSMON,
                "Computer": "ws1",
            },
            "EventData": _START,
        }
    },
    "azure Event": {
        "TenantId": "t",
        "TimeGenerated": "2024-01-02T03:04:05.900Z",
        "Computer": "ws1",
        "EventLog": _SYSMON,
        "EventID": 1,
        "Source": "Microsoft-Windows-Sysmon",
        "RenderedDescription": "Process Create",
        "EventData": f'<DataItem type="x"><EventData>{_XML_DATA}</EventData></DataItem>',
        "Type": "Event",
    },
    "azure SecurityEvent": {
        "TenantId": "t",
        "TimeGenerated": "2024-01-02T03:04:05.900Z",
        "Computer": "ws1",
        "Channel": "Security",
        "EventSourceName": "Microsoft-Windows-Security-Auditing",
        "EventID": 4688,
        "Activity": "4688 - A new process has been created.",
        "NewProcessId": "0x10",
        "NewProcessName": "C:\\Windows\\cmd.exe",
        "CommandLine": "cmd.exe /c whoami",
        "ProcessId": "0x20",
        "EventData": "",
        "Type": "SecurityEvent",
    },
    "azure WindowsEvent": {
        "TenantId": "t",
        "TimeGenerated": "2024-01-02T03:04:05.900Z",
        "Computer": "ws1",
        "Channel": _SYSMON,
        "Provider": "Microsoft-Windows-Sysmon",
        "EventID": 1,
        "EventRecordId": "77",
        "EventData": json.dumps(_START),
        "Type": "WindowsEvent",
    },
    "laurel": {
        "ID": "1700000000.123:7",
        "NODE": "ws1",
        "SYSCALL": {"syscall": 59, "SYSCALL": "execve", "success": "yes", "pid": 7, "comm": "sh"},
        "EXECVE": {"argc": 2, "ARGV": ["sh", "whoami"]},
        "CWD": {"cwd": "/root"},
    },
    "osquery": {
        "name": "pack_process_events",
        "hostIdentifier": "ws1",
        "unixTime": 1_700_000_000,
        "action": "added",
        "columns": {
            "pid": "7",
            "path": "/bin/sh",
            "cmdline": "sh -c whoami",
            "cwd": "/root",
            "parent": "1",
            "time": "1700000000",
        },
    },
    "tetragon": {
        "process_exec": {
            "process": {
                "exec_id": "aXQ=",
                "pid": 7,
                "binary": "/bin/sh",
                "arguments": "-c whoami",
                "start_time": "2024-01-02T03:04:05.900Z",
            }
        },
        "node_name": "ws1",
        "time": "2024-01-02T03:04:05.900Z",
    },
    "endpoint security": {
        "schema_version": 1,
        "event_type": 9,
        "time": "2024-01-02T03:04:05.900Z",
        "hostname": "ws1",
        "process": _ES_PROCESS,
        "event": {"exec": {"args": ["ls", "-l"], "target": _ES_PROCESS}},
    },
    "santa": {
        "event_time": "2024-01-02T03:04:05.900Z",
        "machine_id": "ws1",
        "execution": {"args": ["ls", "-l"], "target": {"executable": {"path": "/bin/ls"}}},
    },
    "sensor": {
        "vedette_event": 1,
        "type": "end",
        "time_us": 1_700_000_000_000_000,
        "hostname": "ws1",
        "proc": {"pid": 7, "start_us": 1_699_999_999_000_000},
        "cmdline": "sh",
    },
    "audit line": {
        "message": f'type=USER_CMD {_AUDIT} pid=7 uid=0 exe="/usr/bin/sudo" cmd="whoami"',
        "host": {"name": "ws1"},
    },
    "audit line in syslog": {
        "message": f'<13>Nov  3 10:11:12 ws1 audispd: node=ws1 type=EXECVE {_AUDIT} a0="whoami"',
        "host": {"name": "collector"},
    },
    "auoms": {
        "SyslogMessage": "type=AUOMS_EXECVE audit(1700000000.5:6): node=ws1 syscall=execve "
        'success=yes pid=2 exe="/bin/sh" argc=1 cmdline="whoami" redactors= containerid=',
        "Computer": "collector",
    },
    "santa line": {"message": _SANTA_LINE, "host": {"name": "ws1"}},
    "xml in syslog": {"SyslogMessage": f"Jan  2 03:04:05 ws1 sysmon: {_XML}", "Computer": "c"},
}

CARRIED = {
    f"{name} carried as text": {"message": json.dumps(record), "host": {"name": "collector"}}
    for name, record in RECORDS.items()
    if name in {"laurel", "tetragon", "osquery", "nxlog"}
}
"""Records as the text of a log shipper's record."""
