"""Formats event streams and their event records (docs/process-analysis-events.md).

Text is not escaped. Unknown text is "", other unknown values are null.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from vedette.model.event import (
    ChildKind,
    Childproc,
    CrossKind,
    Crossproc,
    Filemod,
    Modload,
    Netconn,
    Processblock,
    Regmod,
)
from vedette.model.event_facets import EVENT_FACETS, FILE_TYPES
from vedette.search.streams.stream import Signatures, StreamPage, file_hashes
from vedette.store.read.process_events import SequencedEvent
from vedette.web.json.wire_values import instant
from vedette.web.processes.analysis.event_lists_json import (
    block_result,
    netconn_object_v4,
    process_reference,
)

Data = dict[str, Any]

_FILE_ACTIONS: Final = EVENT_FACETS["filemod_action"].names
_REGISTRY_ACTIONS: Final = EVENT_FACETS["regmod_action"].names
_CROSS_TYPES: Final = {
    CrossKind.REMOTE_THREAD: "RemoteThread",
    CrossKind.PROCESS_OPEN: "ProcessOpen",
}
_CHILD_SUBTYPES: Final = {
    ChildKind.FORK: "fork",
    ChildKind.EXEC: "exec",
    ChildKind.OTHER_EXEC: "other_exec",
}


def filemod_data(event: Filemod) -> Data:
    return {
        "operation": event.operation,
        "action": _FILE_ACTIONS.get(str(event.operation)),
        "path": event.path,
        "md5": event.md5,
        "sha256": event.sha256,
        "filetype": event.file_type or None,
        "filetype_name": FILE_TYPES.get(event.file_type),
        "is_tampered": bool(event.tamper),
    }


def modload_data(event: Modload) -> Data:
    return {"path": event.path, "md5": event.md5, "sha256": event.sha256}


def regmod_data(event: Regmod) -> Data:
    return {
        "operation": event.operation,
        "action": _REGISTRY_ACTIONS.get(str(event.operation)),
        "path": event.path,
        "value": event.value,
        "is_tampered": bool(event.tamper),
    }


def netconn_data(event: Netconn) -> Data:
    """Returns the object of `/event` v4, always with both fingerprints."""
    return {"ja3": "", "ja3s": "", **netconn_object_v4(event)}


def crossproc_data(event: Crossproc) -> Data:
    is_open = event.kind == CrossKind.PROCESS_OPEN
    return {
        "type": _CROSS_TYPES.get(CrossKind(event.kind)),
        "processId": event.target_id,
        "unique_id": process_reference(event.target_id),
        "path": event.path,
        "md5": event.md5,
        "sha256": event.sha256,
        "subtype": (event.subtype or 1) if is_open else None,
        "requested_access": event.access if is_open else None,
        "is_target": bool(event.is_target),
        "start_module": event.start_module,
        "start_function": event.start_function,
        "is_tampered": bool(event.tamper),
    }


def childproc_data(event: Childproc) -> Data:
    moment = instant(event.time_us)
    return {
        "type": "start" if event.started else "end",
        "subtype": _CHILD_SUBTYPES.get(ChildKind(event.kind)),
        "start": moment if event.started else None,
        "end": None if event.started else moment,
        "processId": event.child_id,
        "pid": event.pid,
        "path": event.path,
        "md5": event.md5,
        "sha256": event.sha256,
        "commandLine": event.command_line,
        "userName": event.username,
        "is_suppressed": bool(event.suppressed),
        "is_tampered": bool(event.tamper),
    }


def processblock_data(event: Processblock) -> Data:
    return {
        "block_type": event.block_type,
        "block_event": event.block_event,
        "block_result": block_result(event),
        "block_error": event.block_error,
        "blocked_path": event.path,
        "blocked_cmdline": event.command_line,
        "blocked_md5": event.md5,
        "blocked_sha256": event.sha256,
        "blocked_uid": event.uid,
        "blocked_username": event.username,
    }


EVENT_DATA: Final[Mapping[str, Callable[[Any], Data]]] = {
    "filemod": filemod_data,
    "modload": modload_data,
    "regmod": regmod_data,
    "netconn": netconn_data,
    "crossproc": crossproc_data,
    "childproc": childproc_data,
    "processblock": processblock_data,
}
"""Maps event type to the function that formats its data."""


def stream_body(page: StreamPage) -> Data:
    """Returns a stream with the events from its position."""
    return {
        "stream_id": page.stream_id,
        "status_fw": page.status_forward,
        "status_bw": page.status_backward,
        "ref_segment_id": page.ref_segment_id,
        "cur_segment_id": page.segment_id,
        "head_as_ref_segment_offset": page.offset_in_ref,
        "head_as_cur_segment_offset": page.offset,
        "events": event_records(page.events, page.signatures),
    }


def event_records(events: Iterable[SequencedEvent], signatures: Signatures) -> list[Data]:
    """Returns event records. Their feed members are always null."""
    return [
        {
            "type": item.kind.name,
            "time": instant(item.event.time_us),
            "data": EVENT_DATA[item.kind.name](item.event),
            "segment_id": item.segment_id,
            "binary_info": _binary_info(item.event, signatures),
            "alliance_hits": None,
            "ondemand_feeds": None,
            "ondemand_classification": None,
        }
        for item in events
    ]


def _binary_info(event: object, signatures: Signatures) -> Data | None:
    """Returns the signature of the event's file from the catalog of binaries, else from the event
    itself; None if neither has one."""
    md5, sha256 = file_hashes(event)
    known = signatures.get(md5 or sha256)
    if isinstance(event, Modload) and not (known and known[0]):
        known = (event.digsig_result, event.digsig_publisher)
    if known is None or not any(known):
        return None
    return {"digsig_result": known[0] or None, "digsig_publisher": known[1] or None}
