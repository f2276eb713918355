"""Aliases of hosts: further names whose records belong to a sensor."""

from typing import Annotated, Any

from fastapi import Depends
from starlette.responses import Response

from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.schemas.body_members import check_members
from vedette.api.services import Services, services
from vedette.errors import BadRequestError
from vedette.state.sensors import host_registry

router = Router(tags=["sensors"])

Here = Annotated[Services, Depends(services)]
Body = Annotated[dict[str, Any], Depends(json_object)]


@router.get("/api/v1/hostalias", summary="All aliases of hosts")
def listed(here: Here) -> Response:
    """By alias, with the id and the name of the sensor. Short names that were joined with a full
    one are among them."""
    return json_answer(
        [
            {"alias": alias, "sensor_id": sensor_id, "hostname": hostname}
            for alias, sensor_id, hostname in host_registry.aliases(here.database)
        ]
    )


@router.post("/api/v1/hostalias", summary="Give a host a further name")
def create(here: Here, body: Body) -> Response:
    """Takes `alias` and `hostname`. Records that name the alias belong to the host's sensor from
    now on. 404 for an unknown host, 409 for an alias that is a host or an alias already."""
    check_members(body, "alias", "hostname", of="an alias")
    alias, hostname = body.get("alias"), body.get("hostname")
    if not isinstance(alias, str) or not isinstance(hostname, str):
        raise BadRequestError("alias, hostname: both are names of hosts")
    host_registry.add_alias(here.database, alias, hostname)
    return json_answer({"result": "success"})


@router.delete("/api/v1/hostalias/{alias}", summary="Remove an alias")
def delete(alias: str, here: Here) -> Response:
    """What is stored stays with the sensor; later records of that name get one of their own."""
    host_registry.remove_alias(here.database, alias, here.clock.now_us())
    here.sensors.evict(alias.lower())
    return json_answer({"result": "success"})
