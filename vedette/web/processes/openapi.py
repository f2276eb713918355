"""Response schemas of searches, processes, their events, and binaries."""

from typing import Final

from vedette.search.processes.process_columns import COUNTED
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

_PARENT: Final[dict[str, Schema]] = {
    **alike(("parent_id", "parent_unique_id", "parent_name", "parent_md5"), TEXT),
    "parent_pid": INTEGER,
}
_PROCESS: Final[dict[str, Schema]] = {
    **alike(("id", "unique_id", "process_name", "process_md5", "path", "cmdline"), TEXT),
    **alike(("username", "hostname", "group", "os_type", "host_type"), TEXT),
    **alike(("segment_id", "process_pid", "sensor_id"), INTEGER),
    "start": nullable(TIME),
    "terminated": FLAG,
    **_PARENT,
}
"""Members that a parent without records also has."""

_RECORDED: Final[dict[str, Schema]] = {
    **alike(("last_update", "last_server_update"), TIME),
    **alike(("comms_ip", "interface_ip", "emet_count"), INTEGER),
    "emet_config": TEXT,
    "filtering_known_dlls": FLAG,
    "event_partition_id": listing(INTEGER),
    **alike([f"{kind}_count" for kind in COUNTED], INTEGER),
}
_WHEN_KNOWN: Final[dict[str, Schema]] = {
    **alike(("process_sha256", "process_sha1", "uid", "original_filename"), TEXT),
    **alike(("integrity_level", "current_directory", "logon_id", "terminal_session_id"), TEXT),
    **alike(("process_guid", "parent_path", "parent_sha256", "parent_cmdline"), TEXT),
    "parent_username": TEXT,
    "exit_status": TEXT,
    "logon_type": INTEGER,
    "end": TIME,
    "watchlists": listing(OBJECT),
}
_ALLIANCE: Final[Schema] = {"patternProperties": {"^alliance_(score|data|link|updated)_": {}}}
"""Members that feeds add to a document, with the feed's name as suffix."""
_ALL: Final = _PROCESS | _RECORDED | _WHEN_KNOWN

_EVENT_LISTS: Final[dict[str, Schema]] = {
    "block_type": INTEGER,
    **alike([f"{kind}_complete" for kind in COUNTED], listing(TEXT)),
    "netconn_complete": listing({"anyOf": [TEXT, reference("Netconn")]}),
    "childproc_complete": listing({"anyOf": [TEXT, reference("Childproc")]}),
}
"""Strings with fields separated by `|`; connections are objects from v2 on, children from v3 on."""

_ADDRESS: Final[Schema] = {"type": ["string", "integer"]}

_PAGE: Final[dict[str, Schema]] = {
    "terms": listing(TEXT),
    "total_results": INTEGER,
    "highlights": listing(record({"name": TEXT, "ids": listing(TEXT)})),
    "facets": mapping(listing(reference("FacetValue"))),
    "start": INTEGER,
    "elapsed": SECONDS,
    **alike(("comprehensive_search", "incomplete_results"), FLAG),
    "filtered": INTEGER,
}

_BUCKET: Final = record({"time": TIME, "count": INTEGER, "values": listing(INTEGER)}, ("values",))
HISTOGRAM: Final = nullable(
    record(
        {
            **alike(("field", "by"), TEXT),
            "interval": INTEGER,
            **alike(("since", "until"), nullable(TIME)),
            "values": listing(TEXT),
            "buckets": listing(_BUCKET),
        },
        ("by", "values"),
    )
)

_READ: Final[dict[str, Schema]] = {
    **alike(("partitions", "of_partitions", "unmounted_partitions", "damaged_parts"), INTEGER),
    "since": nullable(TIME),
}

_YARA: Final[dict[str, Schema]] = {
    **alike(("name", "state", "problem", "username"), TEXT),
    "enabled": FLAG,
    "changed": TIME,
}

_BINARY: Final[dict[str, Schema]] = {
    **alike(("md5", "signed", "digsig_result", "os_type"), TEXT),
    **alike(("server_added_timestamp", "timestamp", "last_seen"), nullable(TIME)),
    **alike(("orig_mod_len", "copied_mod_len", "host_count"), INTEGER),
    **alike(("is_executable_image", "tampered"), FLAG),
    "is_64bit": nullable(FLAG),
    **alike(("observed_filename", "endpoint", "group"), listing(TEXT)),
    "watchlists": listing(OBJECT),
}
_BINARY_WHEN_KNOWN: Final[dict[str, Schema]] = {
    **alike(("sha256", "sha1", "product_version", "product_name", "product_desc"), TEXT),
    **alike(("file_version", "company_name", "internal_name", "legal_copyright"), TEXT),
    **alike(("legal_trademark", "file_desc", "original_filename", "private_build"), TEXT),
    **alike(("special_build", "comments", "digsig_result_code", "digsig_publisher"), TEXT),
    **alike(("digsig_prog_name", "digsig_issuer", "digsig_subject", "imphash"), TEXT),
    **alike(("image_format", "build_id", "interpreter"), TEXT),
    **alike(("digsig_sign_time", "digsig_countersign_time"), TIME),
}
_BINARY_FACETS: Final[dict[str, Schema]] = {
    "icon": TEXT,
    "section_entropy": listing(record({"name": TEXT, "entropy": {"type": "number"}})),
    "read_problems": listing(TEXT),
    **alike(("product_name_facet", "file_version_facet", "company_name_facet"), TEXT),
    "digsig_publisher_facet": TEXT,
    "observed_filename_facet": listing(TEXT),
}

