"""Binaries: search, summary, files, prevalence (docs/api-binaries.md)."""

import base64
from functools import partial
from typing import Annotated, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.errors import BadRequestError, NotFoundError
from vedette.model.rights.authorization import Deed
from vedette.model.scope import Scope
from vedette.respond.binary_reading import note_added, read_icon
from vedette.search.binaries import binary_search
from vedette.search.binaries.binary_search import copy_name
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.document_search import Row
from vedette.state.accounts import audit_trail
from vedette.state.db.audit_log import Entry
from vedette.store.read.binary_facets import FACETS
from vedette.store.read.binary_usage import usage_of
from vedette.web.http.access import scope_of_request
from vedette.web.http.bodies.request_bodies import decoded_body
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_lookup, run_search
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import described, flag
from vedette.web.processes.models import Body
from vedette.web.processes.search_body_json import posted_pairs
from vedette.web.processes.search_parameters_json import Pairs, search_request
from vedette.web.processes.search_results_json import document_results_body
from vedette.web.programs.binary_archive_json import zip_answer
from vedette.web.programs.binary_usage_json import usage_body
from vedette.web.programs.default_icon import default_icon
from vedette.web.programs.models import binary_body, binary_summary_body, frequency_body

router = Router(tags=["binaries"])

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]

_SEARCH: Final = described(
    ("q", "Query; empty or missing for everything; several are ANDed"),
    ("rows", f"Rows of a page; default 10, at most {limits.ROWS_MAX}"),
    ("start", "First row"),
    ("sort", f"Field and asc or desc; default {binary_search.BINARY_SORT_DEFAULT}"),
    ("svc.q.FIELD", "A query for one field, ANDed"),
    ("svc.fq", "A further query, ANDed"),
    ("svc.fq.FIELD", "An exact value of one field"),
    ("facet", "true to count facets"),
    ("facet.field", f"A facet: {', '.join(FACETS)}, alliance_score_FEED"),
    array=("q", "facet.field"),
)

_FREQUENCY: Final = described(
    ("name", "md5 or sha256; default md5"),
    ("md5", "The MD5 of a program"),
    ("sha256", "The SHA-256 of a program"),
)


@router.get("/api/v1/binary", right=Right.READ, summary="Search binaries", openapi_extra=_SEARCH)
async def search(request: Request, here: Here, scope: Within) -> Response:
    """Returns matching binaries in the query language of the console. All parameters accept the
    prefix `cb.` instead of `svc.`."""
    return await _search(request, here, scope, request.query_params.multi_items())


@router.post(
    "/api/v1/binary",
    right=Right.READ,
    reads=True,
    summary="Search binaries, with parameters in the body",
)
async def search_posted(request: Request, here: Here, scope: Within) -> Response:
    """Body: a JSON object with scalars or lists of scalars as values, or a form. Parameters in the
    URL are added."""
    return await _search(request, here, scope, await posted_pairs(request))


async def _search(request: Request, here: Services, scope: Scope, pairs: Pairs) -> Response:
    wanted = search_request(pairs, binary_search.BINARY_SORT_DEFAULT)

    def work(engine: BoundedEngine) -> Response:
        now_us = here.clock.now_us()
        found = binary_search.search(
            engine,
            scope,
            wanted,
            here.settings,
            now_us,
            engine.cancel,
            copies=partial(here.copies.all_copied, scope),
        )
        copied = here.copies.copied(list(map(copy_name, found.rows)), scope)
        bodies = [binary_body(row, copied) for row in found.rows]
        return json_answer(document_results_body(found, bodies))

    return await run_search(request, here, work)


@router.post(
    "/api/v1/binary/file",
    right=Deed.ADD_BINARY,
    summary="Add the file of a binary",
    openapi_extra=described(
        ("name", "What the file is called; at most 1,024 characters"),
        ("shared", "true: all who see a host that reports the file may download it"),
    ),
)
async def add(request: Request, here: Here) -> Response:
    """Body: the file, up to 25 MiB. Creates its record immediately; facts from its bytes follow
    within seconds. Only global administrators may download the file; with `shared`, also users who
    see a host that reports it. Returns hashes and size."""
    name = request.query_params.get("name", "")
    if len(name) > limits.SENSOR_TEXT_CHARS_MAX or not name.isprintable():
        raise BadRequestError("name: at most 1,024 printable characters")
    shared = flag(request.query_params, "shared")
    most = limits.COPIED_FILE_BYTES_MAX
    content = await decoded_body(request, most, most, bytes)
    add_file = partial(here.copies.add, content, name, here.clock.now_us(), shared=shared)
    stored = await to_thread.run_sync(add_file, limiter=here.copy_threads)
    await to_thread.run_sync(note_added, here.engine, stored, limiter=here.copy_threads)
    return json_answer(
        {"md5": stored.md5.upper(), "sha256": stored.sha256.upper(), "size": stored.size}
    )


