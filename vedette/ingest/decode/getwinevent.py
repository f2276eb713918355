"""Decoder of flat event-log records: Get-WinEvent exports, Fluent Bit's in_winevtlog.

Event data and envelope share an object. Fluent Bit sends positional values (`StringInserts`), which
become param1, param2, ...
"""

from typing import Any

from vedette.ingest.decode.eventlog import has_event_data, make_record
from vedette.ingest.record import Record, unknown_format


def recognises(obj: dict[str, Any]) -> bool:
    return "EventID" in obj and "Channel" in obj and ("Hostname" in obj or "Computer" in obj)


def decode(obj: dict[str, Any]) -> list[Record]:
    """Raises RecordError: no_host, no_time, bad_time."""
    inserts = obj.pop("StringInserts", None)
    if isinstance(inserts, list):
        obj.update((f"param{position}", value) for position, value in enumerate(inserts, 1))
    record = make_record(
        host=obj.get("Hostname") or obj.get("Computer"),
        times=(obj.get("TimeCreated"), obj.get("@timestamp"), obj.get("TimeGenerated")),
        channel=obj.get("Channel"),
        event_id=obj.get("EventID"),
        record_id=obj.get("RecordNumber") or obj.get("EventRecordID") or obj.get("RecordId"),
        provider=obj.get("SourceName") or obj.get("ProviderName"),
        pid=obj.get("ExecutionProcessID"),
        data=obj,
        level=obj.get("Level"),
        keywords=obj.get("Keywords"),
    )
    if not has_event_data(record):
        raise unknown_format(obj)
    return [record]
