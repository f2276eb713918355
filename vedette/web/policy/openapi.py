"""Response schemas of bans, ingress filters and Sigma rules, and of the server's own state."""

from typing import Final, get_args

from vedette.state.policy.sigma.log_sources import Arrival
from vedette.state.policy.sigma_rule import RuleState
from vedette.web.json.terms import (
    FLAG,
    INTEGER,
    NUMBER,
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

_SUCCESS: Final[dict[str, Schema]] = {"result": {"const": "success"}}
_TRIAL: Final[dict[str, Schema]] = {
    "id": TEXT,
    **alike(("processes", "processes_meant", "events", "events_dropped"), INTEGER),
    **alike(("process_share", "event_share"), NUMBER),
    **alike(("estimated", "partial"), FLAG),
    "dropped_by": record(
        {
            "kind": listing(record({"name": TEXT, "events": INTEGER})),
            "host": listing(record({"sensor_id": INTEGER, "hostname": TEXT, "events": INTEGER})),
            "path": listing(record({"path": TEXT, "events": INTEGER})),
        }
    ),
    **alike(("dropped_hosts", "dropped_paths"), INTEGER),
}
_ROWS_WHEN_MOUNTED: Final = alike(("deletedDocs", "maxDoc", "numDocs"), INTEGER)
_PARTITION: Final[dict[str, Schema]] = {
    "name": TEXT,
    "status": {"enum": ["hot", "warm", "cold"]},
    "info": record(
        {
            **alike(("sizeInBytes", "partitionId", "segmentCount"), INTEGER),
            "startDate": TIME,
            "endDate": nullable(TIME),
            **alike(("userMounted", "isLegacy"), FLAG),
            **alike(("dir", "schema"), TEXT),
            **_ROWS_WHEN_MOUNTED,
        },
        _ROWS_WHEN_MOUNTED,
    ),
}

_RULE: Final[dict[str, Schema]] = {
    **alike(("id", "kind", "title", "level", "status", "version", "origin"), TEXT),
    **alike(("reason", "message", "modified_by"), TEXT),
    **alike(("revision", "generation", "events", "hits", "verify_us"), INTEGER),
    "enabled": FLAG,
    "state": {"enum": list(get_args(RuleState))},
    **alike(("created", "modified"), TIME),
    **alike(("stopped", "last_hit"), nullable(TIME)),
    "log_source": nullable(
        record(
            {
                "state": {"enum": list(get_args(Arrival))},
                **alike(("first_event", "last_event"), nullable(TIME)),
            }
        )
    ),
}
_DOCUMENT: Final = alike(("place", "id", "kind", "title", "level", "reason", "message"), TEXT)
_IMPORTED: Final = _DOCUMENT | {"change": TEXT, "line": INTEGER}
_RULE_HIT: Final = record(
    {
        **alike(("rule_id", "title", "hostname", "process_id"), TEXT),
        "time": TIME,
        "matched": mapping(TEXT),
    }
)
_SEVERITY: Final[Schema] = {"enum": ["ok", "warning", "error"]}

POLICY: Final[dict[str, Schema]] = {
    "SigmaRule": record(_RULE | {"text": TEXT}),
    "SigmaVersions": listing(
        record(
            {
                "revision": INTEGER,
                "modified": TIME,
                **alike(("text", "title", "level", "modified_by"), TEXT),
            }
        )
    ),
    "SigmaPlaceholders": listing(
        record(
            {
                **alike(("name", "modified_by"), TEXT),
                "modified": nullable(TIME),
                **alike(("values", "rules"), listing(TEXT)),
            }
        )
    ),
    "CompiledRules": record({"result": TEXT, "rules": INTEGER}),
    "SigmaRules": record(
        {
            **alike(("total_results", "start"), INTEGER),
            "results": listing(record(_RULE)),
            "in_force": record({**alike(("generation", "seq"), INTEGER), "time": nullable(TIME)}),
            "reasons": mapping(INTEGER),
        }
    ),
    "ImportedRules": {"anyOf": [reference("TakenRules"), reference("ForeseenRules")]},
    "TakenRules": record({"results": listing(record(_IMPORTED))}),
    "ForeseenRules": record(
        {
            "dry_run": {"const": True},
            "counts": mapping(INTEGER),
            "results": listing(record(_IMPORTED)),
        }
    ),
    "RuleTrial": {"anyOf": [reference("EventTrial"), reference("PastTrial")]},
    "EventTrial": record(
        {
            "documents": listing(record(_DOCUMENT)),
            "hits": listing(_RULE_HIT),
            "events": INTEGER,
            "rejected": mapping(INTEGER),
        }
    ),
    "PastTrial": record(
        {
            "documents": listing(record(_DOCUMENT)),
            **alike(("from", "to"), TIME),
            "by": TEXT,
            **alike(("events", "total_hits", "total_hosts", "expected_alerts"), INTEGER),
            **alike(("average_hits_per_day", "expected_alerts_per_day"), NUMBER),
            "hits_per_day": listing(record({"day": TEXT, "hits": INTEGER})),
            "hosts": listing(record({**alike(("sensor_id", "hits"), INTEGER), "hostname": TEXT})),
            "rules": listing(
                record(
                    {
                        **alike(("rule_id", "title"), TEXT),
                        **alike(("hits", "expected_alerts"), INTEGER),
                        "not_stored": listing(TEXT),
                    }
                )
            ),
            "samples": listing(_RULE_HIT),
            "incomplete_results": FLAG,
        }
    ),
    "Success": record(_SUCCESS),
    "WatchlistPreview": record(
        {
            "index_type": TEXT,
            **alike(("from", "to"), TIME),
            **alike(("total_hits", "total_hosts", "expected_alerts"), INTEGER),
            **alike(("average_hits_per_day", "expected_alerts_per_day"), NUMBER),
            "hits_per_day": listing(record({"day": TEXT, "hits": INTEGER})),
            "hosts": listing(record({**alike(("sensor_id", "hits"), INTEGER), "hostname": TEXT})),
            "samples": listing(OBJECT),
            "top_values": listing(
                record({**alike(("field", "value", "search_query"), TEXT), "hits": INTEGER})
            ),
            "incomplete_results": FLAG,
        }
    ),
    "FilterIds": listing(TEXT),
    "FilterTrial": record(
        {
            "dry_run": {"const": True},
            "filters": listing(record(_TRIAL)),
            "blinded": listing(OBJECT),
        }
    ),
    "EventTrials": record(
        {
            "dry_run": {"const": True},
            "samples": listing(
                record(
                    {
                        "id": TEXT,
                        **alike(("means_process", "means_parent"), FLAG),
                        "dropped": {"enum": ["", "process", "event"]},
                        "lists": listing(record({"name": TEXT, "entry": nullable(TEXT)})),
                    }
                )
            ),
        }
    ),
    "FilterCheck": {"anyOf": [reference("FilterTrial"), reference("EventTrials")]},
    "NewIngressFilters": {"anyOf": [reference("FilterIds"), reference("FilterTrial")]},
    "Partitions": mapping(reference("Partition")),
    "Partition": record(_PARTITION),
    "PartitionChange": record({"results": TEXT}),
    "PartitionContent": record(
        {
            "dry_run": {"const": True},
            **_PARTITION,
            **alike(("segments", "events", "processes", "hosts"), nullable(INTEGER)),
            **alike(("alerts", "open_alerts"), nullable(INTEGER)),
            "days": listing(record({"day": TEXT, **alike(("segments", "events"), INTEGER)})),
        }
    ),
    "PartitionDeletion": {"anyOf": [reference("PartitionChange"), reference("PartitionContent")]},
    "ServerInfo": record(
        {
            **alike(("version", "version_release"), TEXT),
            **alike(("cblrEnabled", "linuxInstallerExists", "osxInstallerExists"), FLAG),
            "banningEnabled": FLAG,
            **alike(("maxSearchResultRows", "maxRowsSolrReportQuery"), INTEGER),
            **alike(("processPageSize", "binaryPageSize"), INTEGER),
            "features": OBJECT,
        }
    ),
    "Health": record({"status": {"const": "ok"}}),
    "Diagnosis": record(
        {
            "running": FLAG,
            "severity": _SEVERITY,
            "findings": listing(
                record({**alike(("check", "text", "remedy"), TEXT), "severity": _SEVERITY})
            ),
        }
    ),
    "Readiness": record(
        {
            "ready": FLAG,
            "checks": mapping(TEXT),
            "deletion_by_age": TEXT,
            "damaged_parts": listing(TEXT),
        },
        ("deletion_by_age", "damaged_parts"),
    ),
}
"""Maps component name to schema."""
