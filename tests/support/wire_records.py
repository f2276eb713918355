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
_NAMED = [{"@Name": name, "#text": value} for name, value in _START.items()]
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
    "evtxecmd": {
        "MapDescription": "Process creation",
        "PayloadData1": "a description",
        "ChunkNumber": 0,
        "Computer": "ws1",
        "Payload": json.dumps({"EventData": {"Data": _NAMED}}),
        "Channel": _SYSMON,
        "Provider": "Microsoft-Windows-Sysmon",
        "EventId": 1,
        "EventRecordId": "77",
        "ProcessId": 2468,
        "Level": "Info",
        "SourceFile": "C:\\kape\\sysmon.evtx",
        "TimeCreated": "2024-01-02T03:04:05.9000000+00:00",
        "RecordNumber": 1,
    },
    "elastic defend": {
        "@timestamp": "2024-01-02T03:04:05.9001234Z",
        "agent": {"type": "endpoint", "version": "8.15.0"},
        "event": {
            "module": "endpoint",
            "dataset": "endpoint.events.process",
            "kind": "event",
            "category": ["process"],
            "type": ["start"],
            "action": "start",
            "id": "NQ7x+++0001",
        },
        "host": {"hostname": "ws1", "os": {"type": "windows"}},
        "process": {
            "entity_id": "b3duLWtleQ==",
            "pid": 4312,
            "executable": "C:\\Windows\\cmd.exe",
            "command_line": "cmd.exe /c whoami",
            "parent": {"pid": 99, "executable": "C:\\Windows\\explorer.exe"},
        },
        "user": {"domain": "CORP", "name": "ann"},
    },
    "auditbeat": {
        "@timestamp": "2024-01-02T03:04:05.900Z",
        "agent": {"type": "auditbeat"},
        "event": {"module": "system", "dataset": "process", "action": "process_started"},
        "host": {"name": "ws1", "os": {"type": "linux"}},
        "process": {"pid": 7, "executable": "/bin/sh", "args": ["sh", "-c", "whoami"]},
    },
    "auditbeat audit": {
        "@timestamp": "2024-01-02T03:04:05.900Z",
        "agent": {"type": "auditbeat"},
        "event": {"module": "auditd", "action": "executed"},
        "host": {"name": "ws1"},
        "auditd": {
            "message_type": "syscall",
            "sequence": 77,
            "result": "success",
            "data": {"syscall": "execve", "arch": "x86_64", "exit": "0"},
        },
        "process": {"pid": 7, "executable": "/bin/sh", "args": ["sh", "whoami"]},
    },
    "wazuh windows": {
        "timestamp": "2024-01-02T03:04:06.100+0000",
        "rule": {"level": 3, "description": "a rule", "id": "61603"},
        "agent": {"id": "001", "name": "ws1"},
        "manager": {"name": "wazuh"},
        "decoder": {"name": "windows_eventchannel"},
        "data": {
            "win": {
                "system": {
                    "providerName": "Microsoft-Windows-Sysmon",
                    "eventID": "1",
                    "systemTime": "2024-01-02T03:04:05.9000000Z",
                    "eventRecordID": "77",
                    "processID": "2468",
                    "channel": _SYSMON,
                    "computer": "ws1",
                    "severityValue": "INFORMATION",
                    "message": "Process Create",
                },
                "eventdata": {name[0].lower() + name[1:]: text for name, text in _START.items()},
            }
        },
        "location": "EventChannel",
    },
    "wazuh audit": {
        "timestamp": "2024-01-02T03:04:06.100+0000",
        "rule": {"level": 3, "id": "80792"},
        "agent": {"id": "002", "name": "ws1"},
        "manager": {"name": "wazuh"},
        "data": {
            "audit": {
                "type": "SYSCALL",
                "id": "7",
                "syscall": "59",
                "success": "yes",
                "pid": "7",
                "exe": "/bin/sh",
                "execve": {"a0": "sh", "a1": "whoami"},
            }
        },
    },
    "defender": {
        "time": "2024-01-02T03:04:07.0000000Z",
        "tenantId": "t",
        "operationName": "Publish",
        "category": "AdvancedHunting-DeviceProcessEvents",
        "properties": {
            "Timestamp": "2024-01-02T03:04:05.9000000Z",
            "DeviceName": "ws1",
            "ActionType": "ProcessCreated",
            "ReportId": 77,
            "ProcessId": 4312,
            "FileName": "cmd.exe",
            "FolderPath": "C:\\Windows\\cmd.exe",
            "ProcessCommandLine": "cmd.exe /c whoami",
            "InitiatingProcessId": 99,
            "InitiatingProcessFolderPath": "c:\\windows\\explorer.exe",
        },
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
