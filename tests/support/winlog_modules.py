"""Applies the changes of Winlogbeat 7 modules and version 8 ingest pipelines to a document: the
location and the spelling of event data."""

import copy
from collections.abc import Iterable
from typing import Any

Document = dict[str, Any]
_TYPES = {"5": "CNAME", "16": "TXT", "28": "AAAA"}
_STATUSES = {"0": "SUCCESS", "9003": "DNS_ERROR_RCODE_NAME_ERROR"}
_LOGON_TYPES = {"2": "Interactive", "3": "Network", "10": "RemoteInteractive"}


def put(document: Document, path: str, value: Any) -> None:
    *holders, last = path.split(".")
    for name in holders:
        document = document.setdefault(name, {})
    document[last] = value


class _Editor:
    """The document of one event while a module processes it."""

    def __init__(self, raw: Document) -> None:
        self.document = copy.deepcopy(raw)
        self.data: dict[str, Any] = self.document["winlog"].get("event_data", {})

    def move(self, name: str, path: str) -> None:
        if name in self.data:
            put(self.document, path, self.data.pop(name))

    def move_number(self, name: str, path: str) -> None:
        if name in self.data:
            written = self.data.pop(name)
            put(self.document, path, int(written, 16 if written[:2] == "0x" else 10))

    def copy(self, name: str, path: str) -> None:
        if name in self.data:
            put(self.document, path, self.data[name])

    def drop(self, *names: str) -> None:
        for name in names:
            self.data.pop(name, None)

    def done(self) -> Document:
        if not self.data:
            self.document["winlog"].pop("event_data", None)
        return self.document


def module_7(raw: Document) -> Document:
    """The document after the module of version 7, if there is one for its channel."""
    return _processed(raw, version=7)


def pipeline_8(raw: Document) -> Document:
    """The document after the ingest pipeline of version 8, if there is one for its channel."""
    return _processed(raw, version=8)


def _processed(raw: Document, version: int) -> Document:
    editor = _Editor(raw)
    event_id = int(raw["winlog"]["event_id"])
    match raw["winlog"]["channel"]:
        case "Security":
            _security(editor, event_id, version)
        case "Microsoft-Windows-Sysmon/Operational" if version == 8 or event_id < 26:
            _sysmon(editor, event_id, version)
        case "Microsoft-Windows-PowerShell/Operational":
            _powershell(editor, event_id, version)
        case "Windows PowerShell":
            _classic(editor, event_id, version)
    return editor.done()


# --- Security ------------------------------------------------------------------------------

_RENAMED = frozenset(
    {1102, 4624, 4625, 4648, 4673, 4674, 4689, 4697, 4719, 4720, 4726, 4732, 4738, 4740}
    | {4768, 4769, 4770, 4771, 4799}
)
_RENAMED_8 = _RENAMED | {4670, 4904, 4905, 4907, 5140, 5145}


def _security(editor: _Editor, event_id: int, version: int) -> None:
    data, document = editor.data, editor.document
    put(document, "event.module", "security")
    if event_id == 4688:
        _account(editor, "Subject", "user")
        if version == 8:
            _account(editor, "Target", "user.effective")
            put(document, "process.parent.pid", int(data["ProcessId"], 16))
        editor.move_number("NewProcessId", "process.pid")
        editor.move("NewProcessName", "process.executable")
        editor.move("ParentProcessName", "process.parent.executable")
        editor.copy("CommandLine", "process.command_line")
        put(document, "process.args", data["CommandLine"].split(" "))
    elif "TargetUserName" in data and event_id in {4624, 4625, 4634, 4648, 4768, 4769, 4771, 4776}:
        _account(editor, "Target", "user")
    else:
        _account(editor, "Subject", "user")
    if event_id in (_RENAMED_8 if version == 8 else _RENAMED):
        editor.move_number("ProcessId", "process.pid")
        editor.move("ProcessName", "process.executable")
        editor.move("WorkstationName", "source.domain")
        if data.get("IpAddress") not in (None, "-"):
            editor.move("IpAddress", "source.ip")
            editor.move_number("IpPort", "source.port")
    is_ticket = event_id in {4768, 4769, 4770, 4771}
    if is_ticket and "source" in document:
        document["source"]["ip"] = document["source"]["ip"].removeprefix("::ffff:")
        data["TicketOptionsDescription"] = ["Forwardable"]
        data["StatusDescription"] = "KDC_ERR_NONE"
    if "LogonType" in data:
        put(document, "winlog.logon.type", _LOGON_TYPES.get(data["LogonType"], ""))
    if "PrivilegeList" in data:
        data["PrivilegeList"] = data["PrivilegeList"].split()
    for name in ("UserAccountControl", "AccessMask"):
        if event_id in {4673, 4674, 4720, 4738} and name in data:
            data[name] = [one for one in "".join(data[name].split()).split("%%") if one]
            data["NewUACList"] = ["SCRIPT"]
    if event_id == 4719:
        data["SubCategory"] = "Logon"
        data["AuditPolicyChangesDescription"] = ["Success added"]


