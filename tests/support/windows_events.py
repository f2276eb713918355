"""Events of Windows as the event log holds them: `EVENTS` by name, with the data as text."""

import csv
import io
import json
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

SECURITY = "Security"
SYSMON = "Microsoft-Windows-Sysmon/Operational"
POWERSHELL = "Microsoft-Windows-PowerShell/Operational"
CLASSIC = "Windows PowerShell"

_PROVIDERS = {
    SECURITY: "Microsoft-Windows-Security-Auditing",
    SYSMON: "Microsoft-Windows-Sysmon",
    POWERSHELL: "Microsoft-Windows-PowerShell",
    CLASSIC: "PowerShell",
}


class WindowsEvent(NamedTuple):
    channel: str
    event_id: int
    data: dict[str, str]
    is_user_data: bool = False

    @property
    def provider(self) -> str:
        return _PROVIDERS[self.channel]


_SUBJECT = {
    "SubjectUserSid": "S-1-5-21-11-22-33-1104",
    "SubjectUserName": "mira",
    "SubjectDomainName": "NORTHWIND",
    "SubjectLogonId": "0x5a1c2",
}
_TARGET = {
    "TargetUserSid": "S-1-5-21-11-22-33-1188",
    "TargetUserName": "svc-ledger",
    "TargetDomainName": "NORTHWIND",
}
_FROM = {"IpAddress": "10.20.30.40", "IpPort": "50112"}
_BY = {"ProcessId": "0x2c4", "ProcessName": "C:\\Windows\\System32\\lsass.exe"}
_FLAGS = "\n\t\t%%2080\n\t\t%%2082\n\t\t%%2084"

