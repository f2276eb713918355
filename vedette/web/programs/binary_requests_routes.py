"""Orders to upload files of programs (docs/api-binaries.md)."""

from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.errors import BadRequestError
from vedette.limits import BINARY_ORDER_HOURS, Limit
from vedette.model.scope import Scope
from vedette.respond.binary_requests import cancel_request, request_file
from vedette.search.binaries import binary_search
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.document_search import Row
from vedette.state.files import binary_orders
from vedette.state.files.binary_orders import OrderedFile
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_lookup
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import bounded_number
from vedette.web.programs.binary_request_json import binary_request_body

BINARY_ORDER_HOURS_MAX: Limit[int] = 30 * 24
"""Hours that an order for a file may wait. A host that is away for longer has often changed."""


router = Router(tags=["binaries"])

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]

_PATH: Final = "/api/v1/binary/{md5}/request"
_HOUR_US: Final = 3600 * 1_000_000


@router.get(_PATH, right=Right.READ, summary="Get the state of an order for a file")
async def state(md5: str, request: Request, here: Here, scope: Within) -> Response:
    """Returns the state (stored, waiting, sent, arriving, failed, cancelled, expired or none) and
    the orders."""

    def work(engine: BoundedEngine) -> Response:
        return json_answer(_body(here, engine, scope, md5))

    return await run_lookup(request, here, work)


@router.post(_PATH, right=Right.ACT, summary="Order the file of a binary from a host")
async def order(
    md5: str,
    request: Request,
    here: Here,
    scope: Within,
    body: Annotated[dict[str, Any], Depends(json_object)],
) -> Response:
    """Body: `{}` or `{"expires_hours": N}`. Needs the Analyst role in a group whose hosts have the
    file. A file that is already stored is not ordered. Returns the state like GET."""
    hours = _hours(body)
    caller = principal_of(request)

    def work(engine: BoundedEngine) -> Response:
        known = _body(here, engine, scope, md5)
        if known["state"] == "stored":
            return json_answer(known)
        now_us, file = here.clock.now_us(), _file(engine, scope, md5)
        expires_us = now_us + hours * _HOUR_US
        request_file(engine, here.database, caller, scope, file, now_us, expires_us)
        here.ordering_sensors.refresh(now_us)
        return json_answer(_body(here, engine, scope, md5))

    return await run_lookup(request, here, work)


@router.delete(_PATH, right=Right.ACT, summary="Cancel the order for a file")
async def cancel(md5: str, request: Request, here: Here, scope: Within) -> Response:
    """An upload that a sensor has already started may still arrive. Returns the state like GET."""
    caller = principal_of(request)

    def work(engine: BoundedEngine) -> Response:
        file, now_us = _file(engine, scope, md5), here.clock.now_us()
        cancel_request(engine, here.database, caller, scope, file, now_us)
        return json_answer(_body(here, engine, scope, md5))

    return await run_lookup(request, here, work)


def _file(engine: BoundedEngine, scope: Scope, md5: str) -> OrderedFile:
    row = binary_search.summary(engine, scope, md5)
    return OrderedFile(row["md5"], row["sha256"])


def _body(here: Services, engine: BoundedEngine, scope: Scope, md5: str) -> dict[str, Any]:
    return order_of(here, scope, binary_search.summary(engine, scope, md5))


def order_of(here: Services, scope: Scope, row: Row) -> dict[str, Any]:
    """Returns the state of the order for a binary's file, as `GET` returns it."""
    file = OrderedFile(row["md5"], row["sha256"])
    orders = binary_orders.of_file(here.database, file, scope, here.clock.now_us())
    copied = here.copies.copied([file.name], scope).get(file.name, 0)
    return binary_request_body(file, orders, copied)


def _hours(body: dict[str, Any]) -> int:
    unknown = set(body) - {"expires_hours"}
    if unknown:
        raise BadRequestError(f"unknown field {min(unknown)[:60]!r}")
    given = body.get("expires_hours", BINARY_ORDER_HOURS)
    return bounded_number("expires_hours", given, least=1, most=BINARY_ORDER_HOURS_MAX)
