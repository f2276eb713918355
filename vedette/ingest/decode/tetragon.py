"""Decoder of Tetragon's JSON export: one object per event. A member `process_*` names its kind."""

from typing import Any

from vedette.ingest.decode import shipper
from vedette.ingest.decode.eventlog import lower_host
from vedette.ingest.record import Record, RecordError
from vedette.ingest.times import any_time_us

KINDS: tuple[str, ...] = (
    "process_exec",
    "process_exit",
    "process_kprobe",
    "process_tracepoint",
    "process_uprobe",
    "process_lsm",
    "process_loader",
)


def recognises(obj: dict[str, Any]) -> bool:
    return any(isinstance(obj.get(kind), dict) and "process" in obj[kind] for kind in KINDS)


def decode(obj: dict[str, Any]) -> list[Record]:
    """Raises RecordError: no_host, no_time."""
    node = obj.get("node_name")
    host = lower_host(node) if isinstance(node, str) else shipper.host_of(obj)
    if not host:
        raise RecordError("no_host", "the event has no node_name")
    time_us = any_time_us(obj.get("time")) or shipper.time_of(obj)
    if not time_us:
        raise RecordError("no_time", "the event has no time")
    kind = next(kind for kind in KINDS if isinstance(obj.get(kind), dict))
    return [Record("tetragon", host, time_us, "tetragon", data={"kind": kind, "event": obj[kind]})]
