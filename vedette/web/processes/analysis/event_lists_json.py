"""Formats the events of a process as pipe-separated strings and JSON objects, by version of the
API.

Values: docs/api-objects.md#process-events. Clients split at every pipe and count the fields
(docs/clients.md#event-lists), so each function always writes the same number of fields. Text that
an attacker controls (paths, registry keys, names) passes through `pipe_safe`. Rules:
docs/event-strings.md.

`EVENT_LISTS` at the end maps each version to its formats.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, Literal

import orjson

from vedette.model.address import address_text, signed_int32
from vedette.model.event import (
    BLOCK_RESULT_UNKNOWN,
    UNKNOWN_IP,
    Childproc,
    CrossKind,
    Crossproc,
    Filemod,
    FileOperation,
    Modload,
    Netconn,
    Processblock,
    ProcessEvent,
    Regmod,
)
from vedette.model.ids import unique_id
from vedette.search.events.preview import Preview
from vedette.search.processes.process import ProcessEvents
from vedette.web.json.wire_values import elapsed, event_time, instant, pipe_safe, truth
from vedette.web.processes.models import Body, process_body

EventVersion = Literal[1, 2, 3, 4]
"""Version of the `/event` routes (docs/event-strings.md#the-entries)."""

FIRST_SEGMENT: Final = 1
"""Segment number in the unique id of a referenced process, whose actual segments are not read."""

UNSPECIFIED: Final = "0.0.0.0"  # noqa: S104 - shown, not listened on
"""An unknown address in v4."""

_CROSS_KINDS: Final = {
    CrossKind.REMOTE_THREAD: "RemoteThread",
    CrossKind.PROCESS_OPEN: "ProcessOpen",
}


def process_reference(process_id: str) -> str:
    """Returns the unique id of a referenced process, "" if its id is unknown."""
    return unique_id(process_id, FIRST_SEGMENT) if process_id else ""


def filemod_text(event: Filemod) -> str:
    """Formats `op|time|path|md5|file type|tamper`; md5 only for a last write, file type "" if
    unknown."""
    md5 = event.md5 if event.operation == FileOperation.LAST_WRITE else ""
    return (
        f"{event.operation}|{event_time(event.time_us)}|{pipe_safe(event.path)}"
        f"|{md5}|{event.file_type or ''}|{truth(event.tamper)}"
    )


def modload_text(event: Modload) -> str:
    """Formats a module load as `time|md5|path`."""
    return f"{event_time(event.time_us)}|{event.md5}|{pipe_safe(event.path)}"


def regmod_text(event: Regmod) -> str:
    """Formats a registry change as `op|time|key path|tamper`."""
    return (
        f"{event.operation}|{event_time(event.time_us)}|{pipe_safe(event.path)}"
        f"|{truth(event.tamper)}"
    )


def crossproc_text(event: Crossproc) -> str:
    """Formats `type|time|unique id|md5|path|sub-type|access|tamper|is target`.

    Sub-type and access are empty for remote threads. A process open always has a sub-type, because
    clients parse it as a number.
    """
    opened = event.kind == CrossKind.PROCESS_OPEN
    subtype = (event.subtype or 1) if opened else ""
    access = event.access if opened else ""
    return (
        f"{_CROSS_KINDS[CrossKind(event.kind)]}|{event_time(event.time_us)}"
        f"|{process_reference(event.target_id)}|{event.md5}|{pipe_safe(event.path)}"
        f"|{subtype}|{access}|{truth(event.tamper)}|{truth(event.is_target)}"
    )


def netconn_text(event: Netconn) -> str:
    """Formats `time|int32 ip|port|protocol|domain|outbound`, with the remote address of an outbound
    connection or the local address of an inbound one; 0 for an IPv6 address."""
    ip, port = (
        (event.remote_ip, event.remote_port)
        if event.outbound
        else (event.local_ip, event.local_port)
    )
    return (
        f"{event_time(event.time_us)}|{signed_int32(ip)}|{port}|{event.protocol}"
        f"|{pipe_safe(event.domain)}|{truth(event.outbound)}"
    )


def netconn_object(event: Netconn) -> dict[str, Any]:
    """Returns the v2 and v3 object: addresses as signed 32-bit numbers, 0 for IPv6."""
    return _netconn(event, signed_int32(event.local_ip), signed_int32(event.remote_ip))


def netconn_object_v4(event: Netconn) -> dict[str, Any]:
    """Returns the v4 object: addresses as text, `0.0.0.0` if unknown."""
    return _netconn(event, _address(event.local_ip), _address(event.remote_ip))


def _address(packed: bytes) -> str:
    return UNSPECIFIED if packed == UNKNOWN_IP else address_text(packed)


def _netconn(event: Netconn, local_ip: int | str, remote_ip: int | str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "timestamp": instant(event.time_us),
        "direction": truth(event.outbound),
        "proto": event.protocol,
        "domain": event.domain,
        "local_ip": local_ip,
        "local_port": event.local_port,
        "remote_ip": remote_ip,
        "remote_port": event.remote_port,
    }
    if event.ja3:
        body["ja3"] = event.ja3
    if event.ja3s:
        body["ja3s"] = event.ja3s
    return body


def childproc_text(event: Childproc) -> str:
    """Formats a child process as `time|unique id|md5|path|pid|started|tamper`."""
    return (
        f"{event_time(event.time_us)}|{process_reference(event.child_id)}|{event.md5}"
        f"|{pipe_safe(event.path)}|{event.pid}|{truth(event.started)}|{truth(event.tamper)}"
    )


def childproc_object(event: Childproc) -> dict[str, Any]:
    """Returns the v3 and v4 object; `start` or `end` contains the event's time
    (docs/clients.md#aliases)."""
    moment = instant(event.time_us)
    return {
        "type": "start" if event.started else "end",
        "start": moment if event.started else None,
        "end": None if event.started else moment,
        "processId": event.child_id,
        "md5": event.md5,
        "path": event.path,
        "pid": event.pid,
        "is_suppressed": bool(event.suppressed),
        "is_tampered": bool(event.tamper),
        "commandLine": event.command_line if event.suppressed else "",
        "userName": event.username if event.suppressed else "",
    }


def block_result(event: Processblock) -> int | None:
    """Returns a key of `BLOCK_STATUSES`, or None if the source does not report one."""
    return None if event.block_result == BLOCK_RESULT_UNKNOWN else event.block_result


def processblock_text(event: Processblock) -> str:
    """Returns a JSON object in a string, which clients expect in every version
    (docs/clients.md#event-lists)."""
    return orjson.dumps(
        {
            "block_type": event.block_type,
            "block_event": event.block_event,
            "block_result": block_result(event),
            "block_error": event.block_error,
            "blocked_md5": event.md5,
            "blocked_path": event.path,
            "blocked_cmdline": event.command_line,
            "blocked_uid": event.uid,
            "blocked_username": event.username,
            "timestamp": instant(event.time_us),
        }
    ).decode()


Writer = Callable[[Any], Any]
"""Formats an event of a certain kind for the API."""

_ALWAYS: Final[dict[str, Writer]] = {
    "filemod": filemod_text,
    "modload": modload_text,
    "regmod": regmod_text,
    "netconn": netconn_text,
    "childproc": childproc_text,
    "crossproc": crossproc_text,
    "processblock": processblock_text,
}

EVENT_LISTS: Final[dict[EventVersion, dict[str, Writer]]] = {
    1: _ALWAYS,
    2: {**_ALWAYS, "netconn": netconn_object},
    3: {**_ALWAYS, "netconn": netconn_object, "childproc": childproc_object},
    4: {**_ALWAYS, "netconn": netconn_object_v4, "childproc": childproc_object},
}
"""Maps each version to the formats of its event lists. DNS queries, pipes and script blocks have no
list (docs/api-processes.md)."""

SUPPRESSION_SINCE: Final[EventVersion] = 3
"""First version whose child events include suppression (docs/api-objects.md#process-events)."""

ISOLATION: Final = 1
"""`Processblock.block_type` of a connection that an isolated host blocked."""

_BY_TIME: Final = attrgetter("time_us")


def process_events_body(found: ProcessEvents, version: EventVersion) -> Body:
    """Returns a process with its event lists (docs/api-objects.md#process-events).
    `incomplete_events` is true if the lists end before the last of `total_events`."""
    body = process_body(found.row) | _event_members(found.by_kind, version)
    body["binaries"] = _binaries(found.by_kind.get("modload", ()))
    return {
        "process": body,
        "total_events": found.total,
        "incomplete_events": found.is_cut,
        "elapsed": elapsed(found.elapsed_s),
    }


def preview_body(found: Preview) -> Body:
    """Returns a process with some of its events (docs/api-objects.md#process-preview) in version 1
    format."""
    body = process_body(found.row) | _event_members(found.by_kind, 1)
    return body | {"segment": body["segment_id"], "elapsed": elapsed(found.elapsed_s)}


def _event_members(by_kind: Mapping[str, Sequence[ProcessEvent]], version: EventVersion) -> Body:
    """Returns the event lists, each in chronological order, and `block_type`."""
    lists: Body = {"block_type": _block_type(by_kind.get("processblock", ()))}
    for kind, write in EVENT_LISTS[version].items():
        ordered = sorted(by_kind.get(kind, ()), key=_BY_TIME)
        lists[f"{kind}_complete"] = [write(event) for event in ordered]
    return lists


def _block_type(blocks: Sequence[ProcessEvent]) -> int:
    """Returns 1 if host isolation blocked the process (docs/api-objects.md#process-events), else
    0."""
    return int(any(getattr(block, "block_type", 0) == ISOLATION for block in blocks))


def _binaries(modloads: Sequence[ProcessEvent]) -> Body:
    """Maps MD5 in upper case to signature, which saves clients a request per binary."""
    return {
        event.md5.upper(): {
            "digsig_result": event.digsig_result,
            "digsig_publisher": event.digsig_publisher,
        }
        for event in modloads
        if isinstance(event, Modload) and event.md5 and event.digsig_result
    }