_SECURITY: dict[int, dict[str, str]] = {
    4624: _SUBJECT
    | _TARGET
    | {"TargetLogonId": "0x77f01", "LogonType": "10", "LogonProcessName": "User32"}
    | {"AuthenticationPackageName": "Negotiate", "WorkstationName": "DESK-31"}
    | {"LogonGuid": "{00000000-0000-0000-0000-000000000000}", "KeyLength": "0"}
    | _BY
    | _FROM,
    4625: _SUBJECT
    | _TARGET
    | {"Status": "0xc000006d", "FailureReason": "%%2313", "SubStatus": "0xc000006a"}
    | {"LogonType": "3", "WorkstationName": "DESK-31"}
    | _BY
    | _FROM,
    4634: _TARGET | {"TargetLogonId": "0x77f01", "LogonType": "3"},
    4648: _SUBJECT
    | {"TargetUserName": "svc-ledger", "TargetDomainName": "NORTHWIND"}
    | {"TargetServerName": "files.northwind.example", "TargetInfo": "files.northwind.example"}
    | _BY
    | _FROM,
    4663: _SUBJECT
    | {"ObjectServer": "Security", "ObjectType": "File", "AccessMask": "0x2"}
    | {"ObjectName": "C:\\ledger\\2026.xlsx", "HandleId": "0x1f0", "AccessList": "%%4417"}
    | {"ProcessId": "0x9a4", "ProcessName": "C:\\tools\\sync.exe"},
    4672: _SUBJECT | {"PrivilegeList": "SeDebugPrivilege\n\t\t\tSeBackupPrivilege"},
    4673: _SUBJECT
    | {"ObjectServer": "LSA", "Service": "LsaRegisterLogonProcess()"}
    | {"PrivilegeList": "SeTcbPrivilege"}
    | _BY,
    4674: _SUBJECT
    | {"ObjectType": "SERVICE OBJECT", "ObjectName": "EventLog", "AccessMask": "\n\t\t%%1537"}
    | {"PrivilegeList": "SeTakeOwnershipPrivilege"}
    | _BY,
    4688: _SUBJECT
    | {"NewProcessId": "0x1404", "NewProcessName": "C:\\Windows\\System32\\vssadmin.exe"}
    | {"TokenElevationType": "%%1937", "ProcessId": "0xfa0", "TargetUserSid": "S-1-0-0"}
    | {"CommandLine": "vssadmin.exe list shadows", "TargetUserName": "-"}
    | {"TargetDomainName": "-", "TargetLogonId": "0x0", "MandatoryLabel": "S-1-16-12288"}
    | {"ParentProcessName": "C:\\Windows\\System32\\cmd.exe"},
    4689: _SUBJECT
    | {"Status": "0x1", "ProcessId": "0x1404"}
    | {"ProcessName": "C:\\Windows\\System32\\vssadmin.exe"},
    4697: _SUBJECT
    | {"ServiceName": "ledgersync", "ServiceFileName": "C:\\tools\\sync.exe /svc"}
    | {"ServiceType": "0x10", "ServiceStartType": "2", "ServiceAccount": "LocalSystem"},
    4698: _SUBJECT | {"TaskName": "\\ledger", "TaskContent": "<Task><Exec/></Task>"},
    4719: _SUBJECT
    | {"CategoryId": "%%8273", "SubcategoryId": "%%12544", "AuditPolicyChanges": "%%8449"}
    | {"SubcategoryGuid": "{0cce9215-69ae-11d9-bed3-505054503030}"},
    4720: _TARGET
    | _SUBJECT
    | {"SamAccountName": "svc-ledger", "UserAccountControl": _FLAGS, "NewUacValue": "0x15"},
    4726: _TARGET | _SUBJECT | {"PrivilegeList": "-"},
    4732: {"MemberName": "-", "MemberSid": "S-1-5-21-11-22-33-1188", "TargetUserName": "Backup"}
    | {"TargetDomainName": "Builtin", "TargetSid": "S-1-5-32-551"}
    | _SUBJECT,
    4738: _TARGET | _SUBJECT | {"UserAccountControl": _FLAGS, "NewUacValue": "0x15"},
    4740: {"TargetUserName": "svc-ledger", "TargetDomainName": "DESK-31"} | _SUBJECT,
    4768: _TARGET
    | {"ServiceName": "krbtgt", "TicketOptions": "0x40810010", "Status": "0x0"}
    | {"IpAddress": "::ffff:10.20.30.40", "IpPort": "50113"},
    4769: {"TargetUserName": "mira@NORTHWIND", "TargetDomainName": "NORTHWIND"}
    | {"ServiceName": "files$", "TicketEncryptionType": "0x17", "TicketOptions": "0x40810000"}
    | {"IpAddress": "::ffff:10.20.30.40", "IpPort": "50114", "Status": "0x0"},
    4771: {"TargetUserName": "mira", "TargetSid": "S-1-5-21-11-22-33-1104", "Status": "0x18"}
    | {"IpAddress": "::1", "IpPort": "0", "TicketOptions": "0x40810010"},
    4776: {"PackageName": "NTLM", "TargetUserName": "mira", "Workstation": "DESK-31"}
    | {"Status": "0xc000006a"},
    4778: {"AccountName": "mira", "AccountDomain": "NORTHWIND", "LogonID": "0x5a1c2"}
    | {"SessionName": "RDP-Tcp#3", "ClientName": "DESK-31", "ClientAddress": "10.20.30.40"},
    4904: _SUBJECT | {"AuditSourceName": "VSSAudit", "EventSourceId": "0x1b2"} | _BY,
    5145: _SUBJECT
    | {"ObjectType": "File", "ShareName": "\\\\*\\IPC$", "RelativeTargetName": "svcctl"}
    | {"AccessMask": "0x12019f", "AccessList": "%%1538"}
    | _FROM,
    5156: {"ProcessID": "2468", "Application": "\\device\\harddiskvolume2\\tools\\sync.exe"}
    | {"Direction": "%%14593", "SourceAddress": "10.20.30.41", "SourcePort": "50200"}
    | {"DestAddress": "203.0.113.9", "DestPort": "443", "Protocol": "6"},
}

