"""Process analysis: event streams, facets, metadata (docs/process-analysis.md)."""

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Annotated, Any, Final

import orjson
from fastapi import Depends, Request
from starlette.responses import Response, StreamingResponse

from vedette import limits
from vedette.errors import BadRequestError
from vedette.model.scope import Scope
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.events import bulk_facets
from vedette.search.processes import segment_lookup
from vedette.search.processes.metadata import metadata as process_metadata
from vedette.search.processes.segment_lookup import SegmentBatch
from vedette.search.streams import stream
from vedette.search.streams.stream import Reader, StreamPage
from vedette.web.http.access import principal_of, scope_of, scope_of_request
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_lookup
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import described
from vedette.web.processes.analysis import parameters_json as asked
from vedette.web.processes.analysis.models import event_facets_body, metadata_body, suppression_body
from vedette.web.processes.analysis.stream_events_json import stream_body
from vedette.web.processes.models import segments_body
from vedette.web.processes.routes import suppression_of

router = Router(tags=["process analysis"])

NDJSON: Final = "application/x-ndjson"

_END: Final = ("end_time", "YYYY-MM-DDThh:mm:ss.sssZ; later events are left out")
_ROWS: Final = (
    "rows",
    f"Events to answer; default {limits.STREAM_ROWS_DEFAULT}, at most {limits.ROWS_MAX}",
)


Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]
Json = Annotated[dict[str, Any], Depends(json_object)]


@router.post(
    "/api/v6/process/stream",
    right=Right.READ,
    reads=True,
    summary="Create a stream of a process's events",
)
async def create(request: Request, body: Json, here: Here) -> Response:
    """Body: `process_id`, `segment_id` (0 and 1 mean the earliest segment), `persistent`. The new
    stream is positioned at the first event of the segment. The response contains no events yet."""
    for name in ("process_id", "segment_id"):
        if body.get(name) is None:
            raise BadRequestError(f"{name}: is required")
    process, segment = asked.process_id(body["process_id"]), asked.segment_id(body["segment_id"])
    is_persistent = asked.flag_of_body(body, "persistent")
    return await _stream(
        request, here, lambda reader: stream.create(reader, process, segment, is_persistent)
    )


@router.get(
    "/api/v6/process/stream/{stream_id}",
    right=Right.READ,
    summary="Move a stream and read events",
    openapi_extra=described(
        _ROWS,
        ("seek", "Flag: move `by` events before reading"),
        ("jump", "Flag: move `by` segments, or to the segment `to`, before reading"),
        ("by", "How many; negative moves backward"),
        ("to", "A segment id; 0 and 1 are the earliest"),
        _END,
    ),
)
async def read(stream_id: str, request: Request, here: Here) -> Response:
    """Returns the events from the stream's position. Without `seek` or `jump` the position does not
    change. See docs/process-analysis.md."""
    page, named = asked.page(request.query_params), asked.stream_id(stream_id)
    return await _stream(request, here, lambda reader: stream.read(reader, named, page))


@router.patch(
    "/api/v6/process/stream/{stream_id}",
    right=Right.READ,
    reads=True,
    summary="Replace the filter of a stream",
    openapi_extra=described(_ROWS, _END),
)
async def refilter(stream_id: str, request: Request, body: Json, here: Here) -> Response:
    """Body: `criteria`, lists of values by facet field. An event matches if, for every field, it
    has one of the listed values. No fields match all events."""
    page = asked.page(request.query_params)
    if page.move is not None:
        raise BadRequestError("seek and jump: are only valid for GET")
    wanted, named = asked.criteria(body), asked.stream_id(stream_id)
    return await _stream(
        request, here, lambda reader: stream.filter_events(reader, named, wanted, page)
    )


@router.post(
    "/api/v6/process/stream/{stream_id}", right=Right.READ, reads=True, summary="Delete a stream"
)
async def delete(stream_id: str, request: Request, here: Here) -> Response:
    named = asked.stream_id(stream_id)

    def work(engine: BoundedEngine) -> Response:
        stream.remove(_reader(request, here, engine), named)
        return json_answer({"result": "success"})

    return await run_lookup(request, here, work)


async def _stream(
    request: Request, here: Services, move: Callable[[Reader], StreamPage]
) -> Response:
    """Runs an operation on a stream and returns the events from its position."""

    def work(engine: BoundedEngine) -> Response:
        return json_answer(stream_body(move(_reader(request, here, engine))))

    return await run_lookup(request, here, work)


