"""Formats results of process analysis: event facets, metadata, suppression
(docs/process-analysis-facets.md#facet-fields)."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from vedette.limits import Limit
from vedette.model.address import signed_int32
from vedette.model.event_facets import EVENT_FACETS
from vedette.model.host import minutes_ahead
from vedette.model.ids import unique_id
from vedette.search.events.bulk_facets import EventFacets
from vedette.search.processes.process_columns import Row
from vedette.search.processes.segment_lookup import SuppressionCheck
from vedette.web.json.wire_values import instant, known_instant
from vedette.web.processes.models import Body, parent_members
from vedette.web.processes.tags_json import feed_hits, tag_members

FACET_VALUES_MAX: Limit[int] = 200
"""Most frequent values of a facet field in a response (docs/api-objects.md#limits-of-answers)."""


def event_facets_body(found: EventFacets) -> Body:
    """Returns facets of a process's events
    (docs/process-analysis-facets.md#facet-fields). Feed hits cover the whole process."""
    return {
        "alliance_hits": feed_hits(found.tags),
        "on_demand_hits": {},
        "facets": {
            "terms": [_term(name, counts) for name, counts in found.values.items() if counts],
            "num_found": found.found,
            "processed_segments": found.segments,
        },
        "partial_results": found.is_partial,
    }


def _term(name: str, counts: Mapping[str, int]) -> Body:
    """Returns a facet field with its most frequent values, ties sorted by id."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    names = EVENT_FACETS[name].names
    return {
        "field": name,
        "values": [
            {"id": value, "name": names.get(value, value), "total": total}
            for value, total in ordered[:FACET_VALUES_MAX]
        ],
    }


def suppression_body(check: SuppressionCheck) -> Body:
    return {"is_suppressed": check.is_suppressed, "timeout": check.is_timed_out}


def metadata_body(row: Row) -> Body:
    """Returns all metadata of a process, without events (docs/api-objects.md#process-metadata)."""
    known = _names(row) | _host(row) | _run(row) | _times(row) | _flags(row)
    return {"process_metadata": known | tag_members(row)}


def _names(row: Row) -> Body:
    parent = parent_members(row)
    return {
        "id": row["process_id"],
        "unique_id": unique_id(row["process_id"], row["segment_id"]),
        "segment_id": row["segment_id"],
        "facet_id": 0,
        **{name: parent[name] for name in ("parent_id", "parent_unique_id", "parent_name")},
        **{name: parent[name] for name in ("parent_pid", "parent_md5")},
    }


def _host(row: Row) -> Body:
    return {
        "sensor_id": row["sensor_id"],
        "hostname": row["hostname"],
        "group": row["group"],
        "os_type": row["os_type"],
        "host_type": row["host_type"] or "workstation",
        "interface_ip": signed_int32(row["interface_ip"]),
        "comms_ip": signed_int32(row["comms_ip"]),
    }


def _run(row: Row) -> Body:
    return {
        "process_name": row["process_name"],
        "path": row["path"],
        "process_md5": row["process_md5"],
        "process_sha256": row["process_sha256"],
        "process_pid": _listed(row["process_pid"]),
        "cmdline": _listed(row["cmdline"]),
        "username": _listed(row["username"]),
        "uid": row["uid"],
        "logon_type": row["logon_type"],
    }


def _times(row: Row) -> Body:
    """Returns the times. `day_of_week` (0 is Sunday) and `hour_of_day` of the start are in the
    host's local time, null if the start is unknown."""
    began_us = row["start"]
    local_s = began_us // 1_000_000 + 60 * minutes_ahead(row["host_clock"])
    began = datetime.fromtimestamp(local_s, UTC) if began_us else None
    return {
        "start": known_instant(began_us),
        "day_of_week": None if began is None else began.isoweekday() % 7,
        "hour_of_day": None if began is None else began.hour,
        "last_update": instant(row["last_update"]),
        "last_server_update": instant(row["last_server_update"]),
        "server_added_timestamp": instant(row["first_server_update"]),
    }


def _flags(row: Row) -> Body:
    return {
        "terminated": bool(row["terminated"]),
        "creation_observed": bool(row["creation_observed"]),
        "tampered": bool(row["tampered"]),
        "filtering_known_dlls": bool(row["filtering_known_dlls"]),
        "has_emet_event": False,
        "has_emet_config": False,
    }


def _listed(value: Any) -> list[Any]:
    return [value] if value else []