_GUID = "{7d1f0a2b-9e21-6543-1000-000000000400}"
_OTHER_GUID = "{7d1f0a2b-9e00-6543-0f00-000000000400}"
_AT = {"RuleName": "technique_id=T1490", "UtcTime": "2023-11-02 13:04:05.678"}
_PROCESS = _AT | {"ProcessGuid": _GUID, "ProcessId": "4312", "Image": "C:\\tools\\sync.exe"}
_USER = {"User": "NORTHWIND\\mira"}
_HASHES = ",".join(
    f"{name}={digit * digits}"
    for name, digit, digits in (
        ("SHA1", "B", 40),
        ("MD5", "A", 32),
        ("SHA256", "C", 64),
        ("IMPHASH", "D", 32),
    )
)
_STRONG_HASHES = f"SHA1={'B' * 40},SHA256={'C' * 64}"
_VERSION = {
    "FileVersion": "4.2.0.7",
    "Description": "Ledger sync",
    "Product": "Ledger",
    "Company": "Northwind Traders",
    "OriginalFileName": "SYNC.EXE",
}
_SIGNED = {"Signed": "true", "Signature": "Northwind Traders", "SignatureStatus": "Valid"}
_FILE = {"TargetFilename": "C:\\ledger\\drop.dll"}
_PAIR = {
    "SourceProcessId": "4312",
    "SourceImage": "C:\\tools\\sync.exe",
    "TargetProcessId": "812",
    "TargetImage": "C:\\Windows\\System32\\lsass.exe",
}
_KEY = {"TargetObject": "HKLM\\System\\CurrentControlSet\\Services\\ledger\\Start"}

