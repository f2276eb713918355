"""Live queries of hosts with osquery: created here, answered by
`api/routes/telemetry/osquery.py`."""

from dataclasses import asdict
from typing import Annotated, Any

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.api.http.access import principal_of, scope_of_request
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.schemas.body_members import check_members
from vedette.api.schemas.parameters import ID_MAX, bounded_number
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, ForbiddenError
from vedette.model.principal import Principal, Role
from vedette.model.scope import Scope
from vedette.state.sensors import live_queries, sensor_list

router = Router(prefix="/api/v1/livequery", tags=["sensors"])

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]


@router.post("", summary="Ask hosts with osquery")
async def place(request: Request, here: Here, scope: Within) -> Response:
    """Body `{"sensor_ids": [...], "sql": "..."}`; the answer has the query's id. Hosts are asked
    at their next request, within a minute; the answers are read by that id."""
    body = await json_object(request)
    return json_answer(await to_thread.run_sync(_place, here, scope, principal_of(request), body))


def _place(here: Services, scope: Scope, principal: Principal, body: dict[str, Any]) -> Any:
    check_members(body, "sensor_ids", "sql", of="a live query")
    ids, sql = body.get("sensor_ids"), body.get("sql")
    if not isinstance(ids, list) or not 0 < len(ids) <= limits.LIVE_QUERY_SENSORS_MAX:
        raise BadRequestError(f"sensor_ids: 1 to {limits.LIVE_QUERY_SENSORS_MAX} ids of sensors")
    if not isinstance(sql, str):
        raise BadRequestError("sql: a query as osquery understands it")
    numbers = [bounded_number("sensor_ids", one, least=1, most=ID_MAX) for one in ids]
    for number in numbers:
        row = sensor_list.get(here.database, scope, number)
        if principal.role_in(row.group_id) < Role.ANALYST:
            raise ForbiddenError(f"{principal.name} must be Analyst in group {row.group_id}")
    now_us = here.clock.now_us()
    return {"id": live_queries.place(here.database, sql, numbers, principal.name, now_us)}


@router.get("/{query_id}", summary="What hosts answered")
def get(query_id: str, here: Here, scope: Within) -> Response:
    """The rows of every host that the caller may see; `state` is waiting, sent, done, failed or
    expired."""
    number = bounded_number("query_id", query_id, most=ID_MAX)
    return json_answer(asdict(live_queries.get(here.database, scope, number, here.clock.now_us())))
