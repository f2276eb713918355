"""Process analysis: the page around tree, timeline and events, which its modules read from the
API themselves; here only what heads it."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.api.http.access import scope_of_request
from vedette.api.http.pages import PAGE_TAG
from vedette.api.http.router import Router
from vedette.api.routes.search.processes import suppression_of
from vedette.api.routes.search.run import run_lookup
from vedette.api.schemas.parameters import whole_number
from vedette.api.services import Services, services
from vedette.console.query_terms import phrase
from vedette.console.render import render
from vedette.console.screens.sensors import offset_of, why_not_isolated
from vedette.errors import NotFoundError
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

router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]

_GAP_STEPS: Final = 12
"""Into so many parts the time of a process is cut, to say in which of them records are missing."""
_ALERTS_MOST: Final = 500
"""Of a host, as marks in tree and timeline."""


@router.get("/ui/process/{process_id}", summary="Process analysis")
async def process_analysis(
    process_id: str, request: Request, here: Here, scope: Within
) -> Response:
    named = checked_process_id(process_id)
    segment = whole_number(request.query_params, "seg", 0)

    def work(engine: BoundedEngine) -> dict[str, Any]:
        row = process.flat_summary(engine, scope, named, segment)
        why = why_not_isolated(request, here, scope, row["sensor_id"])
        offset = offset_of(here, scope, row["sensor_id"])
        known = _binary(engine, scope, row["process_md5"])
        return {
            "row": row,
            "why": why,
            "offset": offset,
            "images": process.images(engine, scope, row),
            "is_banned": _is_banned(here, row["process_md5"]),
            **known,
        }

    found = await run_lookup(request, here, work)
    parent_id = found["row"]["parent_id"]
    return render(
        request,
        "screens/process_analysis.html",
        segment=segment,
        events_most=limits.ANALYSIS_EVENTS,
        has_parent=names_process(parent_id),
        parent_href=f"/ui/process/{parent_id}",
        watched=_watched(found["row"]),
        **found,
    )


@router.get("/ui/_/analysis/{process_id}/stored", summary="What is stored of a process")
async def stored(process_id: str, request: Request, here: Here, scope: Within) -> Response:
    """Segments and partitions, gaps in what its host sent, and how far behind the host is."""
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
    return render(request, "fragments/process/stored.html", process_id=named, **found)


def _alerts(
    engine: BoundedEngine, scope: Scope, here: Services, sensor_id: int
) -> list[tuple[str, int]]:
    """The newest alerts of a host: their process, and when it happened, in milliseconds."""
    wanted = SearchRequest(
        (("q", f"sensor_id:{sensor_id}"),),
        _ALERTS_MOST,
        0,
        (Sort("created_time", is_descending=True),),
    )
    found = alert_search.search(engine, scope, wanted, here.settings, here.clock.now_us())
    return [(one["process_id"], one["first_event_time"] // 1_000) for one in found.rows]


def _unmounted(partitions: Sequence[Partition], segments: Sequence[SegmentSummary]) -> list[str]:
    """Partitions that are not searched and may hold more of the process."""
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
    """Times of arrival within those of a process of which records of its host are missing, in
    milliseconds. Nothing is asked about their parts where the whole has none."""
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
    """The last contact of the host: what happened on it until then is here."""
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
    """A query that finds processes like this one, to begin a watchlist with."""
    parts = [phrase("process_name", row["process_name"])]
    if row["parent_name"]:
        parts.append(phrase("parent_name", row["parent_name"]))
    return " ".join(parts)


def _binary(engine: BoundedEngine, scope: Scope, md5: str) -> dict[str, Any]:
    """What is known of the file of a process."""
    if not md5:
        return {"binary": None, "hosts": 0}
    try:
        binary = binary_search.summary(engine, scope, md5)
    except NotFoundError:
        return {"binary": None, "hosts": 0}
    return {"binary": binary, "hosts": binary["host_count"]}
