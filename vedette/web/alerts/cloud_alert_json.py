"""Formats alert records of search v7 (docs/cloud-alerts.md#alert-record)."""

from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from operator import itemgetter
from typing import Any, Final

from vedette.limits import Limit
from vedette.model.address import address_text
from vedette.model.findings.alert import THOUSAND, AlertRow
from vedette.search.alerts.cloud_search import AlertClusters
from vedette.state.policy.alert_workflow import AlertExtras, Note, Settled, Workflow
from vedette.web.json.wire_values import milli_instant

THREAT_IDS_CACHED_MAX: Limit[int] = 10_000
"""Cached threat ids of rules, feeds and watchlists; each is a hash."""


Body = dict[str, Any]

WORKFLOWS: Final = {"Unresolved": "OPEN", "In Progress": "IN_PROGRESS"}
"""Maps alert status to workflow status; all others are CLOSED."""

OS_NAMES: Final = {"windows": "WINDOWS", "linux": "LINUX", "osx": "MAC"}
"""Operating systems as the cloud API names them; others are OTHER."""
_PRIORITIES: Final = ("LOW", "LOW", "LOW", "MEDIUM", "HIGH", "MISSION_CRITICAL")
_NOTHING: Final = Workflow("", "", "", 0)

REASON: Final = "reason"

_SAME: Final = {
    "device_id": "sensor_id",
    "device_name": "hostname",
    "device_username": "username",
    "device_policy": "group",
    "process_guid": "process_unique_id",
    "process_name": "process_path",
    "process_cmdline": "cmdline",
    "process_username": "username",
    "process_md5": "md5",
    "process_sha256": "sha256",
    "parent_name": "parent_name",
    "parent_cmdline": "parent_cmdline",
    REASON: "title",
    "reason_code": "source_id",
    "rule_level": "level",
    "ioc_field": "ioc_type",
    "ioc_hit": "ioc_value",
    "report_id": "report_id",
    "report_link": "link",
}
"""Maps members to the alert columns that they copy."""
_SAME_NAMES: Final = tuple(_SAME)
_same_values: Final = itemgetter(*_SAME.values())

_CONSTANT: Final = {
    "policy_applied": "NOT_APPLIED",
    "run_state": "RAN",
    "sensor_action": "ALLOW",
    "device_location": "UNKNOWN",
    "ml_classification_final_verdict": "NOT_CLASSIFIED",
    "threat_notes_present": False,
}


def severity_of(row: AlertRow) -> int:
    """Returns the severity from 1 to 10, scaled from the alert's 0 to 100."""
    tenths: int = (row["alert_severity"] + 10 * THOUSAND - 1) // (10 * THOUSAND)
    return max(1, min(10, tenths))


def threat_id(row: AlertRow) -> str:
    """Returns an id that all alerts of a rule, feed or watchlist share (`store`'s THREAT)."""
    return _threat_id(row["source_kind"], row["source_id"])


@lru_cache(maxsize=THREAT_IDS_CACHED_MAX)
def _threat_id(kind: str, source: str) -> str:
    return sha256(f"{kind}:{source}".encode()).hexdigest()[:32]


