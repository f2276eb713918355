"""Decoder of the Vedette sensor: event format 1 (docs/sensor-events.md), one object per event.

Events do not name their host: the server adds the host of the sensor's key. Events that arrive in
other ways (file, shipper) need a member that names it.
"""

from typing import Any, TypeGuard

from vedette.ingest.decode import shipper
from vedette.ingest.record import Record, RecordError

FORMAT = 1
CHANNEL = "vedette"

TYPES = frozenset({"start", "exec", "end", "file", "net", "proc", "block", "image"})


def recognises(obj: dict[str, Any]) -> bool:
    return "vedette_event" in obj


def decode(obj: dict[str, Any]) -> list[Record]:
    """Raises RecordError: unknown_format (another format or type), no_host, no_time,
    bad_process."""
    if obj["vedette_event"] != FORMAT:
        raise RecordError("unknown_format", f"vedette_event: only format {FORMAT} is supported")
    kind = obj.get("type")
    if not isinstance(kind, str) or kind not in TYPES:
        raise RecordError("unknown_format", f"type: one of {', '.join(sorted(TYPES))}")
    host = shipper.host_of(obj)
    if not host:
        raise RecordError("no_host", "the event has no host")
    time_us = obj.get("time_us")
    if not _is_number(time_us):
        raise RecordError("no_time", "time_us: epoch microseconds")
    process = obj.get("proc")
    if not isinstance(process, dict) or not all(
        _is_number(process.get(name)) for name in ("pid", "start_us")
    ):
        raise RecordError("bad_process", "proc: an object with the numbers pid and start_us")
    return [Record("vedette", host, time_us, CHANNEL, data=obj)]


def _is_number(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 62