def _account(editor: _Editor, who: str, path: str) -> None:
    for name, ecs in (("UserSid", "id"), ("UserName", "name"), ("DomainName", "domain")):
        editor.copy(f"{who}{name}", f"{path}.{ecs}")


# --- Sysmon --------------------------------------------------------------------------------

_FILE_HASHES = frozenset({6, 7, 15, 29})
_PROCESS_HASHES = frozenset({1, 23, 24, 25, 26})


def _sysmon(editor: _Editor, event_id: int, version: int) -> None:
    data, document = editor.data, editor.document
    put(document, "event.module", "sysmon")
    time = data.pop("UtcTime")
    document["@timestamp"] = time.replace(" ", "T") + "Z"
    if data.get("RuleName", "-") != "-":
        editor.move("RuleName", "rule.name")
    editor.drop("RuleName")
    _sysmon_process(editor, event_id)
    is_image = event_id in {6, 7}
    for name, path in (
        ("TargetFilename", "file.path"),
        ("ImageLoaded", "file.path"),
        ("Device", "file.path"),
        ("PipeName", "file.name"),
        ("OriginalFileName", ("file" if event_id == 7 else "process") + ".pe.original_file_name"),
        ("Destination", "process.executable"),
        ("Protocol", "network.transport"),
        ("SourceIp", "source.ip"),
        ("SourceHostname", "source.domain"),
        ("DestinationIp", "destination.ip"),
        ("DestinationHostname", "destination.domain"),
        ("DestinationPortName", "network.protocol"),
        ("QueryName", "dns.question.name"),
        ("ID", "error.code"),
    ):
        editor.move(name, path)
    editor.move_number("SourcePort", "source.port")
    editor.move_number("DestinationPort", "destination.port")
    for name, ecs in (("Company", "company"), ("FileVersion", "file_version")):
        editor.copy(name, f"{'file' if event_id == 7 else 'process'}.pe.{ecs}")
    if is_image:
        editor.copy("Signature", "file.code_signature.subject_name")
        editor.copy("SignatureStatus", "file.code_signature.status")
    _sysmon_rest(editor, event_id, version)


def _sysmon_process(editor: _Editor, event_id: int) -> None:
    for name, path in (
        ("ProcessGuid", "process.entity_id"),
        ("Image", "process.executable"),
        ("SourceProcessGuid", "process.entity_id"),
        ("SourceProcessGUID", "process.entity_id"),
        ("SourceImage", "process.executable"),
        ("CommandLine", "process.command_line"),
        ("CurrentDirectory", "process.working_directory"),
        ("ParentProcessGuid", "process.parent.entity_id"),
        ("ParentImage", "process.parent.executable"),
        ("ParentCommandLine", "process.parent.command_line"),
    ):
        editor.move(name, path)
    for name, path in (
        ("ProcessId", "process.pid"),
        ("SourceProcessId", "process.pid"),
        ("ParentProcessId", "process.parent.pid"),
        ("SourceThreadId", "process.thread.id"),
    ):
        editor.move_number(name, path)


def _sysmon_rest(editor: _Editor, event_id: int, version: int) -> None:
    data, document = editor.data, editor.document
    if "Initiated" in data:
        direction = {"true": "egress", "false": "ingress"}[data.pop("Initiated")]
        put(document, "network.direction", direction)
        family = {"true": "ipv6", "false": "ipv4"}[data.pop("SourceIsIpv6")]
        put(document, "network.type", family)
        editor.drop("DestinationIsIpv6")
    if version == 8 or event_id in {1, 3, 19, 20, 21, 23, 24, 25}:
        domain, _, name = data.pop("User", "\\").partition("\\")
        if name:
            put(document, "user.domain", domain)
            put(document, "user.name", name)
    for name, path in (
        ("Archived", "sysmon.file.archived"),
        ("IsExecutable", "sysmon.file.is_executable"),
    ):
        if name in data:
            put(document, path, data.pop(name) == "true")
    _sysmon_hashes(editor, event_id)
    if "QueryStatus" in data:
        put(document, "sysmon.dns.status", _STATUSES[data.pop("QueryStatus")])
        put(document, "dns.answers", [*_answers(data.pop("QueryResults"))])
    if "TargetObject" in data:
        _registry(editor, keeps=version == 7)
    if version == 8:
        if "TargetProcessGuid" in data:
            data["TargetProcessGUID"] = data.pop("TargetProcessGuid")
        for name in [name for name, value in data.items() if value in ("", "-")]:
            del data[name]


def _sysmon_hashes(editor: _Editor, event_id: int) -> None:
    written = editor.data.pop("Hashes", "") or editor.data.pop("Hash", "")
    if not written:
        return
    pairs = dict(one.lower().split("=") for one in written.split(","))
    put(editor.document, "related.hash", sorted(pairs.values()))
    holder = "file" if event_id in _FILE_HASHES else "process"
    if event_id in _FILE_HASHES | _PROCESS_HASHES:
        put(editor.document, f"{holder}.pe.imphash", pairs.pop("imphash"))
        put(editor.document, f"{holder}.hash", pairs)


