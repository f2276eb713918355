"""Converts native records of forwarders to the Open Cybersecurity Schema Framework 1.5
(docs/forwarder.md#ocsf).

https://schema.ocsf.io/1.5.0
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from vedette import __version__
from vedette.web.forwarding.ocsf_parts_json import (
    Body,
    device,
    endpoint,
    file,
    file_of,
    is_identified,
    process_of,
    some,
    user,
)

_VERSION: Final = "1.5.0"
_OTHER: Final = 99
_SEVERITIES: Final = ((9, 5), (7, 4), (4, 3), (2, 2))
"""Lowest alert severity for critical, high, medium and low; lower alerts are informational."""

Activities = Mapping[str, int]

_FILES: Final[Activities] = {"CREATED": 1, "FIRST_WRITE": 3, "LAST_WRITE": 3, "DELETED": 4}
_KEYS: Final[Activities] = {"CREATED_KEY": 1, "DELETED_KEY": 4}
_VALUES: Final[Activities] = {"WRITTEN": 2, "DELETED_VALUE": 4}
_CROSSES: Final[Activities] = {"PROCESS_OPEN": 3, "REMOTE_THREAD": 4}
_PIPES: Final[Activities] = {"CREATED": 1, "CONNECTED": 14}
_PIPE_TYPE: Final = 6
_POWERSHELL: Final = 2
_RCODES: Final = frozenset((*range(12), *range(16, 24)))
"""DNS response codes in the schema."""
_WINDOWS_RCODE: Final = 9_000
"""Offset that Windows adds to DNS response codes."""


def ocsf_record(native: Body) -> Body:
    """Returns the OCSF event of a native record of any type."""
    kind = native["type"].removeprefix("endpoint.event.")
    if kind in _EVENTS:
        return _EVENTS[kind](native)
    return _finding(native)


def _event(
    native: Body, class_uid: int, activity: int, time: str, uid: str, **members: Any
) -> Body:
    return {
        "category_uid": class_uid // 1000 % 100,
        "class_uid": class_uid,
        "activity_id": activity,
        "type_uid": class_uid * 100 + activity,
        "severity_id": 1,
        "time": _milliseconds(time),
        "metadata": {
            "version": _VERSION,
            "uid": uid,
            "tenant_uid": native["org_key"],
            "logged_time": _milliseconds(native["backend_timestamp"]),
            "original_time": time,
            "product": {"name": "Vedette", "vendor_name": "Vedette", "version": __version__},
            "profiles": ["host"],
        },
        "device": device(native),
        **some(**members),
    }


def _finding(native: Body) -> Body:
    """Returns a Detection Finding for an alert, or for a hit of a watchlist or feed."""
    status = native["workflow"]["status"]
    return _event(
        native,
        2004,
        1,
        native["detection_timestamp"],
        native["id"],
        severity_id=next((to for least, to in _SEVERITIES if native["severity"] >= least), 1),
        is_alert=native["type"] != "watchlist.hit",
        status_id={"OPEN": 1, "IN_PROGRESS": 2}.get(status, 4),
        message=native["reason"],
        finding_info=_finding_info(native),
        evidences=_evidences(native),
        observables=[some(name=native["ioc_field"], type_id=_OTHER, value=native["ioc_hit"])]
        if native["ioc_hit"]
        else [],
        # An alert has only path and command line of the parent, too little for a process in the
        # schema.
        unmapped=some(parent_name=native["parent_name"], parent_cmdline=native["parent_cmdline"]),
    )


def _finding_info(native: Body) -> Body:
    kind, kind_id = ("Indicator", _OTHER) if native["ioc_hit"] else ("Rule", 1)
    return some(
        uid=native["id"],
        title=native["reason"],
        desc=native["report_description"],
        types=[native["type"]],
        analytic=some(type_id=kind_id, type=kind, uid=native["reason_code"], name=native["reason"]),
        attacks=[{"technique": {"uid": one}, "version": "ATT&CK"} for one in native["ttps"]],
        created_time=_milliseconds(native["backend_timestamp"]),
        first_seen_time=_milliseconds(native["first_event_timestamp"]),
        last_seen_time=_milliseconds(native["last_event_timestamp"]),
    )


def _evidences(native: Body) -> list[Body]:
    """Returns the process as evidence, or the file if the finding has no process."""
    process = process_of(native, native["process_name"])
    if is_identified(process):
        return [{"process": process}]
    return [{"file": process["file"]}] if "file" in process else []


def _activity(native: Body, class_uid: int, activity: int, **members: Any) -> Body:
    actor = {"process": process_of(native, native["process_path"])}
    time, uid = native["device_timestamp"], native["event_id"]
    return _event(native, class_uid, activity, time, uid, actor=actor, **members)


def _process_activity(native: Body, activity: int, process: Body, **members: Any) -> Body:
    """Returns a process event. A process without an id gets the id of the event."""
    if not is_identified(process):
        process = {**process, "uid": native["event_id"]}
    return _activity(native, 1007, activity, process=process, **members)


def _filemod(native: Body) -> Body:
    activity = _FILES.get(native["filemod_operation"], _OTHER)
    kept = file_of(native, "filemod") or {"name": "", "type_id": 0}
    return _activity(native, 1001, activity, file=kept)


def _pipe(native: Body) -> Body:
    activity = _PIPES.get(native["pipe_operation"], _OTHER)
    return _activity(
        native, 1001, activity, file={"name": native["pipe_name"], "type_id": _PIPE_TYPE}
    )


def _modload(native: Body) -> Body:
    module = some(load_type_id=0, file=file_of(native, "modload"))
    return _activity(native, 1005, 1, module=module)


def _regmod(native: Body) -> Body:
    operation, path = native["regmod_operation"], native["regmod_path"]
    if operation in _KEYS:
        return _activity(native, 201001, _KEYS[operation], reg_key={"path": path})
    key, _, name = path.rpartition("\\")
    value = {"path": key, "name": name, "data": native["regmod_value"]}
    return _activity(native, 201002, _VALUES.get(operation, _OTHER), reg_value=value)


def _netconn(native: Body) -> Body:
    is_outbound = bool(native["netconn_outbound"])
    local = endpoint(native, ip=native["netconn_local_ip"], port=native["netconn_local_port"])
    remote = some(ip=native["netconn_remote_ip"], hostname=native["netconn_domain"])
    if remote:
        remote["port"] = native["netconn_remote_port"]
    source, target = (local, remote) if is_outbound else (remote, local)
    connection = {
        "direction_id": 2 if is_outbound else 1,
        "protocol_num": native["netconn_protocol"],
    }
    return _activity(
        native, 4001, 1, src_endpoint=source, dst_endpoint=target, connection_info=connection
    )


def _childproc(native: Body) -> Body:
    child = some(
        uid=native["childproc_child_id"],
        pid=native["childproc_pid"] or None,
        cmd_line=native["childproc_command_line"],
        user=user(native["childproc_username"]),
        file=file_of(native, "childproc"),
    )
    return _process_activity(native, 1 if native["childproc_started"] else 2, child)


def _crossproc(native: Body) -> Body:
    other = some(uid=native["crossproc_target_id"], file=file_of(native, "crossproc"))
    activity = _CROSSES.get(native["crossproc_kind"], _OTHER)
    made = _process_activity(native, activity, other)
    if native["crossproc_is_target"]:  # the other process acted on this one
        actor, process = made["actor"]["process"], made["process"]
        return made | {"actor": {"process": process}, "process": actor}
    return made


def _processblock(native: Body) -> Body:
    blocked = some(
        cmd_line=native["processblock_command_line"],
        user=user(native["processblock_username"]),
        file=file_of(native, "processblock"),
    )
    outcome = {"status_id": 2, "action_id": 2, "disposition_id": 2}
    made = _process_activity(native, 1, blocked, **outcome)
    made["metadata"]["profiles"] = ["host", "security_control"]
    return made


def _dnsquery(native: Body) -> Body:
    answers = [one for one in native["dnsquery_answers"].split(";") if one]
    code = native["dnsquery_status"]
    code -= _WINDOWS_RCODE if code > _WINDOWS_RCODE else 0
    return _activity(
        native,
        4003,
        1,
        src_endpoint=endpoint(native, ip=native["device_internal_ip"]),
        query=some(hostname=native["dnsquery_name"]),
        answers=[{"rdata": one} for one in answers],
        rcode_id=code if code in _RCODES else _OTHER,
    )


def _scriptblock(native: Body) -> Body:
    script = some(
        type_id=_POWERSHELL,
        uid=native["scriptblock_block_id"],
        script_content={"value": native["scriptblock_text"]},
        file=file(native["scriptblock_path"]),
    )
    return _activity(native, 1009, 1, script=script)


_EVENTS: Final[Mapping[str, Callable[[Body], Body]]] = {
    "filemod": _filemod,
    "modload": _modload,
    "regmod": _regmod,
    "netconn": _netconn,
    "childproc": _childproc,
    "crossproc": _crossproc,
    "processblock": _processblock,
    "dnsquery": _dnsquery,
    "pipe": _pipe,
    "scriptblock": _scriptblock,
}
"""Maps event kind to the function that converts it."""

OCSF_EVENTS: Final = frozenset(_EVENTS)


def _milliseconds(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1_000)
