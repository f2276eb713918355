"""Process analysis: streams of events, bulk facets, metadata (api.md 4.2)."""

from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response, StreamingResponse

from vedette import limits
from vedette.api.http.access import principal_of, scope_of, scope_of_request
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.routes.search.processes import suppression_of
from vedette.api.schemas.parameters import described
from vedette.api.schemas.search import analysis_parameters as asked
from vedette.api.schemas.search.analysis import (
    event_facets_body,
    metadata_body,
    suppression_body,
)
from vedette.api.schemas.search.process import segments_body
from vedette.api.schemas.search.stream_events import stream_body
from vedette.api.services import Services, services, services_of
from vedette.errors import BadRequestError
from vedette.model.scope import Scope
from vedette.search.events import bulk_facets
from vedette.search.processes import segment_lookup
from vedette.search.processes.metadata import metadata as process_metadata
from vedette.search.processes.process import Segments
from vedette.search.streams import stream
from vedette.search.streams.stream import Reader

router = APIRouter(tags=["process analysis"])

NDJSON: Final = "application/x-ndjson"

_END: Final = ("end_time", "YYYY-MM-DDThh:mm:ss.sssZ; later events are left out")
_ROWS: Final = (
    "rows",
    f"Events to answer; default {limits.STREAM_ROWS_DEFAULT}, at most {limits.ROWS_MAX}",
)


async def _reader(request: Request) -> Reader:
    services = services_of(request)
    return Reader(
        services.engine,
        services.database,
        services.filtered_counts,
        scope_of(request),
        principal_of(request).name,
        services.settings.stream_ttl_s,
        services.clock.now_us(),
    )


Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]
Reads = Annotated[Reader, Depends(_reader)]
Json = Annotated[dict[str, Any], Depends(json_object)]


@router.post("/api/v6/process/stream", summary="Begin a stream of a process's events")
def create(body: Json, reader: Reads) -> Response:
    """Body: `process_id`, `segment_id` (0 and 1 are the earliest), `persistent`. The stream
    stands at the first event of the segment; the answer holds no events yet."""
    for name in ("process_id", "segment_id"):
        if body.get(name) is None:
            raise BadRequestError(f"{name}: is missing")
    process, segment = asked.process_id(body["process_id"]), asked.segment_id(body["segment_id"])
    is_persistent = asked.flag_of_body(body, "persistent")
    return json_answer(stream_body(stream.create(reader, process, segment, is_persistent)))


@router.get(
    "/api/v6/process/stream/{stream_id}",
    summary="Move a stream and read its events",
    openapi_extra=described(
        _ROWS,
        ("seek", "Flag: move `by` events before reading"),
        ("jump", "Flag: move `by` segments, or to the segment `to`, before reading"),
        ("by", "How many; negative moves backward"),
        ("to", "A segment id; 0 and 1 are the earliest"),
        _END,
    ),
)
def read(stream_id: str, request: Request, reader: Reads) -> Response:
    """Without a flag the stream stays where it is. docs/process-analysis.md has the rules."""
    page = asked.page(request.query_params)
    return json_answer(stream_body(stream.read(reader, asked.stream_id(stream_id), page)))


@router.patch(
    "/api/v6/process/stream/{stream_id}",
    summary="Replace what a stream filters by",
    openapi_extra=described(_ROWS, _END),
)
def refilter(stream_id: str, request: Request, body: Json, reader: Reads) -> Response:
    """Body: `criteria`, lists of values by facet field. One value of a field is enough, all
    fields must agree; no fields for all events."""
    page = asked.page(request.query_params)
    if page.move is not None:
        raise BadRequestError("seek and jump: belong to GET")
    wanted = asked.criteria(body)
    found = stream.filter_events(reader, asked.stream_id(stream_id), wanted, page)
    return json_answer(stream_body(found))


@router.post("/api/v6/process/stream/{stream_id}", summary="Delete a stream")
def delete(stream_id: str, reader: Reads) -> Response:
    stream.remove(reader, asked.stream_id(stream_id))
    return json_answer({"result": "success"})


@router.get(
    "/api/v6/process/suppression_status",
    summary="Whether a child process was suppressed",
    openapi_extra=described(
        ("parent_guid", "Process id of the parent"),
        ("childproc_guid", "Process id of the child"),
        ("childproc_md5", "MD5 of the child; optional"),
    ),
)
def suppression_status(request: Request, here: Here, scope: Within) -> Response:
    """A child is suppressed when its parent names it and it has no document of its own, or when
    its sensor group suppresses processes without events and it is one."""
    query = request.query_params
    parent, child = (
        asked.process_id(query.get(name, ""), name) for name in ("parent_guid", "childproc_guid")
    )
    digest = asked.md5(query.get("childproc_md5", ""), "childproc_md5")
    timeout_s = here.settings.suppression_timeout_s
    check = segment_lookup.suppression(
        here.engine, scope, parent, child, digest, timeout_s, suppression_of(here)
    )
    return json_answer(suppression_body(check))


@router.get(
    "/api/v6/process/{process_id}/{segment_id}/segment",
    summary="Segments of a process, line by line",
)
def segments(process_id: str, segment_id: str, here: Here, scope: Within) -> Response:
    """ndjson: each line is a JSON document with the next segments, from the given one on."""
    batches = segment_lookup.segment_batches(
        here.engine, scope, asked.process_id(process_id), asked.segment_id(segment_id)
    )
    # The first batch now, while an error can still become a status.
    lines = _lines(chain([next(batches)], batches))
    return StreamingResponse(lines, media_type=NDJSON)


def _lines(batches: Iterator[Segments]) -> Iterator[bytes]:
    """A plain generator: it is run in a thread, and only as fast as the client reads."""
    for batch in batches:
        yield orjson.dumps(segments_body(batch), option=orjson.OPT_APPEND_NEWLINE)


@router.get(
    "/api/v6/process/{process_id}/{segment_id}/bulk",
    summary="Hits and facets of a process's events",
    openapi_extra=described(_END),
)
def bulk(process_id: str, segment_id: str, request: Request, here: Here, scope: Within) -> Response:
    """From the given segment on, for at most the setting `bulk_timeout_s`."""
    found = bulk_facets.bulk(
        here.engine,
        scope,
        asked.process_id(process_id),
        asked.segment_id(segment_id),
        asked.end_time(request.query_params),
        here.settings.bulk_timeout_s,
    )
    return json_answer(event_facets_body(found))


@router.get("/api/v6/process/{process_id}/metadata", summary="All that is known of a process")
def metadata(process_id: str, here: Here, scope: Within) -> Response:
    row = process_metadata(here.engine, scope, asked.process_id(process_id))
    return json_answer(metadata_body(row))


@router.get("/api/v6/process/{process_id}/{segment_id}/verify", summary="Whether a segment exists")
def verify(process_id: str, segment_id: str, here: Here, scope: Within) -> Response:
    """The segment id when it exists, else that of the earliest segment."""
    segment = asked.segment_id(segment_id)
    process = asked.process_id(process_id)
    verified = segment_lookup.verified_segment(here.engine, scope, process, segment)
    return json_answer({"segment_id": verified})
