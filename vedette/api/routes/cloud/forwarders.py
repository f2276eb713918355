"""Forwarders (docs/forwarder.md). They send what all sensors report, so they belong to no sensor
group: users need to be global administrators, apps the permission in all groups
(`api/http/access.py`)."""

from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.responses import Response

from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.cloud.organization import organization
from vedette.api.schemas.cloud.forwarder import forwarder_body, forwarder_wanted
from vedette.api.services import Services, services
from vedette.errors import UnavailableError
from vedette.forwarder.delivery import DeliveryError
from vedette.state.jobs import forwarders
from vedette.state.jobs.forwarders import Forwarder

router = Router(tags=["cloud forwarders"])


Here = Annotated[Services, Depends(services)]
Org = Annotated[str, Depends(organization)]
Body = Annotated[dict[str, Any], Depends(json_object)]

BASE: Final = "/data_forwarder/v2/orgs/{org_key}/configs"


@router.get(BASE, summary="All forwarders")
def listed(here: Here) -> Response:
    """By name, without their secrets."""
    found = [_body(here, one) for one in forwarders.all_forwarders(here.database)]
    return json_answer({"num_found": len(found), "results": found})


@router.post(BASE, summary="Add a forwarder")
def add(here: Here, body: Body) -> Response:
    """Takes `name`, `types`, `destination` (its `kind` and the members of that kind), `query`,
    `path`, `interval_s`, `enabled`, and `since`, a time to begin with what was made then."""
    return json_answer(_body(here, here.forwarders.add(forwarder_wanted(body))))


@router.get(f"{BASE}/{{forwarder_id}}", summary="A forwarder")
def one(forwarder_id: str, here: Here) -> Response:
    """Without its secrets, with how far each of its streams is and why one fails."""
    return json_answer(_body(here, forwarders.get(here.database, forwarder_id)))


@router.put(f"{BASE}/{{forwarder_id}}", summary="Change a forwarder")
def change(forwarder_id: str, here: Here, body: Body) -> Response:
    """Members that are not given stay; a destination is given whole, but for secrets, which stay
    where they go to the same place. What failed is tried again at once."""
    return json_answer(_body(here, here.forwarders.change(forwarder_id, forwarder_wanted(body))))


@router.delete(f"{BASE}/{{forwarder_id}}", summary="Delete a forwarder")
def delete(forwarder_id: str, here: Here) -> Response:
    """What it has sent stays where it is."""
    forwarders.remove(here.database, forwarder_id)
    return json_answer({"result": "success"})


@router.post(f"{BASE}/{{forwarder_id}}/healthcheck", summary="Test a forwarder")
def healthcheck(forwarder_id: str, here: Here) -> Response:
    """Sends a file with one record that says that it is a test; `error` is why that failed."""
    known = forwarders.get(here.database, forwarder_id)
    try:
        here.forwarder_rounds.send_trial(known)
    except (DeliveryError, UnavailableError) as error:
        return json_answer({"healthy": False, "error": error.message})
    return json_answer({"healthy": True, "error": ""})


def _body(here: Services, known: Forwarder) -> dict[str, Any]:
    return forwarder_body(known, forwarders.streams(here.database, known.id))
