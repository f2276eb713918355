"""The fields of alert search v7 (docs/cloud-alerts.md#alerts) as SQL over `alert`.

Criteria, exclusions, facets, groups and sorts name them; names are looked up here, values are
bound.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from vedette.errors import BadRequestError

CloudFieldKind = Literal["text", "number", "time", "list", "flag"]


@dataclass(frozen=True, slots=True)
class CloudField:
    """A field: its SQL, and the type of its values. A `lasting` field is the same in all versions
    of an alert, so it can be tested before versions are merged."""

    sql: str
    kind: CloudFieldKind = "text"
    lasting: bool = True


def _choice(column: str, *pairs: tuple[str, str], otherwise: str) -> str:
    tests = ", ".join(f"{column} = '{value}', '{name}'" for value, name in pairs)
    return f"multiIf({tests}, '{otherwise}')"


def _address(column: str) -> str:
    text = f"replaceOne(toString(`{column}`), '::ffff:', '')"
    return f"if({text} = '::', '', {text})"


def _of(kind: str, sql: str, otherwise: str = "''") -> str:
    return f"if(source_kind = '{kind}', {sql}, {otherwise})"


THREAT: Final = (
    "lower(hex(substring(SHA256(concat(toString(source_kind), ':', toString(source_id))), 1, 16)))"
)
"""The source of an alert as a `threat_id`, which all alerts of one rule, feed or watchlist
share."""

_OS: Final = _choice(
    "os_type", ("windows", "WINDOWS"), ("linux", "LINUX"), ("osx", "MAC"), otherwise="OTHER"
)
_PRIORITY: Final = (
    "multiIf(sensor_criticality >= 5000, 'MISSION_CRITICAL', sensor_criticality >= 4000, 'HIGH', "
    "sensor_criticality >= 3000, 'MEDIUM', 'LOW')"
)
_WORKFLOW: Final = _choice(
    "status", ("Unresolved", "OPEN"), ("In Progress", "IN_PROGRESS"), otherwise="CLOSED"
)
_CHANGED: Final = "if(empty(history), toDateTime64(0, 6, 'UTC'), updated_time)"
_WATCHLIST_IDS: Final = _of("watchlist", "[toString(watchlist_id)]", "[]")
_WATCHLIST_NAMES: Final = _of("watchlist", "[toString(watchlist_name)]", "[]")

FIELDS: Final[Mapping[str, CloudField]] = MappingProxyType(
    {
        "id": CloudField("id"),
        "type": CloudField("if(source_kind IN ('watchlist', 'feed'), 'WATCHLIST', 'CB_ANALYTICS')"),
        "severity": CloudField(
            "greatest(1, least(10, intDiv(alert_severity + 9999, 10000)))", "number"
        ),
        "primary_event_id": CloudField("id"),
        "alert_url": CloudField("concat('/ui/alerts/', id)"),
        "is_updated": CloudField("updated_time > created_time", "flag", lasting=False),
        "reason": CloudField("title"),
        "reason_code": CloudField("source_id"),
        "threat_id": CloudField(THREAT),
        "rule_id": CloudField(_of("rule", "toString(source_id)")),
        "rule_level": CloudField("level"),
        "device_id": CloudField("sensor_id", "number"),
        "device_name": CloudField("hostname"),
        "device_os": CloudField(_OS),
        "device_username": CloudField("username"),
        "device_policy": CloudField("`group`"),
        "device_target_value": CloudField(_PRIORITY),
        "device_external_ip": CloudField(_address("comms_ip")),
        "device_internal_ip": CloudField(_address("interface_ip")),
        "process_guid": CloudField("process_unique_id"),
        "process_name": CloudField("process_path"),
        "process_md5": CloudField("md5"),
        "process_sha256": CloudField("sha256"),
        "process_cmdline": CloudField("cmdline"),
        "process_username": CloudField("username"),
        "parent_name": CloudField("parent_name"),
        "parent_cmdline": CloudField("parent_cmdline"),
        "ioc_id": CloudField("if(ioc_value = '', '', concat(report_id, '-', ioc_value))"),
        "ioc_field": CloudField("ioc_type"),
        "ioc_hit": CloudField("ioc_value"),
        "report_id": CloudField("report_id"),
        "report_name": CloudField(_of("feed", "title")),
        "report_description": CloudField(_of("feed", "description")),
        "report_link": CloudField("link"),
        "watchlists.id": CloudField(_WATCHLIST_IDS, "list"),
        "watchlists_id": CloudField(_WATCHLIST_IDS, "list"),
        "watchlists.name": CloudField(_WATCHLIST_NAMES, "list"),
        "watchlists_name": CloudField(_WATCHLIST_NAMES, "list"),
        "ttps": CloudField("techniques", "list"),
        "attack_technique": CloudField("techniques", "list"),
        "tags": CloudField("tags", "list"),
        "policy_applied": CloudField("'NOT_APPLIED'"),
        "run_state": CloudField("'RAN'"),
        "sensor_action": CloudField("'ALLOW'"),
        "device_location": CloudField("'UNKNOWN'"),
        "ml_classification_final_verdict": CloudField("'NOT_CLASSIFIED'"),
        "threat_notes_present": CloudField("0", "flag"),
        "workflow_status": CloudField(_WORKFLOW, lasting=False),
        "workflow.status": CloudField(_WORKFLOW, lasting=False),
        "workflow_assigned_to": CloudField("assigned_to", lasting=False),
        "determination_value": CloudField(
            "if(status = 'False Positive', 'FALSE_POSITIVE', 'NONE')", lasting=False
        ),
        "alert_notes_present": CloudField("notes != ''", "flag", lasting=False),
        "backend_timestamp": CloudField("created_time", "time"),
        "create_time": CloudField("created_time", "time"),
        "detection_timestamp": CloudField("created_time", "time"),
        "backend_update_timestamp": CloudField("updated_time", "time", lasting=False),
        "first_event_timestamp": CloudField("first_event_time", "time", lasting=False),
        "last_event_timestamp": CloudField("last_event_time", "time", lasting=False),
        "user_update_timestamp": CloudField(_CHANGED, "time", lasting=False),
        "workflow_change_timestamp": CloudField(_CHANGED, "time", lasting=False),
    }
)
"""Every field by name."""


def cloud_field(name: str, place: str) -> CloudField:
    """Returns the field that a caller names, in upper or lower case. Raises BadRequestError, naming
    `place`."""
    found = FIELDS.get(name.lower())
    if found is None:
        raise BadRequestError(f"{place}: unknown field {name[:60]!r}")
    return found