_USAGE_HOST: Final[dict[str, Schema]] = {
    **alike(("hostname", "group"), TEXT),
    "sensor_id": INTEGER,
    **alike(("first_seen", "last_seen"), TIME),
    "paths": listing(TEXT),
}
_USAGE: Final[dict[str, Schema]] = {
    "md5": TEXT,
    **alike(("host_count", "run_count"), INTEGER),
    "hosts": listing(record(_USAGE_HOST)),
    **alike(
        ("paths", "parents", "command_lines", "usernames", "days"),
        listing(record({"name": TEXT, **alike(("runs", "hosts"), INTEGER)})),
    ),
}

_NODE_LABEL: Final = record(alike(("path", "process_name", "cmdline"), TEXT))
_NODE: Final[dict[str, Schema]] = {
    **alike(("id", "unique_id", "parent_id", "process_md5", "process_sha256", "username"), TEXT),
    **alike(("depth", "process_pid"), INTEGER),
    "segment_id": nullable(INTEGER),
    "relation": {"enum": ["fork", "exec", "other_exec", "other"]},
    "reported_by": nullable(TEXT),
    "label": _NODE_LABEL,
    "now": nullable(_NODE_LABEL),
    **alike(("start", "end"), nullable(TIME)),
    "terminated": nullable(FLAG),
    "event_counts": mapping(INTEGER),
    "alerts": listing(OBJECT),
    **alike(("is_suppressed", "has_more_children"), FLAG),
    "missing": nullable(TEXT),
    "sensor_id": INTEGER,
    "hostname": TEXT,
}

_METADATA: Final[dict[str, Schema]] = {
    **alike(("id", "unique_id", "hostname", "group", "os_type", "host_type", "uid"), TEXT),
    **alike(("process_name", "path", "process_md5", "process_sha256"), TEXT),
    **_PARENT,
    **alike(("segment_id", "facet_id", "sensor_id", "interface_ip", "comms_ip"), INTEGER),
    "logon_type": INTEGER,
    "process_pid": listing(INTEGER),
    **alike(("cmdline", "username"), listing(TEXT)),
    "start": nullable(TIME),
    **alike(("day_of_week", "hour_of_day"), nullable(INTEGER)),
    **alike(("last_update", "last_server_update", "server_added_timestamp"), TIME),
    **alike(("terminated", "creation_observed", "tampered", "filtering_known_dlls"), FLAG),
    **alike(("has_emet_event", "has_emet_config"), FLAG),
}

