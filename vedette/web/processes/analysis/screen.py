"""Page of process analysis: its header and the details of stored data. Scripts read tree, timeline
and events from the API."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.errors import NotFoundError
from vedette.limits import Limit
from vedette.model.ids import checked_process_id, names_process
from vedette.model.scope import Scope
from vedette.search.alerts import alert_search
from vedette.search.binaries import binary_search
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.completeness.completeness import Window, completeness, whole_windows
from vedette.search.processes import process
from vedette.search.processes.process_columns import Row
from vedette.search.search_request import SearchRequest, Sort
from vedette.state.policy import bans
from vedette.state.sensors import sensor_list
from vedette.state.sensors.channel_codes import channel_names
from vedette.store.partitions.lifecycle import list_partitions
from vedette.store.partitions.partition import Partition
from vedette.store.read.process import SegmentSummary
from vedette.web.fleet.screen import isolation_of, offset_of
from vedette.web.http.access import scope_of_request
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_lookup
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import whole_number
from vedette.web.page.query_terms import phrase
from vedette.web.page.render import render
from vedette.web.processes.routes import suppression_of

ANALYSIS_EVENTS: Limit[int] = 20_000
"""First events of a process that its analysis loads: 10 MB, a few seconds. For a longer process the
timeline shows counts, and the events of a selected part."""


router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]

_GAP_STEPS: Final = 12
"""Number of parts that a process's lifetime is divided into to locate missing records."""
_ALERTS_MOST: Final = 500
"""Alerts of a host that are marked in tree and timeline."""


@router.get("/ui/process/{process_id}", right=Right.READ, summary="Analyze a process")
async def process_analysis(
    process_id: str, request: Request, here: Here, scope: Within
) -> Response:
    named = checked_process_id(process_id)
    segment = whole_number(request.query_params, "seg", 0)

    def work(engine: BoundedEngine) -> dict[str, Any]:
        row = process.flat_summary(engine, scope, named, segment)
        offset = offset_of(here, scope, row["sensor_id"])
        known = _binary(engine, scope, row["process_md5"])
        return {
            "row": row,
            **isolation_of(request, here, scope, row["sensor_id"]),
            "offset": offset,
            "images": process.images(engine, scope, row),
            "is_banned": _is_banned(here, row["process_md5"]),
            **known,
        }

    found = await run_lookup(request, here, work)
    parent_id = found["row"]["parent_id"]
    return render(
        request,
        "processes/analysis/analysis.html",
        segment=segment,
        events_most=ANALYSIS_EVENTS,
        has_parent=names_process(parent_id),
        parent_href=f"/ui/process/{parent_id}",
        watched=_watched(found["row"]),
        **found,
    )


@router.get(
    "/ui/_/analysis/{process_id}/stored",
    right=Right.READ,
    summary="Show what is stored of a process",
)
async def stored(process_id: str, request: Request, here: Here, scope: Within) -> Response:
    """Shows segments and partitions, gaps in the records of its host, and how far behind the host
    is."""
    named, now_us = checked_process_id(process_id), here.clock.now_us()

    def work(engine: BoundedEngine) -> dict[str, Any]:
        row = process.flat_summary(engine, scope, named, 0)
        segments = process.segments(engine, scope, named).segments
        partitions = list_partitions(engine)
        held = {one.partition_ms for one in segments}
        names = channel_names(here.database)
        return {
            "row": row,
            "segments": segments,
            "is_suppressed": suppression_of(here).hides(row),
            "partitions": [one.name for one in partitions if one.opened_ms in held],
            "unmounted": _unmounted(partitions, segments),
            "gaps": _gaps(engine, row["sensor_id"], segments, names),
            "alerts": _alerts(engine, scope, here, row["sensor_id"]),
            "behind_s": max(0, now_us - _contact_us(here, scope, row)) // 1_000_000,
        }

    found = await run_lookup(request, here, work)
    return render(request, "processes/stored.html", process_id=named, **found)


def _alerts(
    engine: BoundedEngine, scope: Scope, here: Services, sensor_id: int
) -> list[tuple[str, int]]:
    """Returns the newest alerts of a host as (process id, time of the first event in ms)."""
    wanted = SearchRequest(
        (("q", f"sensor_id:{sensor_id}"),),
        _ALERTS_MOST,
        0,
        (Sort("created_time", is_descending=True),),
    )
    found = alert_search.search(engine, scope, wanted, here.settings, here.clock.now_us())
    return [(one["process_id"], one["first_event_time"] // 1_000) for one in found.rows]


def _unmounted(partitions: Sequence[Partition], segments: Sequence[SegmentSummary]) -> list[str]:
    """Returns the names of unmounted partitions that may contain more data of the process."""
    first, last = segments[0].window_ms, segments[-1].window_ms + limits.SEGMENT_WINDOW_MS
    return [
        one.name
        for one in partitions
        if one.state == "cold" and one.opened_ms < last and one.closed_ms > first
    ]


def _gaps(
    engine: BoundedEngine,
    sensor_id: int,
    segments: Sequence[SegmentSummary],
    names: dict[int, str],
) -> list[tuple[int, int]]:
    """Returns the parts of the process's lifetime in which records of its host are missing, as
    arrival times (from, until) in ms. Checks the parts only if the whole lifetime has gaps."""
    until_ms = segments[-1].window_ms + limits.SEGMENT_WINDOW_MS
    whole = whole_windows(segments[0].window_ms * 1_000, until_ms * 1_000)

    def has_gaps(window: Window) -> bool:
        (report,) = completeness(engine, [sensor_id], window, names, {})
        return report.verdict == "gaps"

    if not has_gaps(whole):
        return []
    windows = (whole.until_ms - whole.from_ms) // limits.SEGMENT_WINDOW_MS
    step = -(-windows // _GAP_STEPS) * limits.SEGMENT_WINDOW_MS
    parts = [
        Window(at, min(at + step, whole.until_ms))
        for at in range(whole.from_ms, whole.until_ms, step)
    ]
    return [(one.from_ms, one.until_ms) for one in parts if has_gaps(one)]


def _contact_us(here: Services, scope: Scope, row: Row) -> int:
    """Returns the host's last contact. All events before it have arrived."""
    try:
        return sensor_list.get(here.database, scope, row["sensor_id"]).last_seen_us
    except NotFoundError:
        return int(row["last_server_update"])


def _is_banned(here: Services, md5: str) -> bool:
    try:
        return bool(md5) and bans.get(here.database, md5).enabled
    except NotFoundError:
        return False


def _watched(row: Row) -> str:
    """Returns a query for similar processes, as a starting point for a watchlist."""
    parts = [phrase("process_name", row["process_name"])]
    if row["parent_name"]:
        parts.append(phrase("parent_name", row["parent_name"]))
    return " ".join(parts)


def _binary(engine: BoundedEngine, scope: Scope, md5: str) -> dict[str, Any]:
    """Returns the binary of a process and its number of hosts."""
    if not md5:
        return {"binary": None, "hosts": 0}
    try:
        binary = binary_search.summary(engine, scope, md5)
    except NotFoundError:
        return {"binary": None, "hosts": 0}
    return {"binary": binary, "hosts": binary["host_count"]}
