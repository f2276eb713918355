"""Common record shape of endpoint agents that have event formats of their own: Elastic Defend,
Auditbeat, Wazuh's file integrity and Microsoft Defender.

Their decoders convert each event to this shape, which `normalise/endpoint.py` interprets: `kind`,
`os`, the acting `process`, its `parent`, and an object with the details of the kind (`file`,
`registry`, `module`, `connection`, `dns`). A record without a kind has `fields` instead.
"""

from typing import Any, Literal

import xxhash

from vedette.ingest.decode.eventlog import integer, text
from vedette.ingest.record import Record, RecordError
from vedette.ingest.times import any_time_us
from vedette.limits import ENDPOINT_KEY_CHARS_MAX

Kind = Literal[
    "start", "seen", "fork", "end", "file", "registry", "module", "connection", "dns", ""
]
"""Kind of an event. `seen` is a process that ran before the agent started. "" is not in the
model."""

System = Literal["windows", "linux", "osx", ""]
Part = dict[str, Any]
"""A process, or the details of a kind."""

_LIFETIME = frozenset({"start", "seen", "fork", "end"})
_RECORD_ID_MASK = (1 << 47) - 1

INTEGRITY_LEVELS = {
    "untrusted": "Untrusted",
    "low": "Low",
    "medium": "Medium",
    "medium_plus": "Medium Plus",
    "high": "High",
    "system": "System",
    "protected": "Protected",
}
"""Integrity levels in Sysmon's spelling."""

_HASHES = ("sha1", "md5", "sha256")


def make_record(
    host: str,
    time: Any,
    channel: str,
    system: System,
    kind: Kind,
    process: Part,
    *,
    parent: Part | None = None,
    record_id: int = 0,
    **details: Any,
) -> Record:
    """Builds a record. An event without a process keeps its details as fields.

    Raises RecordError: no_host, no_time, bad_time, bad_process (a start or end without a pid).
    """
    if not host:
        raise RecordError("no_host", "the event has no host")
    time_us = any_time_us(time)
    if not time_us:
        if time in (None, ""):
            raise RecordError("no_time", "the event has no time")
        raise RecordError("bad_time", "the event has no plausible time")
    if kind and not process.get("pid"):
        if kind in _LIFETIME:
            raise RecordError("bad_process", f"{kind} event without a process id")
        kind, details = "", {"fields": details}
    data: Part = {"kind": kind, "os": system, "process": process}
    if parent:
        data["parent"] = parent
    return Record("endpoint", host, time_us, channel, 0, record_id, "", 0, data | details)


def make_process(
    pid: Any, path: Any, cmdline: Any = "", *, key: Any = "", start: Any = None, **more: Any
) -> Part:
    """Returns a process without empty members. `start` is its start in any notation."""
    part: Part = {
        "pid": integer(pid),
        "key": text(key)[:ENDPOINT_KEY_CHARS_MAX],
        "start_us": any_time_us(start),
        "path": text(path),
        "cmdline": text(cmdline),
        **more,
    }
    return {name: value for name, value in part.items() if value not in (None, "", 0)}


def hashes_text(hashes: Any) -> str:
    """Returns the hashes of an object with `md5`, `sha1`, `sha256`, in Sysmon's notation."""
    if not isinstance(hashes, dict):
        return ""
    pairs = ((name, text(hashes.get(name))) for name in _HASHES)
    return ",".join(f"{name.upper()}={value}" for name, value in pairs if value)


def record_id_of(*parts: Any) -> int:
    """Returns a record id derived from identifying parts: a unique text, or a counter and its
    time."""
    named = "\x00".join(map(text, parts))
    if not named.strip("\x00"):
        return 0
    return xxhash.xxh3_64_intdigest(named.encode("utf-8", "replace")) & _RECORD_ID_MASK or 1