_SYSMON: dict[str, dict[str, str]] = {
    "1": _PROCESS
    | _VERSION
    | {"CommandLine": '"C:\\tools\\sync.exe" --all', "CurrentDirectory": "C:\\tools\\"}
    | _USER
    | {"LogonGuid": "{7d1f0a2b-9e00-6543-c2a1-050000000000}", "LogonId": "0x5a1c2"}
    | {"TerminalSessionId": "1", "IntegrityLevel": "High", "Hashes": _HASHES}
    | {"ParentProcessGuid": _OTHER_GUID, "ParentProcessId": "4000"}
    | {"ParentImage": "C:\\Windows\\explorer.exe", "ParentCommandLine": "explorer.exe /x"},
    "2": _PROCESS
    | _FILE
    | {"CreationUtcTime": "2020-01-01 00:00:00.000"}
    | {"PreviousCreationUtcTime": "2023-11-02 13:04:00.000"},
    "3": _PROCESS
    | _USER
    | {"Protocol": "tcp", "Initiated": "true", "SourceIsIpv6": "false"}
    | {"SourceIp": "10.20.30.41", "SourceHostname": "desk-31", "SourcePort": "50200"}
    | {"DestinationIsIpv6": "false", "DestinationIp": "203.0.113.9"}
    | {"DestinationHostname": "cdn.example", "DestinationPort": "443"}
    | {"SourcePortName": "-", "DestinationPortName": "https"},
    "4": {"UtcTime": _AT["UtcTime"], "State": "Stopped", "SchemaVersion": "4.90"},
    "5": _PROCESS | _USER,
    "6": _AT | {"ImageLoaded": "C:\\drivers\\ledger.sys", "Hashes": _HASHES} | _SIGNED,
    "7": _PROCESS
    | {"ImageLoaded": "C:\\tools\\sync.dll", "Hashes": _HASHES}
    | _VERSION
    | _SIGNED
    | _USER,
    "8": _AT
    | {"SourceProcessGuid": _GUID, "TargetProcessGuid": _OTHER_GUID}
    | _PAIR
    | {"NewThreadId": "99", "StartAddress": "0x7ff0", "StartModule": "C:\\tools\\sync.dll"}
    | {"StartFunction": "LoadLibraryA"},
    "9": _PROCESS | {"Device": "\\Device\\HarddiskVolume2"} | _USER,
    "10": _AT
    | {"SourceProcessGUID": _GUID, "TargetProcessGUID": _OTHER_GUID, "SourceThreadId": "77"}
    | _PAIR
    | {"GrantedAccess": "0x1010", "CallTrace": "C:\\Windows\\ntdll.dll+1"},
    "11": _PROCESS | _FILE | {"CreationUtcTime": "2023-11-02 13:04:05.600"} | _USER,
    "12": _PROCESS | {"EventType": "DeleteKey"} | _KEY | _USER,
    "13": _PROCESS | {"EventType": "SetValue", "Details": "DWORD (0x0000001a)"} | _KEY | _USER,
    "13, quad": _PROCESS
    | {"EventType": "SetValue", "Details": "QWORD (0x00000000-0x0000001b)"}
    | _KEY,
    "13, binary": _PROCESS | {"EventType": "SetValue", "Details": "Binary Data"} | _KEY,
    "13, text": _PROCESS | {"EventType": "SetValue", "Details": "C:\\tools\\sync.exe"} | _KEY,
    "14": _PROCESS | {"EventType": "RenameKey", "NewName": "HKLM\\Software\\Ledger2"} | _KEY,
    "15": _PROCESS
    | {"TargetFilename": "C:\\ledger\\a.exe:Zone.Identifier", "Hash": _HASHES}
    | {"CreationUtcTime": "2023-11-02 13:04:05.600", "Contents": "[ZoneTransfer]"},
    "16": {"UtcTime": _AT["UtcTime"], "Configuration": "c.xml", "ConfigurationFileHash": "x"},
    "17": _PROCESS | {"EventType": "CreatePipe", "PipeName": "\\ledger-7"},
    "18": _PROCESS | {"EventType": "ConnectPipe", "PipeName": "\\ledger-7"},
    "19": _AT
    | {"EventType": "WmiFilterEvent", "Operation": "Created", "Name": "ledger"}
    | _USER
    | {"EventNamespace": "root", "Query": "SELECT * FROM x"},
    "20": _AT
    | {"EventType": "WmiConsumerEvent", "Operation": "Created", "Name": "ledger", "Type": "Command"}
    | _USER
    | {"Destination": "C:\\tools\\sync.exe"},
    "21": _AT
    | {"EventType": "WmiBindingEvent", "Operation": "Created", "Consumer": "c", "Filter": "f"}
    | _USER,
    "22": _PROCESS
    | {"QueryName": "cdn.example", "QueryStatus": "0"}
    | {"QueryResults": "type:  5 edge.cdn.example;::ffff:203.0.113.9;2001:db8::7;"}
    | _USER,
    "22, refused": _PROCESS
    | {"QueryName": "x.example", "QueryStatus": "9003", "QueryResults": "-"},
    "23": _PROCESS
    | _USER
    | _FILE
    | {"Hashes": _HASHES, "IsExecutable": "true", "Archived": "true"},
    "24": _PROCESS
    | _USER
    | {"Session": "1", "ClientInfo": "user: NORTHWIND", "Hashes": _HASHES, "Archived": "true"},
    "25": _PROCESS | {"Type": "Image is replaced"} | _USER,
    "26": _PROCESS | _USER | _FILE | {"Hashes": _HASHES, "IsExecutable": "false"},
    "27": _PROCESS | _USER | _FILE | {"Hashes": _STRONG_HASHES},
    "28": _PROCESS | _USER | _FILE | {"Hashes": _STRONG_HASHES, "IsExecutable": "false"},
    "29": _PROCESS | _USER | _FILE | {"Hashes": _HASHES},
    "255": {"UtcTime": _AT["UtcTime"], "ID": "QUEUE", "Description": "full"},
}