SEARCH: Final[dict[str, Schema]] = {
    "Process": record(_ALL, _WHEN_KNOWN) | _ALLIANCE,
    "ProcessRelative": record(_ALL | {"is_suppressed": FLAG}, _WHEN_KNOWN) | _ALLIANCE,
    "ProcessParent": record(_ALL, {**_ALL}) | {"description": "Empty when no parent is known"},
    "ProcessSearch": record(
        _PAGE
        | {"results": listing(reference("Process")), "all_segments": FLAG, "tagged_pids": OBJECT}
        | {"read": record(_READ), "histogram": HISTOGRAM},
        ("histogram",),
    ),
    "FacetValue": record({"name": TEXT, "value": INTEGER, "percent": NUMBER, "ratio": TEXT}),
    "ProcessSummary": record(
        {
            "process": reference("Process"),
            "parent": reference("ProcessParent"),
            **alike(("siblings", "children"), listing(reference("ProcessRelative"))),
        }
    ),
    "ProcessEvents": record(
        {
            "process": record(
                _ALL
                | _EVENT_LISTS
                | {"binaries": mapping(record(alike(("digsig_result", "digsig_publisher"), TEXT)))},
                _WHEN_KNOWN,
            ),
            "total_events": INTEGER,
            "incomplete_events": FLAG,
            "elapsed": SECONDS,
        }
    ),
    "ProcessPreview": record(
        _ALL | _EVENT_LISTS | {"segment": INTEGER, "elapsed": SECONDS}, _WHEN_KNOWN
    ),
    "Netconn": record(
        {
            "timestamp": TIME,
            **alike(("direction", "domain", "ja3", "ja3s"), TEXT),
            **alike(("proto", "local_port", "remote_port"), INTEGER),
            **alike(("local_ip", "remote_ip"), _ADDRESS),
        },
        ("ja3", "ja3s"),
    ),
    "Childproc": record(
        {
            "type": {"enum": ["start", "end"]},
            **alike(("start", "end"), nullable(TIME)),
            **alike(("processId", "md5", "path", "commandLine", "userName"), TEXT),
            "pid": INTEGER,
            **alike(("is_suppressed", "is_tampered"), FLAG),
        }
    ),
    "Segments": record(
        {
            "process": record({"segments": listing(reference("Segment"))}),
            "elapsed": SECONDS,
        }
    ),
    "Segment": record(
        {
            "unique_id": TEXT,
            "segment_id": INTEGER,
            **alike(("last_update", "last_server_update"), TIME),
            "event_counts": record(alike(COUNTED, INTEGER)),
        }
    ),
    "FeedHits": record({"alliance_hits": OBJECT, "elapsed": SECONDS}),
    "ProcessTree": record(
        {
            "process_id": TEXT,
            "depth": INTEGER,
            **alike(("ancestors", "nodes"), listing(reference("TreeNode"))),
            "is_complete": FLAG,
            "continue": nullable(TEXT),
            "elapsed": SECONDS,
        }
    ),
    "TreeNode": record(_NODE, ("sensor_id", "hostname")),
    "Timeline": record(
        {
            "process_id": TEXT,
            "interval": INTEGER,
            **alike(("first_event", "last_event"), nullable(TIME)),
            "buckets": listing(record({"start": TIME, "event_counts": mapping(INTEGER)})),
            "event_counts": mapping(INTEGER),
            "elapsed": SECONDS,
        }
    ),
    "ProcessMetadata": record(
        {
            "process_metadata": record(_METADATA | {"watchlists": listing(OBJECT)}, ("watchlists",))
            | _ALLIANCE
        }
    ),
    "EventStream": record(
        {
            **alike(("stream_id", "status_fw", "status_bw"), TEXT),
            **alike(("ref_segment_id", "cur_segment_id"), INTEGER),
            **alike(("head_as_ref_segment_offset", "head_as_cur_segment_offset"), INTEGER),
            "events": listing(reference("StreamEvent")),
        }
    ),
    "StreamEvent": record(
        {
            "type": TEXT,
            "time": TIME,
            "data": OBJECT,
            "segment_id": INTEGER,
            "binary_info": nullable(
                record(alike(("digsig_result", "digsig_publisher"), nullable(TEXT)))
            ),
            "alliance_hits": {"type": "null"},
            **alike(("ondemand_feeds", "ondemand_classification"), {"type": "null"}),
        }
    ),
    "EventFacets": record(
        {
            **alike(("alliance_hits", "on_demand_hits"), OBJECT),
            "facets": record(
                {
                    "terms": listing(record({"field": TEXT, "values": listing(OBJECT)})),
                    **alike(("num_found", "processed_segments"), INTEGER),
                }
            ),
            "partial_results": FLAG,
        }
    ),
    "Suppression": record({"is_suppressed": FLAG, "timeout": FLAG}),
    "SegmentId": record({"segment_id": INTEGER}),
    "Binary": record(_BINARY | _BINARY_WHEN_KNOWN, _BINARY_WHEN_KNOWN) | _ALLIANCE,
    "BinarySummary": record(
        _BINARY | _BINARY_WHEN_KNOWN | _BINARY_FACETS, _BINARY_WHEN_KNOWN | _BINARY_FACETS
    )
    | _ALLIANCE,
    "BinaryUsage": record(_USAGE),
    "YaraRules": record(
        {"rules": listing(record(_YARA)), **alike(("copies", "copies_read"), INTEGER)}
    ),
    "YaraRule": record(_YARA),
    "YaraText": record(_YARA | {"text": TEXT}),
    "AddedBinary": record({**alike(("md5", "sha256"), TEXT), "size": INTEGER}),
    "BinaryRequest": record(
        {
            **alike(("md5", "sha256", "state"), TEXT),
            "copied_mod_len": INTEGER,
            "requests": listing(
                record(
                    {
                        **alike(("id", "sensor_id", "received"), INTEGER),
                        **alike(("hostname", "group", "requested_by", "state", "message"), TEXT),
                        **alike(("requested", "expires"), TIME),
                        "ended": nullable(TIME),
                    }
                )
            ),
        }
    ),
    "BinarySearch": record(_PAGE | {"results": listing(reference("Binary"))}),
    "Frequency": record(alike(("hostCount", "globalCount", "numDocs"), INTEGER)),
    "Explanation": record(
        {
            "query": TEXT,
            "tree": OBJECT,
            "terms": listing(
                record(
                    {
                        **alike(("term", "reads"), TEXT),
                        **alike(("start", "end"), INTEGER),
                        "segments": nullable(INTEGER),
                        "tests": listing(OBJECT),
                        "hints": listing(TEXT),
                    }
                )
            ),
            **alike(("terms_left_out", "total_results", "segments"), INTEGER),
            "plan": nullable(OBJECT),
            "partitions": listing(record({"name": TEXT, "status": TEXT, "searched": FLAG})),
            "predicted_cost": record({"segments_read": INTEGER, "level": TEXT}),
            "hints": listing(record({"term": TEXT, "hint": TEXT})),
            "elapsed": SECONDS,
        }
    ),
}
"""Maps component name to schema."""
