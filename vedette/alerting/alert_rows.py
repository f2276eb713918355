"""Builds alert rows: from a detection with the facts about its host and process, and from an
existing alert with further detections. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vedette.limits import ALERT_LISTED_MAX, ALERT_RULE_CHARS_MAX, Limit
from vedette.model.address import pack_address
from vedette.model.event import UNKNOWN_IP
from vedette.model.findings.alert import EVENT_COUNTS, STATUSES, THOUSAND, AlertRow
from vedette.model.findings.detection import Detection
from vedette.model.ids import unique_id
from vedette.state.sensors.host_facts import HostFacts

ALERT_TEXT_CHARS_MAX: Limit[int] = 4_096
"""Characters of a title, a description or an event value in an alert; longer texts are truncated. A
Windows command line may have 32,767."""

ALERT_VALUES_MAX: Limit[int] = 200
"""Event values in an alert, and matched values; a Sysmon event has about 30."""


FEEDLESS_ID = -1
"""Feed id of alerts that do not come from a feed (docs/clients.md#detection)."""

FEED_NAMES = {"watchlist": "My Watchlists", "rule": "Rules", "server": "Server"}
"""Feed names of alerts that do not come from a feed."""

_MILLI = 1_000

CRITICALITY = 3
"""Criticality of an unknown host: the default."""


@dataclass(frozen=True, slots=True)
class Context:
    """Facts besides the detection."""

    host: HostFacts | None = None
    process: Mapping[str, Any] = field(default_factory=dict)
    """Columns from `store/read/alert_context.process_facts`."""
    paths: tuple[str, ...] = ()
    """Paths of the file on the host."""
    file_hosts: int = 0
    """Hosts of the group that reported the file."""


def new_alert(detections: Sequence[Detection], context: Context, now_us: int) -> AlertRow:
    """Returns the first version of the alert for detections with the same id; the first detection
    determines its contents."""
    found = detections[0]
    host, process = context.host, context.process
    path = process.get("path", "") or found.event.get("process_path", "")
    paths = context.paths or ((path,) if path else ())
    return {
        "id": found.id,
        "version": now_us,
        "first_seq": min(one.seq for one in detections),
        "counted_seq": max(one.seq for one in detections),
        "status": STATUSES[0],
        "created_time": now_us,
        "first_event_time": min(one.time_us for one in detections),
        "last_event_time": max(one.until_us for one in detections),
        "updated_time": now_us,
        "count": sum(one.count for one in detections),
        **_source(found),
        **_finding(found),
        "sensor_id": found.sensor_id,
        "hostname": process.get("hostname", "") or (host.hostname if host else ""),
        "group": process.get("group", "") or (host.group if host else ""),
        "os_type": process.get("os_type", "") or (host.os_type if host else ""),
        "sensor_criticality": (host.criticality if host else CRITICALITY) * THOUSAND,
        "username": process.get("username", ""),
        "comms_ip": process.get("comms_ip", UNKNOWN_IP),
        "interface_ip": _interface(process, host),
        "process_name": process.get("process_name", ""),
        "process_path": path,
        "process_id": found.process_id,
        "process_unique_id": _unique_id(found),
        "segment_id": found.segment_id,
        "cmdline": process.get("cmdline", ""),
        "parent_name": process.get("parent_name", ""),
        "parent_cmdline": process.get("parent_cmdline", ""),
        "md5": found.md5 or process.get("process_md5", ""),
        "sha256": found.sha256 or process.get("process_sha256", ""),
        **{name: process.get(name, 0) for name in EVENT_COUNTS},
        "observed_filename": _texts(paths),
        "total_hosts": context.file_hosts,
    }


def set_creation_times(rows: Iterable[AlertRow], now_us: int, newest_us: int) -> None:
    """Assigns unique creation times in whole milliseconds to new alerts, after those of all earlier
    alerts: exports page by them (docs/cloud-alerts.md#export). `newest_us` is the latest assigned
    time."""
    at_us = max(now_us // _MILLI, newest_us // _MILLI + 1) * _MILLI
    for row in rows:
        row["created_time"] = row["updated_time"] = row["version"] = at_us
        at_us += _MILLI


def _source(found: Detection) -> AlertRow:
    kind, number = found.source.kind, found.source.id
    is_feed, is_watchlist = kind == "feed", kind == "watchlist"
    return {
        "source_kind": kind,
        "source_id": number,
        "source_name": _text(found.source_name),
        "feed_id": _number(number) if is_feed else FEEDLESS_ID,
        "feed_name": _text(found.source_name) if is_feed else FEED_NAMES[kind],
        "feed_rating": round(found.feed_rating * THOUSAND),
        "watchlist_id": _number(number) if is_watchlist else 0,
        "watchlist_name": _text(found.source_name if is_watchlist else found.title),
        "report_id": _text(found.report_id),
        "report_score": round(found.report_score * THOUSAND),
    }


def _finding(found: Detection) -> AlertRow:
    return {
        "alert_type": found.alert_type,
        "subject": _text(found.subject),
        "title": _text(found.title),
        "description": _text(found.description),
        "link": _text(found.link),
        "level": found.level,
        "alert_severity": max(0, min(found.severity, 100)) * THOUSAND,
        "ioc_type": found.ioc_type,
        "ioc_value": _text(found.ioc_value),
        "ioc_confidence": round(found.ioc_confidence * THOUSAND),
        "tags": _texts(found.tags),
        "techniques": _texts(found.techniques),
        "false_positives": _texts(found.false_positives),
        "rule_text": found.rule_text[:ALERT_RULE_CHARS_MAX],
        "rule_version": _text(found.rule_version),
        "matched": _values(found.matched),
        "event": _values(found.event),
    }


def _unique_id(found: Detection) -> str:
    return unique_id(found.process_id, found.segment_id) if found.process_id else ""


def _interface(process: Mapping[str, Any], host: HostFacts | None) -> bytes:
    known: bytes = process.get("interface_ip", UNKNOWN_IP)
    if known == UNKNOWN_IP and host is not None:
        return pack_address(host.interface_ip)
    return known


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() else 0


def _text(value: str) -> str:
    return value[:ALERT_TEXT_CHARS_MAX]


def _texts(values: Iterable[str]) -> list[str]:
    return [_text(value) for value in list(values)[:ALERT_LISTED_MAX]]


def _values(values: Mapping[str, str]) -> dict[str, str]:
    return {_text(name): _text(value) for name, value in list(values.items())[:ALERT_VALUES_MAX]}


def next_version(row: Mapping[str, Any], now_us: int) -> int:
    """Returns the version for a change of an alert; increases even if the clock went back."""
    return max(int(row["version"]) + 1, now_us)


def raised(row: AlertRow, found: Sequence[Detection], now_us: int) -> AlertRow | None:
    """Returns the alert with further detections counted; None if it counts them all already."""
    uncounted = [one for one in found if _is_uncounted(row, one)]
    if not uncounted:
        return None
    return row | {
        "version": next_version(row, now_us),
        "change_id": 0,
        "updated_time": now_us,
        "count": row["count"] + sum(one.count for one in uncounted),
        "counted_seq": max(row["counted_seq"], *(one.seq for one in uncounted)),
        "first_event_time": min(row["first_event_time"], *(one.time_us for one in uncounted)),
        "last_event_time": max(row["last_event_time"], *(one.until_us for one in uncounted)),
    }


def _is_uncounted(row: AlertRow, found: Detection) -> bool:
    """Returns whether the alert does not count the detection yet: by commit number if there is one;
    otherwise only a later time proves a new detection."""
    if found.seq:
        return bool(found.seq > row["counted_seq"])
    return bool(found.time_us > row["last_event_time"])


def was_made_for(row: AlertRow, found: Detection) -> bool:
    """Returns whether this very detection created a stored alert. Then the batch was interrupted
    after writing its alerts, and no one has been notified."""
    if found.seq:
        return bool(found.seq <= row["first_seq"])
    return bool(row["first_seq"] == 0 and found.time_us <= row["first_event_time"])