def cloud_alert_body(row: AlertRow, org_key: str, extras: AlertExtras) -> Body:
    """Returns an alert record; every member is always present."""
    alert_id, kind = row["id"], row["source_kind"]
    made = milli_instant(row["created_time"])
    workflow = extras.workflows.get(alert_id, _NOTHING)
    settled = extras.settled.get(alert_id)
    if settled is None:
        settled = Settled(row["first_event_time"], row["last_event_time"], row["updated_time"])
    updated_us = max(settled.updated_us, workflow.changed_us)
    is_watched = kind == "watchlist"
    return {
        "org_key": org_key,
        "id": alert_id,
        "type": "WATCHLIST" if kind in ("watchlist", "feed") else "CB_ANALYTICS",
        "alert_url": f"/ui/alerts/{alert_id}",
        "backend_timestamp": made,
        "create_time": made,
        "detection_timestamp": made,
        "backend_update_timestamp": milli_instant(updated_us),
        "user_update_timestamp": _moment(workflow.changed_us),
        "first_event_timestamp": _moment(settled.first_event_us),
        "last_event_timestamp": _moment(settled.last_event_us),
        "is_updated": updated_us > row["created_time"],
        "severity": severity_of(row),
        "threat_id": threat_id(row),
        "primary_event_id": alert_id,
        "rule_id": row["source_id"] if kind == "rule" else "",
        "device_os": OS_NAMES.get(row["os_type"], "OTHER"),
        "device_target_value": _PRIORITIES[min(5, row["sensor_criticality"] // THOUSAND)],
        "device_external_ip": address_text(row["comms_ip"]),
        "device_internal_ip": address_text(row["interface_ip"]),
        "ioc_id": f"{row['report_id']}-{row['ioc_value']}" if row["ioc_value"] else "",
        "report_name": row["title"] if kind == "feed" else "",
        "report_description": row["description"] if kind == "feed" else "",
        "watchlists": [{"id": str(row["watchlist_id"]), "name": row["watchlist_name"]}]
        if is_watched
        else [],
        "ttps": row["techniques"],
        "attack_technique": row["techniques"][0] if row["techniques"] else "",
        "tags": row["tags"],
        "alert_notes_present": bool(row["notes"]),
        "workflow": _workflow(row, workflow),
        "determination": _determination(row, workflow),
        **dict(zip(_SAME_NAMES, _same_values(row), strict=True)),
        **_CONSTANT,
    }


def _moment(time_us: int) -> str | None:
    return milli_instant(time_us) if time_us else None


def _changed(workflow: Workflow) -> Body:
    return _UNTOUCHED if workflow is _NOTHING else _changed_by(workflow)


def _changed_by(workflow: Workflow) -> Body:
    return {
        "change_timestamp": _moment(workflow.changed_us),
        "changed_by_type": "USER" if workflow.changed_us else "SYSTEM",
        "changed_by": workflow.changed_by or "ALERT_CREATION",
    }


_UNTOUCHED: Final = _changed_by(_NOTHING)


def _workflow(row: AlertRow, workflow: Workflow) -> Body:
    return {
        **_changed(workflow),
        "status": WORKFLOWS.get(row["status"], "CLOSED"),
        "closure_reason": workflow.closure_reason or "NO_REASON",
        "assigned_to": row["assigned_to"],
    }


def _determination(row: AlertRow, workflow: Workflow) -> Body:
    determination = workflow.determination or "NONE"
    value = "FALSE_POSITIVE" if row["status"] == "False Positive" else determination
    return {**_changed(workflow), "value": value}


def clusters_body(found: AlertClusters, org_key: str, extras: AlertExtras) -> Body:
    """Returns the response of a search for grouped alerts."""
    return {
        "num_found": found.total,
        "num_available": found.total,
        "group_by_total_count": found.alerts,
        "results": [
            {
                "value": one.value,
                "count": one.count,
                "device_count": one.hosts,
                "highest_severity": one.severity,
                "workflow_states": dict(one.statuses),
                "determination_values": dict(one.determinations),
                "ml_classification_final_verdicts": {},
                "first_alert_timestamp": milli_instant(one.first_us),
                "last_alert_timestamp": milli_instant(one.newest_us),
                "policy_applied": "NOT_APPLIED",
                "threat_notes_present": False,
                "tags": newest["tags"],
                "most_recent_alert": cloud_alert_body(newest, org_key, extras),
            }
            for one, newest in found.groups
        ],
    }


def facets_body(counts: Mapping[str, list[tuple[str, int]]]) -> Body:
    return {
        "results": [
            {
                "field": name,
                "values": [{"id": value, "name": value, "total": total} for value, total in values],
            }
            for name, values in counts.items()
        ]
    }


def note_body(note: Note) -> Body:
    return {
        "id": note.id,
        "note": note.note,
        "author": note.author,
        "source": "CUSTOMER",
        "create_timestamp": milli_instant(note.created_us),
        "last_update_timestamp": milli_instant(note.created_us),
        "parent_id": None,
        "thread": [],
    }
