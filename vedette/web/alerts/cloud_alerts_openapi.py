"""OpenAPI schemas of the cloud API: alert search v7, devices and jobs."""

from collections.abc import Mapping
from typing import Final

from vedette.web.json.terms import (
    FLAG,
    INTEGER,
    OBJECT,
    TEXT,
    TIME,
    Schema,
    alike,
    listing,
    mapping,
    nullable,
    record,
    reference,
)

_ALERTS: Final = "/api/alerts/v7/orgs/{org_key}"
_NOTES: Final = f"{_ALERTS}/alerts/{{alert_id}}/notes"
_DEVICES: Final = "/appservices/v6/orgs/{org_key}/devices"
_JOBS: Final = "/jobs/v1/orgs/{org_key}/jobs"

_CHANGED: Final[dict[str, Schema]] = {
    "change_timestamp": nullable(TIME),
    **alike(("changed_by_type", "changed_by"), TEXT),
}
_ALERT: Final = record(
    {
        **alike(
            (
                "org_key",
                "id",
                "type",
                "alert_url",
                "threat_id",
                "primary_event_id",
                "reason",
                "reason_code",
                "rule_id",
                "rule_level",
                "device_name",
                "device_os",
                "device_username",
                "device_policy",
                "device_target_value",
                "device_location",
                "device_external_ip",
                "device_internal_ip",
                "process_guid",
                "process_name",
                "process_cmdline",
                "process_username",
                "process_md5",
                "process_sha256",
                "parent_name",
                "parent_cmdline",
                "ioc_id",
                "ioc_field",
                "ioc_hit",
                "report_id",
                "report_name",
                "report_description",
                "report_link",
                "attack_technique",
                "policy_applied",
                "run_state",
                "sensor_action",
                "ml_classification_final_verdict",
            ),
            TEXT,
        ),
        **alike(
            (
                "backend_timestamp",
                "create_time",
                "detection_timestamp",
                "backend_update_timestamp",
            ),
            TIME,
        ),
        **alike(
            ("user_update_timestamp", "first_event_timestamp", "last_event_timestamp"),
            nullable(TIME),
        ),
        **alike(("severity", "device_id"), INTEGER),
        **alike(("is_updated", "alert_notes_present", "threat_notes_present"), FLAG),
        "watchlists": listing(record(alike(("id", "name"), TEXT))),
        **alike(("ttps", "tags"), listing(TEXT)),
        "workflow": record(_CHANGED | alike(("status", "closure_reason", "assigned_to"), TEXT)),
        "determination": record(_CHANGED | {"value": TEXT}),
    }
)
_NULL_TEXT: Final = nullable(TEXT)
_DEVICE: Final = record(
    {
        **alike(("id", "device_id", "organization_id", "policy_id", "ad_group_id"), INTEGER),
        **alike(
            (
                "name",
                "organization_name",
                "os",
                "os_version",
                "status",
                "sensor_version",
                "sensor_kit_type",
                "deployment_type",
                "policy_name",
                "current_sensor_policy_name",
                "target_priority",
                "target_priority_type",
                "last_internal_ip_address",
                "mac_address",
            ),
            TEXT,
        ),
        "sensor_states": listing(TEXT),
        "asset_group": listing(OBJECT),
        **alike(("sensor_out_of_date", "policy_override", "quarantined", "passive_mode"), FLAG),
        **alike(
            (
                "registered_time",
                "deregistered_time",
                "last_contact_time",
                "last_reported_time",
            ),
            nullable(TIME),
        ),
        "last_external_ip_address": _NULL_TEXT,
    }
)
_PROGRESS: Final = record({**alike(("num_total", "num_completed"), INTEGER), "message": TEXT})
_JOB: Final = record(
    {
        **alike(("id", "owner_id"), INTEGER),
        **alike(("org_key", "type", "connector_id", "errors"), TEXT),
        "status": {"enum": ["CREATED", "COMPLETED", "FAILED"]},
        **alike(("create_time", "last_update_time"), TIME),
        "job_parameters": OBJECT,
        "progress": _PROGRESS,
    }
)
_FACETS: Final = record(
    {
        "results": listing(
            record(
                {
                    "field": TEXT,
                    "values": listing(record({**alike(("id", "name"), TEXT), "total": INTEGER})),
                }
            )
        )
    }
)
_COUNTS: Final = mapping(INTEGER)
_GROUP: Final = record(
    {
        "value": TEXT,
        **alike(("count", "device_count", "highest_severity"), INTEGER),
        **alike(
            (
                "workflow_states",
                "determination_values",
                "ml_classification_final_verdicts",
            ),
            _COUNTS,
        ),
        **alike(("first_alert_timestamp", "last_alert_timestamp"), TIME),
        "policy_applied": TEXT,
        "threat_notes_present": FLAG,
        "tags": listing(TEXT),
        "most_recent_alert": reference("CloudAlert"),
    }
)