_CONTEXT = "\n".join(
    f"        {name} = {value}"
    for name, value in (
        ("Severity", "Informational"),
        ("Host Name", "ConsoleHost"),
        ("Host Version", "5.1.19041.1"),
        ("Host ID", "0a1b2c3d-0000-4000-8000-000000000001"),
        ("Host Application", "powershell.exe -nop -c Get-Ledger"),
        ("Engine Version", "5.1.19041.1"),
        ("Runspace ID", "0a1b2c3d-0000-4000-8000-000000000002"),
        ("Pipeline ID", "4"),
        ("Command Name", "Get-Ledger"),
        ("Command Type", "Function"),
        ("Script Name", "C:\\ledger\\get.ps1"),
        ("Command Path", "C:\\ledger\\get.ps1"),
        ("Sequence Number", "16"),
        ("User", "NORTHWIND\\mira"),
        ("Connected User", "NORTHWIND\\otto"),
        ("Shell ID", "Microsoft.PowerShell"),
    )
)
_PAYLOAD = (
    'CommandInvocation(Get-Ledger): "Get-Ledger"\n'
    'ParameterBinding(Get-Ledger): name="Path"; value="C:\\ledger"'
)
_HOST = (
    "\tHostName=ConsoleHost\n\tHostVersion=5.1.19041.1\n"
    "\tHostId=0a1b2c3d-0000-4000-8000-000000000001\n"
    "\tHostApplication=powershell.exe -nop -c Get-Ledger\n\tEngineVersion=5.1.19041.1\n"
    "\tRunspaceId=0a1b2c3d-0000-4000-8000-000000000002\n\tPipelineId=4\n"
)
_COMMAND = (
    "\tCommandName=Get-Ledger\n\tCommandType=Function\n\tScriptName=C:\\ledger\\get.ps1\n"
    "\tCommandPath=C:\\ledger\\get.ps1\n\tCommandLine=Get-Ledger -Path C:\\ledger"
)
_STATES = "\tNewEngineState=Available\n\tPreviousEngineState=None\n\n\tSequenceNumber=13\n\n"
_PROVIDER = "\tProviderName=Registry\n\tNewProviderState=Started\n\n\tSequenceNumber=1\n\n"
_PIPELINE = (
    "\tDetailSequence=1\n\tDetailTotal=1\n\n\tSequenceNumber=15\n\n\tUserId=NORTHWIND\\mira\n"
    + _HOST
    + "\tScriptName=C:\\ledger\\get.ps1\n\tCommandLine=Get-Ledger -Path C:\\ledger"
)

EVENTS: dict[str, WindowsEvent] = {
    **{f"Security {number}": WindowsEvent(SECURITY, number, d) for number, d in _SECURITY.items()},
    "Security 1102": WindowsEvent(SECURITY, 1102, _SUBJECT, is_user_data=True),
    **{
        f"Sysmon {name}": WindowsEvent(SYSMON, int(name.partition(",")[0]), data)
        for name, data in _SYSMON.items()
    },
    "PowerShell 4103": WindowsEvent(
        POWERSHELL, 4103, {"ContextInfo": _CONTEXT, "UserData": "", "Payload": _PAYLOAD}
    ),
    "PowerShell 4104": WindowsEvent(
        POWERSHELL,
        4104,
        {"MessageNumber": "1", "MessageTotal": "2", "ScriptBlockText": "Get-Ledger\n| sort"}
        | {"ScriptBlockId": "0a1b2c3d-0000-4000-8000-000000000003", "Path": "C:\\ledger\\get.ps1"},
    ),
    "PowerShell 4105": WindowsEvent(
        POWERSHELL,
        4105,
        {"ScriptBlockId": "0a1b2c3d-0000-4000-8000-000000000003"}
        | {"RunspaceId": "0a1b2c3d-0000-4000-8000-000000000002"},
    ),
    **{
        f"PowerShell {number}": WindowsEvent(
            CLASSIC,
            number,
            {"param1": "Available", "param2": "None", "param3": _STATES + _HOST + _COMMAND},
        )
        for number in (400, 403)
    },
    "PowerShell 600": WindowsEvent(
        CLASSIC,
        600,
        {"param1": "Registry", "param2": "Started", "param3": _PROVIDER + _HOST + _COMMAND},
    ),
    "PowerShell 800": WindowsEvent(
        CLASSIC,
        800,
        {"param1": "Get-Ledger -Path C:\\ledger", "param2": _PIPELINE, "param3": _PAYLOAD},
    ),
}


