"""The audit log, for global administrators."""

from collections.abc import Iterator
from typing import Annotated, Any

import orjson
from fastapi import Depends, Request
from starlette.datastructures import QueryParams
from starlette.responses import Response, StreamingResponse

from vedette.errors import BadRequestError
from vedette.limits import Limit
from vedette.state.accounts import audit_trail
from vedette.state.accounts.audit_trail import AuditEntry, Search
from vedette.state.db.audit_log import Entry
from vedette.web.fleet.csv_text import csv_line
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import described, flag, time_of, whole_number
from vedette.web.json.wire_values import instant

AUDIT_ROWS_MAX: Limit[int] = 10_000
"""Entries per response of the audit log. Exports read page by page."""


router = Router(tags=["audit"])

Here = Annotated[Services, Depends(services)]

_COLUMNS = (
    "number",
    "timestamp",
    "author_kind",
    "author",
    "address",
    "request_id",
    "action",
    "kind",
    "target",
    "before",
    "after",
    "hash",
)


@router.get(
    "/api/v1/audit",
    right=Right.ADMINISTER,
    summary="Search the audit log",
    openapi_extra=described(
        ("author", "Who: a user name, a job, a person at the command line"),
        ("action", "create, change, delete, read or run"),
        ("kind", "Kind of the object, e.g. user, ban, sensor"),
        ("target", "Part of the object's name"),
        ("object", "One object, as kind:name, e.g. user:ann"),
        ("verify", "true to read the whole log and say in `chain` whether it is whole"),
        ("from", "From this time on: a date, a time in ISO 8601, or -24h"),
        ("to", "Before this time"),
        ("start", "Entries to skip"),
        ("rows", "Entries of the answer; default 100"),
        ("format", "json, csv or ndjson; the last two hold all entries that answer"),
    ),
)
def listed(request: Request, here: Here) -> Response:
    """Returns entries, newest first. `head` is the newest entry of the whole log. Store its hash
    elsewhere to detect later changes to the log (`vedette audit verify`)."""
    query = request.query_params
    wanted = _search(query, here.clock.now_us())
    match form := query.get("format", "json"):
        case "json":
            return _page(here, wanted, flag(query, "verify"))
        case "csv" | "ndjson":
            audit_trail.record(here.database, Entry("read", "audit log", form))
    match form:
        case "csv":
            return StreamingResponse(_csv(here, wanted), media_type="text/csv")
        case "ndjson":
            return StreamingResponse(_ndjson(here, wanted), media_type="application/x-ndjson")
        case other:
            raise BadRequestError(f"format: {other[:20]!r} is not json, csv, or ndjson")


def _page(here: Services, wanted: Search, is_verified: bool) -> Response:
    total, found = audit_trail.search(here.database, wanted)
    head = audit_trail.head(here.database)
    return json_answer(
        {
            "total_results": total,
            "start": wanted.start,
            "results": [_body(entry) for entry in found],
            "head": {"number": head.number, "hash": head.hash},
            "chain": _chain(here) if is_verified else None,
        }
    )


def _chain(here: Services) -> dict[str, Any]:
    """Returns the result of verifying the whole log."""
    verdict = audit_trail.verify(here.database)
    return {
        "is_whole": not verdict.fault,
        "entries": verdict.entries,
        "fault": verdict.fault or None,
    }


def _search(query: QueryParams, now_us: int) -> Search:
    return Search(
        author=query.get("author", ""),
        action=query.get("action", ""),
        kind=query.get("kind", ""),
        target=query.get("target", ""),
        one=object_of(query),
        from_us=time_of(query, "from", now_us),
        to_us=time_of(query, "to", now_us),
        start=whole_number(query, "start", 0),
        rows=whole_number(query, "rows", 100, most=AUDIT_ROWS_MAX),
    )


def object_of(query: QueryParams) -> tuple[str, str] | None:
    """Returns kind and name of the object to list entries of; None for any object."""
    text = query.get("object", "")
    if not text:
        return None
    kind, colon, name = text.partition(":")
    if not kind or not colon:
        raise BadRequestError("object: must be kind:name, e.g. user:ann")
    return kind, name


def _entries(here: Services, wanted: Search) -> Iterator[AuditEntry]:
    """Yields all matching entries that exist now, reading page by page."""
    last = audit_trail.head(here.database).number
    for page in audit_trail.pages(here.database, wanted, last):
        yield from page


def _ndjson(here: Services, wanted: Search) -> Iterator[bytes]:
    for entry in _entries(here, wanted):
        yield orjson.dumps(_body(entry)) + b"\n"


def _csv(here: Services, wanted: Search) -> Iterator[str]:
    yield csv_line(_COLUMNS)
    for entry in _entries(here, wanted):
        yield csv_line(
            value if type(value) in (str, int) else orjson.dumps(value).decode()
            for value in _body(entry).values()
        )


def _body(entry: AuditEntry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "timestamp": instant(entry.time_us),
        "author_kind": entry.author_kind,
        "author": entry.author,
        "address": entry.address,
        "request_id": entry.request_id,
        "action": entry.action,
        "kind": entry.kind,
        "target": entry.target,
        "before": entry.before,
        "after": entry.after,
        "hash": entry.hash,
    }
