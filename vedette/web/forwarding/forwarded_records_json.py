"""Formats the native records of forwarders (docs/forwarder.md#records)."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

import orjson

from vedette.alerting.hooks import WrittenDetection
from vedette.forwarder.alert_source import RenderAlerts
from vedette.forwarder.event_source import RenderEvent
from vedette.forwarder.hit_source import RenderHit
from vedette.model.address import address_text
from vedette.model.event_words import SAID_IN_WORDS
from vedette.model.findings.alert import AlertRow
from vedette.state.db.database import Database
from vedette.state.policy.alert_workflow import AlertExtras, extras
from vedette.store.read.detection.committed_events import CommittedEvent
from vedette.web.alerts.cloud_alert_json import OS_NAMES, cloud_alert_body
from vedette.web.json.wire_values import milli_instant

Body = dict[str, Any]

_NOTHING: Final = AlertExtras()
_UNTOUCHED: Final = {"notes": "", "assigned_to": ""}
"""Alert columns that only users set, and that a new alert lacks."""


def alert_records(database: Database, org_key: str) -> RenderAlerts:
    """Returns a function that formats alerts like search v7."""

    def render(rows: Sequence[AlertRow]) -> list[Body]:
        kept = extras(database, [row["id"] for row in rows])
        return [cloud_alert_body(row, org_key, kept) for row in rows]

    return render


def hit_record(org_key: str) -> RenderHit:
    """Returns a function that formats hits: as the alert that a hit creates, or would create."""

    def render(hit: WrittenDetection, now_us: int) -> Body:
        found = hit.detection
        key = f"{found.id}:{found.seq}:{found.time_us}".encode()
        return cloud_alert_body(_UNTOUCHED | hit.alert, org_key, _NOTHING) | {
            "type": "watchlist.hit",
            "id": sha256(key).hexdigest()[:32],
            "alert_id": found.id if hit.has_alert else None,
            "source_kind": found.source.kind,
            "backend_timestamp": milli_instant(now_us),
            "detection_timestamp": milli_instant(now_us),
            "matched": found.matched,
            "count": found.count,
        }

    return render


def event_record(org_key: str) -> RenderEvent:
    """Returns a function that formats events with their process and device."""

    def render(one: CommittedEvent) -> Body:
        process, kind = one.process, one.kind.name
        fields = {
            f"{kind}_{name}": _value(kind, name, value)
            for name, value in one.values.items()
            if name != "time"
        }
        return {
            "type": f"endpoint.event.{kind}",
            "org_key": org_key,
            "event_id": _event_id(one),
            "backend_timestamp": milli_instant(one.committed_us),
            "device_timestamp": milli_instant(one.values["time"]),
            "device_id": one.sensor_id,
            "device_name": process["hostname"],
            "device_policy": process["group"],
            "device_os": OS_NAMES.get(process["os_type"], "OTHER"),
            "device_external_ip": address_text(process["comms_ip"]),
            "device_internal_ip": address_text(process["interface_ip"]),
            "process_guid": one.process_id,
            "process_pid": process["process_pid"],
            "process_path": process["path"],
            "process_cmdline": process["cmdline"],
            "process_username": process["username"],
            "process_md5": process["process_md5"],
            "process_sha256": process["process_sha256"],
            "process_start": milli_instant(process["start"]) if process["start"] else None,
            "parent_guid": process["parent_id"],
            "parent_pid": process["parent_pid"],
            "parent_path": process["parent_path"],
            "parent_cmdline": process["parent_cmdline"],
            **fields,
        }

    return render


def _value(kind: str, name: str, value: Any) -> Any:
    if isinstance(value, bytes):
        return address_text(value)
    words = SAID_IN_WORDS.get((kind, name))
    return value if words is None else words.get(value, str(value))


def _event_id(one: CommittedEvent) -> str:
    """Returns an id that is identical each time the event is read."""
    values = [_value("", "", value) for value in one.values.values()]
    key = orjson.dumps([one.process_id, one.segment_id, one.kind.name, *values])
    return sha256(key).hexdigest()[:32]
