"""Answers about bans and ingress filters, and answers of the server about itself."""

from typing import Final

from vedette.api.schemas.openapi.terms import (
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
from vedette.model.ingress_filter import EVENT_LISTS, PROCESS_LISTS

_AUDIT: Final[dict[str, Schema]] = {
    **alike(("username", "text"), TEXT),
    "user_id": INTEGER,
    "timestamp": TIME,
    "enabled": FLAG,
}
_BAN: Final[dict[str, Schema]] = {
    **_AUDIT,
    "md5hash": TEXT,
    "sha256hash": nullable(TEXT),
    "block_count": INTEGER,
    "last_block_sensor_id": nullable(INTEGER),
    "last_block_time": nullable(TIME),
    "last_block_hostname": nullable(TEXT),
    "audit": listing(record(_AUDIT)),
}
_SUCCESS: Final[dict[str, Schema]] = {"result": {"const": "success"}}
_CLAIMS: Final[dict[str, Schema]] = {"claimed_sha256": listing(TEXT)}

_FILTER: Final[dict[str, Schema]] = {
    **alike(("id", "name", "description"), TEXT),
    **alike(("version", "priority", "os_mask", "descendant_filtering_level"), INTEGER),
    **alike(("create_user_id", "modify_user_id"), INTEGER),
    **alike(("internal", "enabled", "filter_on_sensor", "filter_on_server"), FLAG),
    **alike(("track_metrics", "global", "filter_all_events"), FLAG),
    "hit_rate": NUMBER,
    **alike(("group_ids", "sensor_ids"), listing(INTEGER)),
    **alike((*PROCESS_LISTS, *EVENT_LISTS), listing(TEXT)),
    **alike(("create_timestamp", "modify_timestamp"), TIME),
}
_TRIAL: Final[dict[str, Schema]] = {
    "id": TEXT,
    **alike(("processes", "processes_meant", "events", "events_dropped"), INTEGER),
    **alike(("process_share", "event_share"), NUMBER),
    **alike(("estimated", "partial"), FLAG),
}
_ROWS_WHEN_MOUNTED: Final = alike(("deletedDocs", "maxDoc", "numDocs"), INTEGER)

POLICY: Final[dict[str, Schema]] = {
    "Success": record(_SUCCESS),
    "Ban": record(_BAN),
    "BanWithClaims": record(_BAN | _CLAIMS),
    "ChangedBan": record(_BAN | _SUCCESS),
    "NewBan": record(
        _BAN
        | _SUCCESS
        | _CLAIMS
        | {
            "running": listing(
                record(
                    {
                        **alike(("sensor_id", "process_count"), INTEGER),
                        "hostname": TEXT,
                        "last_seen": TIME,
                        "process_ids": listing(TEXT),
                    }
                )
            )
        }
    ),
    "IngressFilter": record(_FILTER),
    "LegacyIngressFilter": record(_FILTER | {"command_line_filters": listing(TEXT)}),
    "FilterIds": listing(TEXT),
    "FilterTrial": record(
        {
            "dry_run": {"const": True},
            "filters": listing(record(_TRIAL)),
            "blinded": listing(OBJECT),
        }
    ),
    "NewIngressFilters": {"oneOf": [reference("FilterIds"), reference("FilterTrial")]},
    "Partitions": mapping(reference("Partition")),
    "Partition": record(
        {
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
    ),
    "PartitionChange": record({"results": TEXT}),
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
"""Component name -> schema."""
