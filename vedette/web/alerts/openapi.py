"""Response schemas of alerts, suppressions and the risk of hosts."""

from typing import Final

from vedette.model.findings.alert import EVENT_COUNTS, STATUSES
from vedette.web.json.terms import (
    FLAG,
    INTEGER,
    NUMBER,
    OBJECT,
    SECONDS,
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
from vedette.web.processes.openapi import HISTOGRAM

_ALERT: Final[dict[str, Schema]] = {
    **alike(("unique_id", "alert_type", "title", "description", "link", "level"), TEXT),
    **alike(("assigned_to", "notes", "hostname", "group", "os_type", "username"), TEXT),
    **alike(("process_name", "process_path", "process_id", "process_unique_id"), TEXT),
    **alike(("cmdline", "parent_name", "md5", "sha256", "feed_name", "watchlist_name"), TEXT),
    **alike(("report_id", "ioc_type", "ioc_value", "source", "source_id", "source_name"), TEXT),
    **alike(("rule_version", "subject", "total_hosts", "comms_ip", "interface_ip"), TEXT),
    **alike(("_version_", "sensor_id", "segment_id", "feed_id", "count"), INTEGER),
    **alike((*EVENT_COUNTS, "sensor_criticality"), INTEGER),
    **alike(("alert_severity", "report_score", "ioc_confidence", "feed_rating"), NUMBER),
    **alike(("tags", "techniques", "observed_filename"), listing(TEXT)),
    "status": {"enum": list(STATUSES)},
    "watchlist_id": {"type": ["integer", "string"]},
    "report_ignored": FLAG,
    **alike(("created_time", "updated_time"), TIME),
    **alike(("first_event_time", "last_event_time"), nullable(TIME)),
    "resolved_time": nullable(TIME),
    **alike(("matched", "ioc_attr"), mapping(TEXT)),
}
_COUNTS: Final = (
    "changed",
    "alerts",
    "hosts",
    "assigned_to_others",
    "reports",
    "not_permitted",
)
_HISTORY: Final = listing(
    record({"timestamp": TIME, "user_id": INTEGER, "username": TEXT, "changes": OBJECT})
)
_WHOLE: Final[dict[str, Schema]] = _ALERT | {
    **alike(("rule_text", "parent_cmdline"), TEXT),
    "event": mapping(TEXT),
    "false_positives": listing(TEXT),
    "history": _HISTORY,
}

ALERTS: Final[dict[str, Schema]] = {
    "Alert": record(_ALERT),
    "WholeAlert": record(_WHOLE),
    "ChangedAlert": record(_WHOLE | {"result": {"const": "success"}}),
    "AlertSearch": record(
        {
            "terms": listing(TEXT),
            "results": listing(reference("Alert")),
            "elapsed": SECONDS,
            **alike(("comprehensive_search", "all_segments", "incomplete_results"), FLAG),
            **alike(("total_results", "start", "filtered"), INTEGER),
            "highlights": listing(record({"name": TEXT, "ids": listing(TEXT)})),
            "facets": mapping(listing(reference("FacetValue"))),
            "histogram": HISTOGRAM,
        },
        ("histogram",),
    ),
    "AlertGroups": record(
        {
            "group": TEXT,
            **alike(("total_results", "start"), INTEGER),
            "results": listing(
                record(
                    {
                        "values": OBJECT,
                        **alike(("title", "newest_unique_id"), TEXT),
                        **alike(("count", "events", "hosts"), INTEGER),
                        "alert_severity": NUMBER,
                        **alike(("first_created_time", "created_time"), TIME),
                        "statuses": mapping(INTEGER),
                        "trend": listing(INTEGER),
                    }
                )
            ),
        }
    ),
    "AlertHistory": record(
        {
            **alike(("unique_id", "rule_version", "assigned_to", "notes"), TEXT),
            "made": TIME,
            "status": {"enum": list(STATUSES)},
            "history": _HISTORY,
        }
    ),
    "ChangedAlerts": record(
        {
            "result": {"const": "success"},
            **alike(_COUNTS, INTEGER),
            "action_id": nullable(TEXT),
            **alike(("dry_run", "selects_all"), FLAG),
            **alike(("oldest", "newest"), nullable(TIME)),
            "snapshot": TIME,
        },
        optional=(
            *_COUNTS,
            "action_id",
            "dry_run",
            "selects_all",
            "oldest",
            "newest",
            "snapshot",
        ),
    ),
    "UndoneChange": record(
        {"result": {"const": "success"}, **alike(("restored", "reports"), INTEGER)}
    ),
    "AlertAudit": record(
        {
            **alike(("id", "user_id"), INTEGER),
            "timestamp": TIME,
            **alike(("username", "selected", "changes"), TEXT),
            "changed": nullable(INTEGER),
        }
    ),
    "AlertSuppressionPreview": record(
        {
            **alike(("alerts", "of_alerts"), INTEGER),
            **alike(("days", "hosts", "titles"), listing(reference("FacetValue"))),
            "samples": listing(reference("Alert")),
        }
    ),
    "HostRisk": record(
        {
            **alike(("sensor_id", "open_alerts"), INTEGER),
            "risk": NUMBER,
            "contributions": listing(
                record({**alike(("unique_id", "title"), TEXT), "weight": NUMBER})
            ),
            "by_day": listing(record({"day": TEXT, "risk": NUMBER})),
        }
    ),
}
"""Maps component name to schema."""