@router.get("/api/v1/binary/{md5}/summary", right=Right.READ, summary="Get a binary")
async def summary(md5: str, request: Request, here: Here, scope: Within) -> Response:
    """Accepts an MD5 in upper or lower case, or a SHA-256. Returns the binary with all known facts
    and its icon."""

    def work(engine: BoundedEngine) -> Response:
        return json_answer(_described(here, binary_search.summary(engine, scope, md5), scope))

    return await run_lookup(request, here, work)


def _described(here: Services, row: Row, scope: Scope) -> Body:
    icon = base64.b64encode(_drawn(here, row["icon_sha256"])).decode()
    copied = here.copies.copied([copy_name(row)], scope)
    return binary_summary_body(row, copied) | {"icon": icon}


def _drawn(here: Services, sha256: str) -> bytes:
    """Returns the icon of a file as PNG, or the default icon."""
    return (read_icon(here.blobs, sha256) if sha256 else None) or default_icon()


@router.get("/api/v1/binary/{md5}/icon", right=Right.READ, summary="Get the icon of a binary")
async def icon(md5: str, request: Request, here: Here, scope: Within) -> Response:
    """Returns a PNG. If the file has no icon or its bytes are not stored, returns the default
    icon."""

    def work(engine: BoundedEngine) -> Response:
        drawn = _drawn(here, binary_search.summary(engine, scope, md5)["icon_sha256"])
        return Response(drawn, media_type="image/png")

    return await run_lookup(request, here, work)


@router.get("/api/v1/binary/{md5}/usage", right=Right.READ, summary="Get the usage of a binary")
async def usage(md5: str, request: Request, here: Here, scope: Within) -> Response:
    """Returns hosts with first and last time and paths; and runs by path, parent, form of the
    command line, user and day."""

    def work(engine: BoundedEngine) -> Response:
        row = binary_search.summary(engine, scope, md5)
        digests = [row["md5"], row["sha256"]]
        found = usage_of(engine, digests, scope, deadline_s=here.settings.search_deadline_s)
        return json_answer(usage_body(binary_search.identity(row), found))

    return await run_search(request, here, work)


@router.get(
    "/api/v1/binary/{md5}",
    right=Right.READ,
    summary="Download the file of a binary",
    openapi_extra=described(("reason", "why it is read, for the audit log")),
)
async def file(md5: str, request: Request, here: Here, scope: Within) -> Response:
    """Returns a zip file with `filedata` and `metadata`, or 404 if no sensor sent a copy: log
    shippers send records about files, not the files. Of a large file only the beginning is stored;
    `copied_mod_len` has its size. The audit log records the download with `reason`."""
    reason = request.query_params.get("reason", "").strip()
    if len(reason) > limits.MEMBER_CHARS_MAX:
        raise BadRequestError(f"reason: longer than {limits.MEMBER_CHARS_MAX} characters")
    why = {"reason": reason} if reason else None

    def work(engine: BoundedEngine) -> Response:
        row = binary_search.summary(engine, scope, md5)
        name = copy_name(row)
        copy = here.copies.open_copy(name, scope, here.clock.now_us())
        if copy is not None:
            audit_trail.record(here.database, Entry("read", "file copy", name.upper(), after=why))
            with copy:
                return zip_answer(copy, _described(here, row, scope), name.upper())
        raise NotFoundError(f"the file of binary {md5!r} is not stored, only its metadata")

    return await run_lookup(request, here, work)


@router.get(
    "/api/v1/process/host/count",
    right=Right.READ,
    summary="Get the prevalence of a program",
    openapi_extra=_FREQUENCY,
)
async def frequency(request: Request, here: Here, scope: Within) -> Response:
    """Returns the number of hosts that reported the program, processes that ran it, and
    segments."""
    query = request.query_params
    name = query.get("name") or "md5"
    if name not in ("md5", "sha256"):
        raise BadRequestError(f"name: {name[:40]!r} must be md5 or sha256")
    digest = query.get(name, "").strip()

    def work(engine: BoundedEngine) -> Response:
        return json_answer(frequency_body(binary_search.frequency(engine, scope, name, digest)))

    return await run_search(request, here, work)
