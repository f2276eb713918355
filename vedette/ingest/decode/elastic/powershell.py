"""Places of the members of PowerShell events in documents of Winlogbeat's PowerShell module.

The module splits texts of an event: `ContextInfo` and `Payload` of 4103, and the parameters of the
classic log. Rules search these texts, so they are reassembled in their original form.
"""

from typing import Any

from vedette.ingest.decode.elastic.member import Members, Read, account_at, at, member
from vedette.ingest.decode.eventlog import text
from vedette.limits import MODULE_LIST_ITEMS_MAX

_HOST_APPLICATION = at("process", "command_line")
_SEVERITIES = {"information": "Informational", "warning": "Warning", "error": "Error"}


def _severity(obj: Any) -> str:
    return _SEVERITIES.get(text(member(obj, ("log", "level"))).lower(), "")


_user = account_at("user")
_connected_user = account_at("source", "user")


def _connecting_user(obj: Any) -> str:
    """Returns the account that runs the command. A pipeline moves it if another account
    connected."""
    return text(account_at("destination", "user")(obj) or _user(obj))


def _other_user(obj: Any) -> str:
    return text(account_at("powershell", "connected_user")(obj) or _connected_user(obj))


_CONTEXT: tuple[tuple[str, Read], ...] = (
    ("Severity", _severity),
    ("Host Name", at("process", "title")),
    ("Host Version", at("powershell", "process", "executable_version")),
    ("Host ID", at("process", "entity_id")),
    ("Host Application", _HOST_APPLICATION),
    ("Engine Version", at("powershell", "engine", "version")),
    ("Runspace ID", at("powershell", "runspace_id")),
    ("Pipeline ID", at("powershell", "pipeline_id")),
    ("Command Name", at("powershell", "command", "name")),
    ("Command Type", at("powershell", "command", "type")),
    ("Script Name", at("file", "path")),
    ("Command Path", at("powershell", "command", "path")),
    ("Sequence Number", at("event", "sequence")),
    ("User", _connecting_user),
    ("Connected User", _other_user),
    ("Shell ID", at("powershell", "id")),
)
_ENGINE: tuple[tuple[str, Read], ...] = (
    ("HostName", at("process", "title")),
    ("HostVersion", at("powershell", "process", "executable_version")),
    ("HostId", at("process", "entity_id")),
    ("HostApplication", _HOST_APPLICATION),
    ("EngineVersion", at("powershell", "engine", "version")),
    ("RunspaceId", at("powershell", "runspace_id")),
    ("PipelineId", at("powershell", "pipeline_id")),
)
_COMMAND: tuple[tuple[str, Read], ...] = (
    ("CommandName", at("powershell", "command", "name")),
    ("CommandType", at("powershell", "command", "type")),
    ("ScriptName", at("file", "path")),
    ("CommandPath", at("powershell", "command", "path")),
    ("CommandLine", at("powershell", "command", "value")),
)
_SEQUENCE = ("SequenceNumber", at("event", "sequence"))
_STATES = (
    ("NewEngineState", at("powershell", "engine", "new_state")),
    ("PreviousEngineState", at("powershell", "engine", "previous_state")),
)
_PROVIDER = (
    ("ProviderName", at("powershell", "provider", "name")),
    ("NewProviderState", at("powershell", "provider", "new_state")),
)
_DETAIL = (
    ("DetailSequence", at("powershell", "sequence")),
    ("DetailTotal", at("powershell", "total")),
)


def operational(event_id: int) -> Members:
    """Returns the places of the members of an operational-log event, by name."""
    match event_id:
        case 4103:
            return {"ContextInfo": (_context_info,), "Payload": (_payload,)}
        case 4104:
            return {
                "MessageNumber": (at("powershell", "sequence"),),
                "MessageTotal": (at("powershell", "total"),),
                "ScriptBlockText": (at("powershell", "file", "script_block_text"),),
                "ScriptBlockId": (at("powershell", "file", "script_block_id"),),
                "Path": (at("file", "path"),),
            }
        case 4105 | 4106:
            return {
                "ScriptBlockId": (at("powershell", "file", "script_block_id"),),
                "RunspaceId": (at("powershell", "runspace_id"),),
            }
    return {}


def classic(event_id: int) -> Members:
    """Returns the places of the parameters of a classic-log event, by name."""
    match event_id:
        case 400 | 403:
            return {
                "param1": (_STATES[0][1],),
                "param2": (_STATES[1][1],),
                "param3": (_engine_text(_STATES),),
            }
        case 600:
            return {
                "param1": (_PROVIDER[0][1],),
                "param2": (_PROVIDER[1][1],),
                "param3": (_engine_text(_PROVIDER),),
            }
        case 800:
            return {
                "param1": (at("powershell", "command", "value"),),
                "param2": (_pipeline_text,),
                "param3": (_payload,),
            }
    return {}


def _context_info(obj: Any) -> str:
    if not isinstance(member(obj, ("powershell",)), dict):
        return ""
    lines = (f"        {name} = {text(read(obj))}" for name, read in _CONTEXT)
    return "\n".join(lines) + "\n"


def _payload(obj: Any) -> str:
    """Returns the commands of a pipeline, one per line, with their bound parameters."""
    details = member(obj, ("powershell", "command", "invocation_details"))
    if not isinstance(details, list):
        return ""
    return "\n".join(map(_detail_line, details[:MODULE_LIST_ITEMS_MAX]))


def _detail_line(detail: Any) -> str:
    kind, command, name, value = (
        text(member(detail, (part,))) for part in ("type", "related_command", "name", "value")
    )
    if not kind:
        return value
    return f"{kind}({command}): " + (f"name={name}; value={value}" if name else value)


def _engine_text(states: tuple[tuple[str, Read], ...]) -> Read:
    groups = (states, (_SEQUENCE,), (*_ENGINE, *_COMMAND))
    return lambda obj: _grouped(obj, groups)


def _pipeline_text(obj: Any) -> str:
    details = (("UserId", _user), *_ENGINE, *_COMMAND[2:3], *_COMMAND[4:])
    return _grouped(obj, (_DETAIL, (_SEQUENCE,), details))


def _grouped(obj: Any, groups: tuple[tuple[tuple[str, Read], ...], ...]) -> str:
    """Returns lines `name=value`, with an empty line between groups."""
    if not isinstance(member(obj, ("powershell",)), dict):
        return ""
    return "\n\n".join(
        "\n".join(f"\t{name}={text(read(obj))}" for name, read in group) for group in groups
    )