def evtx_json(event: WindowsEvent, computer: str, time: str) -> dict[str, Any]:
    """The event as EVTX converted to JSON has it: without braces around GUIDs."""
    data: dict[str, Any] = {name: value.strip("{}") for name, value in event.data.items()}
    if event.channel == CLASSIC:
        data = {"Data": {"#text": list(event.data.values())}}
    system = {
        "Provider": {"#attributes": {"Name": event.provider}},
        "EventID": event.event_id,
        "Level": 4,
        "TimeCreated": {"#attributes": {"SystemTime": time}},
        "EventRecordID": 77,
        "Execution": {"#attributes": {"ProcessID": 2468}},
        "Channel": event.channel,
        "Computer": computer,
    }
    if event.is_user_data:
        return {"Event": {"System": system, "UserData": {"LogFileCleared": data}}}
    return {"Event": {"System": system, "EventData": data}}


def winlogbeat(event: WindowsEvent, computer: str, time: str) -> dict[str, Any]:
    """The event as Winlogbeat 7 and 8 send it without a module."""
    winlog: dict[str, Any] = {
        "channel": event.channel,
        "computer_name": computer,
        "event_id": str(event.event_id),
        "record_id": 77,
        "provider_name": event.provider,
        "process": {"pid": 2468},
        "user_data" if event.is_user_data else "event_data": dict(event.data),
    }
    if event.is_user_data:
        winlog["user_data"]["xml_name"] = "LogFileCleared"
    return {
        "@timestamp": time,
        "agent": {"type": "winlogbeat"},
        "event": {"code": str(event.event_id)},
        "host": {"name": "collector"},
        "log": {"level": "information"},
        "message": "A message\nof several lines",
        "winlog": winlog,
    }


def winlogbeat_6(event: WindowsEvent, computer: str, time: str) -> dict[str, Any]:
    data = dict(event.data)
    return {
        "@timestamp": time,
        "log_name": event.channel,
        "event_id": event.event_id,
        "computer_name": computer,
        "record_number": "77",
        "source_name": event.provider,
        "process_id": 2468,
        "level": "Information",
        "user_data" if event.is_user_data else "event_data": data,
    }


def nxlog(event: WindowsEvent, computer: str, time: str) -> dict[str, Any]:
    return {
        "EventTime": time,
        "EventReceivedTime": time,
        "SourceModuleType": "im_msvistalog",
        "Hostname": computer,
        "Channel": event.channel,
        "EventID": event.event_id,
        "RecordNumber": 77,
        "SourceName": event.provider,
        "ExecutionProcessID": 2468,
        "SeverityValue": 2,
        **event.data,
    }


def evtxecmd(event: WindowsEvent, computer: str, time: str) -> dict[str, Any]:
    """The event as EvtxECmd writes it."""
    items: Any = [{"@Name": name, "#text": value} for name, value in event.data.items()]
    payload: dict[str, Any] = {"EventData": {"Data": items[0] if len(items) == 1 else items}}
    if event.is_user_data:
        payload = {"UserData": {"LogFileCleared": {"@xmlns": "urn:x", **event.data}}}
    return {
        "PayloadData1": "Target: a",
        "MapDescription": "A description",
        "ChunkNumber": 0,
        "Computer": computer,
        "Payload": json.dumps(payload),
        "Channel": event.channel,
        "Provider": event.provider,
        "EventId": event.event_id,
        "EventRecordId": "77",
        "ProcessId": 2468,
        "ThreadId": 9,
        "Level": "Info",
        "Keywords": "Classic",
        "SourceFile": "C:\\kape\\log.evtx",
        "ExtraDataOffset": 0,
        "HiddenRecord": False,
        "TimeCreated": time.replace("Z", "0000+00:00"),
        "RecordNumber": 1,
    }


