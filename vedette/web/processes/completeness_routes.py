"""Reports on completeness: whether all records that sensors sent are stored
(docs/completeness.md)."""

from typing import Any

from fastapi import Request
from starlette.datastructures import QueryParams
from starlette.responses import Response

import vedette
from vedette.errors import BadRequestError
from vedette.limits import Limit
from vedette.model.scope import Scope
from vedette.query.check.time import DAY_US, moment_us
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.completeness.completeness import (
    QueueReport,
    Window,
    completeness,
    unmounted,
    whole_windows,
)
from vedette.state.accounts import audit_trail
from vedette.state.db.audit_log import Entry
from vedette.state.db.author import current_author
from vedette.state.sensors import sensor_list, sensor_queues
from vedette.state.sensors.channel_codes import channel_names
from vedette.state.sensors.sensor_list import SensorQuery
from vedette.state.sensors.sensor_row import SensorRow
from vedette.state.sensors.statement_signing import signed
from vedette.state.store_identity import load_identity
from vedette.web.http.access import scope_of
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_search
from vedette.web.http.services import Services, services_of
from vedette.web.json.parameters import described, optional_number, whole_number
from vedette.web.json.wire_values import instant
from vedette.web.processes.completeness_json import completeness_body

COMPLETENESS_SENSORS_MAX: Limit[int] = 1_000
"""Sensors per completeness response and per certificate. Each requires reading days of sequence
numbers."""

COMPLETENESS_SENSORS: Limit[int] = 100
"""Sensors per completeness response if `rows` is missing."""

COMPLETENESS_DAYS_MAX: Limit[int] = 31
"""Longest time range of a request. A busy host has 3 million sequence numbers in it."""


router = Router(tags=["completeness"])

_PARAMETERS = (
    ("from", "From this time of arrival on: a date, a time in ISO 8601, or -24h"),
    ("to", "Before this time; default now"),
    ("sensor_id", "Only this sensor"),
    ("group_id", "Only sensors of this group"),
    ("hostname", "Only hosts with this in their name"),
)


@router.get(
    "/api/v1/completeness",
    right=Right.READ,
    summary="Check whether all sent records are stored",
    openapi_extra=described(
        *_PARAMETERS,
        (
            "rows",
            f"Sensors of a page; default {COMPLETENESS_SENSORS}, "
            f"at most {COMPLETENESS_SENSORS_MAX}",
        ),
        ("start", "First sensor of the page; they are in the order of their ids"),
    ),
)
async def completeness_of(request: Request) -> Response:
    """Returns, for each sensor and channel, the ranges of sequence numbers that arrived and that
    are missing. Covers at most 31 days."""
    here, scope, query = services_of(request), scope_of(request), request.query_params
    rows = whole_number(query, "rows", COMPLETENESS_SENSORS, most=COMPLETENESS_SENSORS_MAX)
    start = whole_number(query, "start", 0)

    def work(engine: BoundedEngine) -> Response:
        total, body = _examined(here, engine, scope, query, rows, start)
        return json_answer({"total_results": total, "start": start, **body})

    return await run_search(request, here, work)


@router.get(
    "/api/v1/completeness/certificate",
    right=Right.READ,
    summary="Get a signed completeness certificate",
    openapi_extra=described(*_PARAMETERS),
)
async def certificate(request: Request) -> Response:
    """Returns the completeness of all matching sensors (at most 1,000), signed with the server's
    key, as evidence for an incident. `vedette completeness verify` checks the signature. The audit
    log records the request."""
    here, scope, query = services_of(request), scope_of(request), request.query_params
    author = current_author()
    made_for = author.name if author.kind == "user" else f"{author.kind} {author.name}"

    def work(engine: BoundedEngine) -> Response:
        most = COMPLETENESS_SENSORS_MAX
        total, body = _examined(here, engine, scope, query, most, 0)
        if total > most:
            raise BadRequestError(
                f"{total} sensors match; a certificate covers at most {most}: "
                "specify a group, host, or sensor"
            )
        identity = load_identity(here.database)
        statement = {
            "kind": "completeness",
            "server": identity.store_id if identity else "",
            "version": vedette.__version__,
            "made": instant(here.clock.now_us()),
            "made_for": made_for,
            "sees_all_groups": scope.sees_all,
            **body,
        }
        target = f"{body['from']} to {body['to']}"
        audit_trail.record(here.database, Entry("read", "completeness certificate", target))
        return json_answer(signed(here.database, statement))

    return await run_search(request, here, work)


def _examined(
    here: Services, engine: BoundedEngine, scope: Scope, query: QueryParams, rows: int, start: int
) -> tuple[int, dict[str, Any]]:
    """Returns the number of matching sensors, and the response body for a page of them."""
    now_us = here.clock.now_us()
    window = _window(query, now_us)
    total, sensors = _sensors(here, scope, query, rows, start, now_us)
    ids = [one.id for one in sensors]
    kept = sensor_queues.queues_of(here.database, ids, window.from_ms * 1_000)
    queues = {
        sensor_id: tuple(QueueReport(epoch, one.expected - 1, one.missing) for epoch, one in queues)
        for sensor_id, queues in kept.items()
    }
    reports = completeness(engine, ids, window, channel_names(here.database), queues)
    return total, completeness_body(window, sensors, reports, unmounted(engine, window))


def _sensors(
    here: Services, scope: Scope, query: QueryParams, rows: int, start: int, now_us: int
) -> tuple[int, list[SensorRow]]:
    sensor_id = optional_number(query, "sensor_id")
    if sensor_id is not None:
        if query.get("group_id") or query.get("hostname"):
            raise BadRequestError("sensor_id: cannot be combined with group_id or hostname")
        found = [sensor_list.get(here.database, scope, sensor_id)]
        return 1, found[start : start + rows]
    group_id = optional_number(query, "group_id")
    wanted = SensorQuery(
        hostname=query.get("hostname", ""),
        group_id=group_id,
        sort="id",
        is_descending=False,
        start=start,
        rows=rows,
    )
    page = sensor_list.page(here.database, scope, wanted, now_us)
    return page.total, page.sensors


def _window(query: QueryParams, now_us: int) -> Window:
    """Parses the time range. Raises BadRequestError."""
    from_us, to_us = _time(query, "from", now_us), _time(query, "to", now_us)
    if from_us is None:
        raise BadRequestError("from: is required, e.g. -24h or 2026-03-04T05:00:00Z")
    until_us = min(now_us if to_us is None else to_us, now_us)
    if from_us >= until_us:
        raise BadRequestError("from: must be before `to`, and in the past")
    if until_us - from_us > COMPLETENESS_DAYS_MAX * DAY_US:
        raise BadRequestError(f"from: at most {COMPLETENESS_DAYS_MAX} days before `to`")
    return whole_windows(from_us, until_us)


def _time(query: QueryParams, name: str, now_us: int) -> int | None:
    text = query.get(name, "").strip()
    try:
        return moment_us(text, now_us) if text else None
    except ValueError as error:
        raise BadRequestError(f"{name}: {error}") from None
