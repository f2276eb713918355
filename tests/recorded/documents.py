"""Data that the API reports about every process, without values that may differ between imports.

Excluded are ids that the server assigns: sensor ids, segment ids, times of arrival, partitions. All
other data is compared: every other member of the search results, on which all segments of a process
must agree, and every event of every list. The number of events must equal the counts of the
segments.
"""

import json
from collections import Counter
from typing import Any

from tests.recorded.event_table import LISTS
from tests.recorded.server import EVENT_LISTS, Server

Body = dict[str, Any]
Name = tuple[str, str]
"""Host in lower case, and the process id without the digits of the sensor."""

GIVEN = frozenset(
    {"id", "segment_id", "unique_id", "sensor_id", "last_server_update", "event_partition_id"}
)
"""Members of a search result that the server gives away."""

PARTIAL = frozenset({"last_update", *(f"{name}_count" for name in EVENT_LISTS)})
"""Members that differ from segment to segment of a process."""

PROBES = ("domain:*", "pipe:*", "scriptblock:*")
"""Kinds of events that the API has no list for are compared by the processes that have them."""


def name_of(segment: Body) -> Name:
    return segment["hostname"].lower(), segment["id"][8:]


def by_process(segments: list[Body]) -> dict[Name, list[Body]]:
    found: dict[Name, list[Body]] = {}
    for segment in segments:
        found.setdefault(name_of(segment), []).append(segment)
    return found


def totals(segments: list[Body]) -> dict[str, Counter[str]]:
    """Events by host and list, by the counts of the segments."""
    found: dict[str, Counter[str]] = {}
    for segment in segments:
        counts = found.setdefault(segment["hostname"].lower(), Counter())
        for name in LISTS:
            counts[name] += segment[f"{name}_count"]
    return found


def documents(server: Server) -> dict[Name, Body]:
    """All processes with all their events."""
    found: dict[Name, Body] = {}
    for name, segments in by_process(server.segments()).items():
        body = _metadata(segments)
        for some, events in server.events(segments).items():
            assert len(events) == sum(segment[f"{some}_count"] for segment in segments)
            body[some] = sorted(_reported(event) for event in events)
        found[name] = body
    for query in PROBES:
        for segment in server.segments(query):
            found[name_of(segment)][query] = True
    return found


def _metadata(segments: list[Body]) -> Body:
    """Returns the members on which all segments of a process agree."""
    reported = [
        {key: value for key, value in segment.items() if key not in GIVEN | PARTIAL}
        for segment in segments
    ]
    assert all(body == reported[0] for body in reported), f"segments disagree: {reported}"
    body = reported[0]
    body["parent_id"] = body["parent_id"][8:]
    body["parent_unique_id"] = body["parent_unique_id"][8:36]
    body["last_update"] = max(segment["last_update"] for segment in segments)
    return body


def _reported(event: Any) -> str:
    """An event as text, without the sensor's digits and the segment of another process."""
    if isinstance(event, dict):
        event = {k: v[8:36] if k == "processId" else v for k, v in event.items()}
        return json.dumps(event, sort_keys=True)
    fields = str(event).split("|")
    if fields[0] in {"RemoteThread", "ProcessOpen"}:
        fields[2] = fields[2][8:36]
    return "|".join(fields)