def get_winevent(event: WindowsEvent, computer: str, time: str) -> dict[str, Any]:
    inserts = {"StringInserts": list(event.data.values())}
    return {
        "TimeCreated": time,
        "Hostname": computer,
        "Channel": event.channel,
        "EventID": event.event_id,
        "RecordNumber": 77,
        "SourceName": event.provider,
        "ExecutionProcessID": 2468,
        "Level": 4,
        **(inserts if event.channel == CLASSIC else event.data),
    }


def azure(event: WindowsEvent, computer: str, time: str) -> dict[str, Any]:
    """A row of the table `WindowsEvent`."""
    return {
        "TimeGenerated": time,
        "Computer": computer,
        "Channel": event.channel,
        "Provider": event.provider,
        "EventID": event.event_id,
        "EventRecordId": "77",
        "SystemProcessId": 2468,
        "EventLevel": 4,
        "EventData": json.dumps(event.data),
        "Type": "WindowsEvent",
    }


def wazuh(event: WindowsEvent, computer: str, time: str) -> dict[str, Any]:
    """An alert of Wazuh, which doubles backslashes and begins names with a small letter."""
    named = {
        name[:1].lower() + name[1:]: value.replace("\\", "\\\\")
        for name, value in event.data.items()
    }
    system = {
        "providerName": event.provider,
        "eventID": str(event.event_id),
        "level": "4",
        "systemTime": time.replace("Z", "0000Z"),
        "eventRecordID": "77",
        "processID": "2468",
        "channel": event.channel,
        "computer": computer,
        "severityValue": "INFORMATION",
        "message": "A message",
    }
    data = {"logFileCleared": named} if event.is_user_data else {"eventdata": named}
    return {
        "timestamp": "2023-11-02T13:04:09.000+0000",
        "rule": {"id": "60000", "level": 3},
        "agent": {"id": "001", "name": "agent-name"},
        "manager": {"name": "wazuh"},
        "data": {"win": {"system": system, **data}},
    }


def event_xml(event: WindowsEvent, computer: str, time: str) -> str:
    """The event as the event log renders it."""
    names = "" if event.channel == CLASSIC else ' Name="{}"'
    items = "".join(
        f"<{name}>{escape(value)}</{name}>"
        if event.is_user_data
        else f"<Data{names.format(name)}>{escape(value)}</Data>"
        for name, value in event.data.items()
    )
    body = f"<EventData>{items}</EventData>"
    if event.is_user_data:
        body = f"<UserData><LogFileCleared>{items}</LogFileCleared></UserData>"
    return (
        f'<Event><System><Provider Name="{event.provider}"/><EventID>{event.event_id}</EventID>'
        f'<Level>4</Level><TimeCreated SystemTime="{time}"/><EventRecordID>77</EventRecordID>'
        f'<Execution ProcessID="2468"/><Channel>{event.channel}</Channel>'
        f"<Computer>{computer}</Computer></System>{body}</Event>"
    )


CSV_COLUMNS = (
    "RecordNumber",
    "EventRecordId",
    "TimeCreated",
    "EventId",
    "Level",
    "Provider",
    "Channel",
    "ProcessId",
    "ThreadId",
    "Computer",
    "ChunkNumber",
    "UserId",
    "MapDescription",
    "UserName",
    "RemoteHost",
    "PayloadData1",
    "PayloadData2",
    "ExecutableInfo",
    "HiddenRecord",
    "SourceFile",
    "Keywords",
    "ExtraDataOffset",
    "Payload",
)


def evtxecmd_csv(event: WindowsEvent, computer: str, time: str) -> str:
    """The event as EvtxECmd writes it to a CSV table of one row."""
    row = evtxecmd(event, computer, time)
    row["TimeCreated"] = time.replace("T", " ").replace("Z", "0000")
    table = io.StringIO()
    writer = csv.DictWriter(table, CSV_COLUMNS, restval="", lineterminator="\r\n")
    writer.writeheader()
    writer.writerow(row)
    return table.getvalue()