def _answers(results: str) -> Iterable[dict[str, str]]:
    for one in results.removeprefix("-").split(";"):
        if not one:
            continue
        if one.startswith("type:"):
            _, number, data = one.split()
            yield {"type": _TYPES[number], "data": data}
        else:
            address = one.removeprefix("::ffff:")
            yield {"type": "AAAA" if ":" in address else "A", "data": address}


def _registry(editor: _Editor, *, keeps: bool) -> None:
    data, document = editor.data, editor.document
    put(document, "registry.path", data["TargetObject"])
    details = data.get("Details", "")
    if details.startswith("DWORD ("):
        number = int(details[7:-1], 16)
        put(document, "registry.data", {"strings": [str(number)], "type": "SZ_DWORD"})
    elif details.startswith("QWORD ("):
        number = int(details.partition("-")[2][:-1], 16)
        put(document, "registry.data", {"strings": [str(number)], "type": "SZ_QWORD"})
    elif details:
        kind = "REG_BINARY" if details == "Binary Data" else "REG_SZ"
        put(document, "registry.data", {"strings": [details], "type": kind})
    if not keeps:
        editor.drop("TargetObject", "Details")


# --- PowerShell ----------------------------------------------------------------------------

_OF_HOST = {
    "HostName": "process.title",
    "HostVersion": "powershell.process.executable_version",
    "HostId": "process.entity_id",
    "HostID": "process.entity_id",
    "HostApplication": "process.command_line",
    "EngineVersion": "powershell.engine.version",
    "RunspaceId": "powershell.runspace_id",
    "RunspaceID": "powershell.runspace_id",
    "PipelineId": "powershell.pipeline_id",
    "PipelineID": "powershell.pipeline_id",
    "CommandName": "powershell.command.name",
    "CommandType": "powershell.command.type",
    "CommandPath": "powershell.command.path",
    "CommandLine": "powershell.command.value",
    "ScriptName": "file.path",
    "ShellID": "powershell.id",
    "NewEngineState": "powershell.engine.new_state",
    "PreviousEngineState": "powershell.engine.previous_state",
    "ProviderName": "powershell.provider.name",
    "NewProviderState": "powershell.provider.new_state",
}


def _take_apart(editor: _Editor, written: str, separator: str) -> None:
    for line in written.splitlines():
        name, mark, value = line.partition(separator)
        name, value = name.strip().replace(" ", ""), value.strip()
        if not mark or not value:
            continue
        if name in {"User", "UserId", "ConnectedUser"}:
            domain, _, account = value.partition("\\")
            holder = "powershell.connected_user" if name == "ConnectedUser" else "user"
            put(editor.document, f"{holder}.domain", domain)
            put(editor.document, f"{holder}.name", account)
        elif name == "SequenceNumber":
            put(editor.document, "event.sequence", int(value))
        elif name in {"DetailTotal", "DetailSequence"}:
            put(editor.document, f"powershell.{name[6:].lower()}", int(value))
        elif name in _OF_HOST:
            put(editor.document, _OF_HOST[name], value)


def _powershell(editor: _Editor, event_id: int, version: int) -> None:
    put(editor.document, "event.module", "powershell")
    if event_id == 4103:
        _take_apart(editor, editor.data.pop("ContextInfo"), " = ")
        _invocations(editor, editor.data.pop("Payload"))
        if version == 8 and "powershell" in editor.document:
            connected = editor.document["powershell"].pop("connected_user", None)
            if connected:
                put(editor.document, "destination.user", editor.document.pop("user"))
                put(editor.document, "source.user", connected)
                put(editor.document, "user", connected)
    editor.move("ScriptBlockText", "powershell.file.script_block_text")
    editor.move("ScriptBlockId", "powershell.file.script_block_id")
    editor.move("RunspaceId", "powershell.runspace_id")
    editor.move("Path", "file.path")
    editor.move_number("MessageNumber", "powershell.sequence")
    editor.move_number("MessageTotal", "powershell.total")


def _classic(editor: _Editor, event_id: int, version: int) -> None:
    put(editor.document, "event.module", "powershell")
    _take_apart(editor, editor.data["param2" if event_id == 800 else "param3"], "=")
    if event_id == 800:
        _invocations(editor, editor.data["param3"])
    editor.drop("param1", "param2", "param3")


def _invocations(editor: _Editor, payload: str) -> None:
    details = []
    for line in payload.splitlines():
        kind, _, rest = line.partition("(")
        command, _, value = rest.partition("): ")
        detail = {"type": kind, "related_command": command, "value": value}
        if kind == "ParameterBinding":
            name, _, bound = value.partition("; value=")
            detail |= {"name": name.removeprefix("name="), "value": bound}
        details.append(detail)
    put(editor.document, "powershell.command.invocation_details", details)