def _page(item: str, **more: Schema) -> Schema:
    counts = alike(("num_found", "num_available"), INTEGER)
    return record({**counts, **more, "results": listing(reference(item))})


_SENSOR_STATUS: Final = record(
    {
        "sensor_state": {"enum": ["NOT_HINTED", "HINTED", "DOWNLOADED", "UPDATED", "FAILED"]},
        **alike(("reason", "initial_version", "updated_version", "sensor_kit_type"), TEXT),
        "hinted_time": TIME,
    }
)
_OF_UPDATE: Final[dict[str, Schema]] = {
    "id": TEXT,
    "status": {"enum": ["PENDING", "IN_PROGRESS", "CANCELLED", "COMPLETED"]},
    **alike(("create_time", "start_time", "end_time"), nullable(TIME)),
    "sensor_versions": mapping(TEXT),
}
CLOUD_UPDATES: Final[dict[str, Schema]] = {
    "UpdateSensors": mapping(_SENSOR_STATUS),
    "UpdateJob": record(
        {
            **_OF_UPDATE,
            **alike(("org_key", "login_name"), TEXT),
            "sensors": reference("UpdateSensors"),
            "job_type": {"const": "ENDPOINT"},
        }
    ),
    "UpdateJobStatus": record(
        {
            **_OF_UPDATE,
            **alike(("percent_complete", "targeted", "updated", "failed"), INTEGER),
            "updated_sensors": listing(INTEGER),
            "failed_sensors_per_reason": mapping(listing(INTEGER)),
        }
    ),
    "ChangedUpdateJob": record(
        {
            **alike(("success", "selects_all"), FLAG),
            **{"message": TEXT, "job": reference("UpdateJob")},
            **alike(("targeted", "waiting", "updated", "failed"), INTEGER),
        },
        optional=("job", "selects_all", "targeted", "waiting", "updated", "failed"),
    ),
}
_UPDATES: Final = "/sus/v2/orgs/{org_key}/jobs"

CLOUD_ALERTS: Final[dict[str, Schema]] = {
    **CLOUD_UPDATES,
    "CloudAlert": _ALERT,
    "CloudAlertPage": _page("CloudAlert"),
    "CloudFacets": _FACETS,
    "CloudAlertGroup": _GROUP,
    "CloudAlertGroups": _page("CloudAlertGroup", group_by_total_count=INTEGER),
    "CloudNote": record(
        {
            **alike(("id", "note", "author", "source"), TEXT),
            **alike(("create_timestamp", "last_update_timestamp"), TIME),
            "parent_id": _NULL_TEXT,
            "thread": listing(OBJECT),
        }
    ),
    "CloudNotes": record({"num_found": INTEGER, "results": listing(reference("CloudNote"))}),
    "CloudRequest": record({"request_id": TEXT}),
    "CloudJob": _JOB,
    "CloudJobs": record({"num_found": INTEGER, "results": listing(reference("CloudJob"))}),
    "CloudProgress": _PROGRESS,
    "Device": _DEVICE,
    "DevicePage": _page("Device"),
    "DeviceScroll": record(
        {
            "num_found": INTEGER,
            "results": listing(reference("Device")),
            "search_after": listing(INTEGER),
        }
    ),
}
"""Maps component name to schema."""

