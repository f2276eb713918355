"""Forwarders (docs/forwarder.md). They send data of all sensors and therefore belong to no sensor
group: users must be global administrators, and apps need the permission in all groups
(`web/http/access.py`)."""

from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.responses import Response

from vedette.errors import UnavailableError
from vedette.forwarder.delivery import DeliveryError
from vedette.model.rights import permission
from vedette.state.jobs import forwarders
from vedette.state.jobs.forwarders import Forwarder
from vedette.web.forwarding.models import forwarder_body, forwarder_wanted
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.organization import organization
from vedette.web.http.responses import json_answer
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services

router = Router(tags=["cloud forwarders"])


Here = Annotated[Services, Depends(services)]
Org = Annotated[str, Depends(organization)]
Body = Annotated[dict[str, Any], Depends(json_object)]

BASE: Final = "/data_forwarder/v2/orgs/{org_key}/configs"


@router.get(BASE, right=permission.FORWARDERS_READ, summary="List forwarders")
def listed(here: Here) -> Response:
    """Returns forwarders by name, without their secrets."""
    found = [_body(here, one) for one in forwarders.all_forwarders(here.database)]
    return json_answer({"num_found": len(found), "results": found})


@router.post(BASE, right=permission.FORWARDERS_CREATE, summary="Add a forwarder")
def add(here: Here, body: Body) -> Response:
    """Body: `name`, `types`, `destination` (its `kind` and the members of that kind), `query`,
    `path`, `interval_s`, `enabled`, and `since`, the time of the first data to forward. Returns the
    forwarder."""
    return json_answer(_body(here, here.forwarders.add(forwarder_wanted(body))))


@router.get(f"{BASE}/{{forwarder_id}}", right=permission.FORWARDERS_READ, summary="Get a forwarder")
def one(forwarder_id: str, here: Here) -> Response:
    """Returns the forwarder without its secrets, with progress and failures of its streams."""
    return json_answer(_body(here, forwarders.get(here.database, forwarder_id)))


@router.put(
    f"{BASE}/{{forwarder_id}}", right=permission.FORWARDERS_UPDATE, summary="Change a forwarder"
)
def change(forwarder_id: str, here: Here, body: Body) -> Response:
    """Changes the given members. A destination must be complete except for its secrets, which are
    kept if it leads to the same place. Failed streams are retried immediately."""
    return json_answer(_body(here, here.forwarders.change(forwarder_id, forwarder_wanted(body))))


@router.delete(
    f"{BASE}/{{forwarder_id}}", right=permission.FORWARDERS_DELETE, summary="Delete a forwarder"
)
def delete(forwarder_id: str, here: Here) -> Response:
    """Deletes the forwarder. Data that it has sent remains at the destination."""
    forwarders.remove(here.database, forwarder_id)
    return json_answer({"result": "success"})


@router.post(
    f"{BASE}/{{forwarder_id}}/healthcheck",
    right=permission.FORWARDERS_CREATE,
    summary="Test a forwarder",
)
def healthcheck(forwarder_id: str, here: Here) -> Response:
    """Sends a file with a single record that is marked as a test. `error` states why that
    failed."""
    known = forwarders.get(here.database, forwarder_id)
    try:
        here.forwarder_rounds.send_trial(known)
    except (DeliveryError, UnavailableError) as error:
        return json_answer({"healthy": False, "error": error.message})
    return json_answer({"healthy": True, "error": ""})


def _body(here: Services, known: Forwarder) -> dict[str, Any]:
    return forwarder_body(known, forwarders.streams(here.database, known.id))
