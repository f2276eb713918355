"""Decoder of NXLog im_msvistalog: event data and envelope in one flat object.

`host` is the collector. `EventTime` and `EventReceivedTime` are local times without a zone.
`@timestamp` is when the next hop received the record. Their difference, rounded to 15 minutes, is
the zone. Data are not copied: normalisers read members by name, and the envelope is removed only
from stored records.
"""

from typing import Any

from vedette.ingest.channels import canonical
from vedette.ingest.decode.eventlog import (
    integer,
    keywords_text,
    lower_host,
    make_record,
    small_pid,
    small_record_id,
)
from vedette.ingest.record import Record
from vedette.ingest.times import any_time_us, time_us

_QUARTER_US = 15 * 60 * 1_000_000
_LEVELS: dict[int, int] = {1: 5, 2: 4, 3: 3, 4: 2, 5: 1}
"""Windows levels by NXLog severity, which ascends."""


def recognises(obj: dict[str, Any]) -> bool:
    return "EventID" in obj and ("SourceModuleType" in obj or "EventReceivedTime" in obj)


def decode(obj: dict[str, Any]) -> list[Record]:
    """Raises RecordError: no_host, no_time, bad_time."""
    get = obj.get
    host, channel, provider = get("Hostname"), get("Channel"), get("SourceName")
    event_id, record_id, pid = get("EventID"), get("RecordNumber"), get("ExecutionProcessID")
    if pid is None and isinstance(get("ProcessID"), int):
        pid = obj.pop("ProcessID")  # pid of the logger, in older versions
    event_us = _event_time_us(get("EventTime"), get("EventReceivedTime"), get("@timestamp"))
    if (
        event_us
        and type(event_id) is type(record_id) is type(pid) is int
        and type(host) is type(channel) is type(provider) is str
        and host
    ):
        return [
            Record(
                "windows",
                lower_host(host),
                event_us,
                canonical(channel, provider),
                event_id & 0xFFFF,
                small_record_id(record_id),
                provider,
                small_pid(pid),
                obj,
                _LEVELS.get(integer(get("SeverityValue")), 0),
                keywords_text(get("Keywords")),
            )
        ]
    times = (event_us, get("@timestamp"), get("EventTime"))
    level = _LEVELS.get(integer(get("SeverityValue")), 0)
    keywords = get("Keywords")
    return [
        make_record(host, times, channel, event_id, record_id, provider, pid, obj, level, keywords)
    ]


def _event_time_us(event: Any, received: Any, hop: Any) -> int:
    """Returns the event time in UTC microseconds, with the zone derived from the next hop's time; 0
    if unknown."""
    try:
        event_us, hop_us = time_us(event), time_us(hop)
        received_us = time_us(received)
    except TypeError:
        event_us, hop_us = any_time_us(event), any_time_us(hop)
        received_us = any_time_us(received)
    if not event_us or not hop_us:
        return event_us
    ahead_us = hop_us - (received_us or event_us)
    return event_us + (ahead_us + _QUARTER_US // 2) // _QUARTER_US * _QUARTER_US