CLOUD_ALERTS_ONE: Final[Mapping[tuple[str, str], str]] = {
    ("POST", f"{_ALERTS}/alerts/_search"): "CloudAlertPage",
    ("POST", f"{_ALERTS}/alerts/_facet"): "CloudFacets",
    ("POST", f"{_ALERTS}/alerts/_group_search"): "CloudAlertGroups",
    ("POST", f"{_ALERTS}/grouped_alerts/_search"): "CloudAlertGroups",
    ("POST", f"{_ALERTS}/grouped_alerts/_facet"): "CloudFacets",
    ("GET", f"{_ALERTS}/alerts/{{alert_id}}"): "CloudAlert",
    ("POST", f"{_ALERTS}/alerts/workflow"): "CloudRequest",
    ("GET", _NOTES): "CloudNotes",
    ("POST", _NOTES): "CloudNote",
    ("DELETE", f"{_NOTES}/{{note_id}}"): "Success",
    ("GET", _JOBS): "CloudJobs",
    ("GET", f"{_JOBS}/{{job_id}}"): "CloudJob",
    ("GET", f"{_JOBS}/{{job_id}}/progress"): "CloudProgress",
    ("POST", f"{_DEVICES}/_search"): "DevicePage",
    ("POST", f"{_DEVICES}/_scroll"): "DeviceScroll",
    ("POST", f"{_DEVICES}/_facet"): "CloudFacets",
    ("POST", f"{_DEVICES}/_export"): "CloudJob",
    ("GET", f"{_DEVICES}/{{device_id}}"): "Device",
    ("POST", _UPDATES): "ChangedUpdateJob",
    ("GET", f"{_UPDATES}/{{job_id}}"): "UpdateJob",
    ("GET", f"{_UPDATES}/{{job_id}}/sensors"): "UpdateSensors",
    ("POST", f"{_UPDATES}/{{job_id}}/status"): "ChangedUpdateJob",
}
"""Routes that return a single object."""

CLOUD_MANY: Final[Mapping[tuple[str, str], str]] = {("GET", _UPDATES): "UpdateJobStatus"}
"""Routes that return a list."""

CLOUD_FILES: Final[Mapping[tuple[str, str], str]] = {
    ("GET", f"{_JOBS}/{{job_id}}/download"): "text/csv",
    ("GET", f"{_DEVICES}/_search/download"): "text/csv",
}
"""Routes that do not return JSON."""


def _object(**members: Schema) -> Schema:
    return {"type": "object", "properties": members, "additionalProperties": True}


_SORT: Final = listing(_object(field=TEXT, order=TEXT))
_SELECTION: Final[dict[str, Schema]] = {
    "criteria": OBJECT,
    "exclusions": OBJECT,
    "query": nullable(TEXT),
}
_PAGE: Final[dict[str, Schema]] = {"rows": INTEGER, "start": INTEGER, "sort": _SORT}
_ALERT_SELECTION: Final = _SELECTION | {
    "time_range": nullable(_object(start=TEXT, end=TEXT, range=TEXT))
}
_TERMS: Final[dict[str, Schema]] = {"terms": _object(fields=listing(TEXT), rows=INTEGER)}
_GROUPS: Final = _object(**_ALERT_SELECTION, **_PAGE, group_by=_object(field=TEXT))
_COUNTED: Final = _object(**_ALERT_SELECTION, **_TERMS) | {"required": ["terms"]}

CLOUD_ALERTS_BODIES: Final[Mapping[tuple[str, str], Schema]] = {
    ("POST", f"{_ALERTS}/alerts/_search"): _object(**_ALERT_SELECTION, **_PAGE),
    ("POST", f"{_ALERTS}/alerts/_facet"): _COUNTED,
    ("POST", f"{_ALERTS}/grouped_alerts/_facet"): _COUNTED,
    ("POST", f"{_ALERTS}/alerts/_group_search"): _GROUPS,
    ("POST", f"{_ALERTS}/grouped_alerts/_search"): _GROUPS,
    ("POST", f"{_ALERTS}/alerts/workflow"): _object(
        **_ALERT_SELECTION,
        **alike(("status", "closure_reason", "determination", "note"), TEXT),
        allow_all=FLAG,
    ),
    ("POST", _NOTES): _object(note=TEXT) | {"required": ["note"]},
    ("POST", f"{_DEVICES}/_search"): _object(**_SELECTION, **_PAGE),
    ("POST", _UPDATES): _object(
        action_type=TEXT,
        device_id=listing(INTEGER),
        **alike(("allow_all", "dry_run"), FLAG),
        search_definition=_object(**_SELECTION, **_PAGE),
        options=_object(
            sensor_version=mapping(TEXT), waves=_object(percent=INTEGER, failures_max=INTEGER)
        ),
    )
    | {"required": ["action_type", "options"]},
    ("POST", f"{_UPDATES}/{{job_id}}/status"): _object(status=TEXT) | {"required": ["status"]},
    ("POST", f"{_DEVICES}/_scroll"): _object(
        **_SELECTION, rows=INTEGER, search_after=nullable(listing(INTEGER))
    ),
    ("POST", f"{_DEVICES}/_facet"): _object(**_SELECTION, **_TERMS) | {"required": ["terms"]},
    ("POST", f"{_DEVICES}/_export"): _object(**_SELECTION, **_PAGE, format=TEXT),
}
"""JSON bodies of requests by route."""
