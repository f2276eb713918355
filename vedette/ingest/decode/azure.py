"""Azure Log Analytics rows: `Event` (event data as XML), `SecurityEvent` (as columns).

Syslog rows that carry a whole `<Event>` belong to `eventxml`, those of auoms to `auoms`.
"""

from typing import Any

from vedette.ingest.decode.eventlog import make_record
from vedette.ingest.decode.eventxml import parse_data
from vedette.ingest.record import Record


def recognises(obj: dict[str, Any]) -> bool:
    return "EventID" in obj and "Computer" in obj


def decode(obj: dict[str, Any]) -> list[Record]:
    """Raises RecordError: no_host, no_time, bad_time, bad_xml."""
    xml = obj.get("EventData")
    data = parse_data(xml) if isinstance(xml, str) and "<" in xml else obj
    return [
        make_record(
            host=obj.get("Computer"),
            times=(obj.get("TimeGenerated"), obj.get("TimeCreated"), obj.get("EventTime")),
            channel=obj.get("EventLog") or obj.get("Channel"),
            event_id=obj.get("EventID"),
            record_id=obj.get("EventRecordId") or obj.get("EventRecordID"),
            provider=obj.get("Source") or obj.get("EventSourceName"),
            pid=obj.get("SystemProcessId"),
            data=data,
        )
    ]
