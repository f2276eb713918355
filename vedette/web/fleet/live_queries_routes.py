"""Live queries of hosts with osquery. Created here; `web/telemetry/osquery_routes.py` receives the
results."""

from dataclasses import asdict
from typing import Annotated, Any

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.errors import BadRequestError
from vedette.limits import Limit
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed, of_groups, require
from vedette.model.scope import Scope
from vedette.state.sensors import live_queries, sensor_list
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.body_members import check_members
from vedette.web.json.parameters import ID_MAX, bounded_number

LIVE_QUERY_SENSORS_MAX: Limit[int] = 1_000
"""Hosts per live query."""


router = Router(prefix="/api/v1/livequery", tags=["sensors"])

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]


@router.post("", right=Right.ACT, summary="Run a live query on hosts")
async def place(request: Request, here: Here, scope: Within) -> Response:
    """Body: `{"sensor_ids": [...], "sql": "..."}`, with 1 to 1,000 sensors. Returns the query's
    id. Hosts receive the query with their next request, within a minute. Read the results by
    that id."""
    body = await json_object(request)
    return json_answer(await to_thread.run_sync(_place, here, scope, principal_of(request), body))


def _place(here: Services, scope: Scope, principal: Principal, body: dict[str, Any]) -> Any:
    check_members(body, "sensor_ids", "sql", of="a live query")
    ids, sql = body.get("sensor_ids"), body.get("sql")
    if not isinstance(ids, list) or not 0 < len(ids) <= LIVE_QUERY_SENSORS_MAX:
        raise BadRequestError(
            f"sensor_ids: must be a list of 1 to {LIVE_QUERY_SENSORS_MAX} sensor ids"
        )
    if not isinstance(sql, str):
        raise BadRequestError("sql: must be an osquery query")
    numbers = [bounded_number("sensor_ids", one, least=1, most=ID_MAX) for one in ids]
    for number in numbers:
        row = sensor_list.get(here.database, scope, number)
        require(principal, Deed.ASK_HOST, of_groups(row.group_id))
    now_us = here.clock.now_us()
    return {"id": live_queries.place(here.database, sql, numbers, principal.name, now_us)}


@router.get("/{query_id}", right=Right.READ, summary="Get the results of a live query")
def get(query_id: str, here: Here, scope: Within) -> Response:
    """Returns the rows of every host that the caller may see. `state` is waiting, sent, done,
    failed or expired."""
    number = bounded_number("query_id", query_id, most=ID_MAX)
    return json_answer(asdict(live_queries.get(here.database, scope, number, here.clock.now_us())))
