"""Decoder of Endpoint Security events as JSON: eslogger, Jamf Protect.

One object per event: `process` is the acting process, `event` has a single member named after the
kind. Jamf or a shipper adds the host name.
"""

from typing import Any

from vedette.ingest.decode import shipper
from vedette.ingest.record import Record, RecordError
from vedette.ingest.times import any_time_us


def recognises(obj: dict[str, Any]) -> bool:
    process = obj.get("process")
    return (
        isinstance(process, dict)
        and isinstance(obj.get("event"), dict)
        and "audit_token" in process
        and ("event_type" in obj or "schema_version" in obj)
    )


def decode(obj: dict[str, Any]) -> list[Record]:
    """Raises RecordError: no_host, no_time, unknown_format."""
    host = shipper.host_of(obj)
    if not host:
        raise RecordError("no_host", "the event has no host")
    time_us = any_time_us(obj.get("time")) or shipper.time_of(obj)
    if not time_us:
        raise RecordError("no_time", "the event has no time")
    event = obj["event"]
    names = [name for name, value in event.items() if isinstance(value, dict)]
    if not names:
        raise RecordError("unknown_format", "an Endpoint Security event without content")
    number = obj.get("event_type")
    data = {"name": names[0], "event": event[names[0]], "process": obj["process"]}
    event_id = number & 0xFFFF if isinstance(number, int) else 0
    return [Record("es", host, time_us, "es", event_id, data=data)]