def _reader(request: Request, here: Services, engine: BoundedEngine) -> Reader:
    return Reader(
        engine,
        here.database,
        here.filtered_counts,
        scope_of(request),
        principal_of(request).name,
        here.settings.stream_ttl_s,
        here.clock.now_us(),
    )


@router.get(
    "/api/v6/process/suppression_status",
    right=Right.READ,
    summary="Check whether a child process was suppressed",
    openapi_extra=described(
        ("parent_guid", "Process id of the parent"),
        ("childproc_guid", "Process id of the child"),
        ("childproc_md5", "MD5 of the child; optional"),
    ),
)
async def suppression_status(request: Request, here: Here, scope: Within) -> Response:
    """Returns `is_suppressed`. A child is suppressed if its parent reported it and it has no
    records of its own, or if its sensor group suppresses processes without events and the child has
    none. `timeout` is true if the check took too long."""
    query = request.query_params
    parent, child = (
        asked.process_id(query.get(name, ""), name) for name in ("parent_guid", "childproc_guid")
    )
    digest = asked.md5(query.get("childproc_md5", ""), "childproc_md5")
    timeout_s = here.settings.suppression_timeout_s

    def work(engine: BoundedEngine) -> Response:
        check = segment_lookup.suppression(
            engine, scope, parent, child, digest, timeout_s, suppression_of(here)
        )
        return json_answer(suppression_body(check))

    return await run_lookup(request, here, work)


@router.get(
    "/api/v6/process/{process_id}/{segment_id}/segment",
    right=Right.READ,
    summary="List segments of a process as NDJSON",
)
async def segments(
    process_id: str, segment_id: str, request: Request, here: Here, scope: Within
) -> Response:
    """Returns NDJSON: each line is a JSON document with a batch of segments, starting with the
    given one."""
    named, first = asked.process_id(process_id), asked.segment_id(segment_id)

    def begin(engine: BoundedEngine) -> tuple[bytes, list[SegmentBatch]]:
        batch, *rest = segment_lookup.segment_batches(engine, scope, named, first)
        return line(engine, batch), rest

    def line(engine: BoundedEngine, batch: SegmentBatch) -> bytes:
        body = segments_body(segment_lookup.read_batch(engine, scope, named, batch))
        return orjson.dumps(body, option=orjson.OPT_APPEND_NEWLINE)

    # Read the first line before the response starts, while an error can still become a status.
    first_line, rest = await run_lookup(request, here, begin)

    async def lines() -> AsyncIterator[bytes]:
        """Yields lines at the client's pace and holds no resources in between."""
        yield first_line
        for batch in rest:
            yield await run_lookup(request, here, partial(line, batch=batch))

    return StreamingResponse(lines(), media_type=NDJSON)


@router.get(
    "/api/v6/process/{process_id}/{segment_id}/bulk",
    right=Right.READ,
    summary="Get feed hits and facets of a process's events",
    openapi_extra=described(_END),
)
async def bulk(
    process_id: str, segment_id: str, request: Request, here: Here, scope: Within
) -> Response:
    """Counts the events from the given segment on. Stops after the setting `bulk_timeout_s` and
    then sets `partial_results`."""
    named, first = asked.process_id(process_id), asked.segment_id(segment_id)
    until_us, timeout_s = asked.end_time(request.query_params), here.settings.bulk_timeout_s

    def work(engine: BoundedEngine) -> Response:
        found = bulk_facets.bulk(engine, scope, named, first, until_us, timeout_s)
        return json_answer(event_facets_body(found))

    return await run_lookup(request, here, work)


@router.get(
    "/api/v6/process/{process_id}/metadata",
    right=Right.READ,
    summary="Get all metadata of a process",
)
async def metadata(process_id: str, request: Request, here: Here, scope: Within) -> Response:
    named = asked.process_id(process_id)

    def work(engine: BoundedEngine) -> Response:
        return json_answer(metadata_body(process_metadata(engine, scope, named)))

    return await run_lookup(request, here, work)


@router.get(
    "/api/v6/process/{process_id}/{segment_id}/verify",
    right=Right.READ,
    summary="Check whether a segment exists",
)
async def verify(
    process_id: str, segment_id: str, request: Request, here: Here, scope: Within
) -> Response:
    """Returns the segment id if the segment exists, otherwise the id of the earliest segment."""
    segment, named = asked.segment_id(segment_id), asked.process_id(process_id)

    def work(engine: BoundedEngine) -> Response:
        verified = segment_lookup.verified_segment(engine, scope, named, segment)
        return json_answer({"segment_id": verified})

    return await run_lookup(request, here, work)
