"""Sites, which group sensor groups (docs/clients.md#aliases)."""

from typing import Annotated, Any

from fastapi import Depends
from starlette.responses import Response

from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.schemas.parameters import ID_MAX, bounded_number
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, NotFoundError
from vedette.state.policy import sites
from vedette.state.policy.sites import Site

router = Router(tags=["sites"])

Here = Annotated[Services, Depends(services)]
Body = Annotated[dict[str, Any], Depends(json_object)]


@router.get("/api/v1/site", summary="All sites")
@router.get("/api/site", summary="All sites")
def listed(here: Here) -> Response:
    """By id."""
    return json_answer([_body(site) for site in sites.all_sites(here.database)])


@router.post("/api/v1/site", summary="Create a site")
@router.post("/api/site", summary="Create a site")
def create(here: Here, body: Body) -> Response:
    """The answer is the record, with its `id`."""
    return json_answer(_body(sites.add(here.database, _name(body))))


@router.get("/api/v1/site/{site_id}", summary="One site")
@router.get("/api/site/{site_id}", summary="One site")
def one(site_id: str, here: Here) -> Response:
    """A list of one record, as clients expect."""
    return json_answer([_body(sites.get(here.database, _number(site_id)))])


@router.put("/api/v1/site/{site_id}", summary="Rename a site")
@router.put("/api/site/{site_id}", summary="Rename a site")
def change(site_id: str, here: Here, body: Body) -> Response:
    """Takes the `name`."""
    sites.rename(here.database, _number(site_id), _name(body))
    return json_answer({"result": "success"})


@router.delete("/api/v1/site/{site_id}", summary="Delete a site")
@router.delete("/api/site/{site_id}", summary="Delete a site")
def delete(site_id: str, here: Here) -> Response:
    """409 for the default site, and for one that still has sensor groups."""
    sites.remove(here.database, _number(site_id))
    return json_answer({"result": "success"})


def _body(site: Site) -> dict[str, Any]:
    return {"id": site.id, "name": site.name}


def _name(body: dict[str, Any]) -> str:
    if unknown := sorted(set(body) - {"id", "name"}):
        raise BadRequestError(f"there is no member {unknown[0][:60]!r} of a site")
    name = body.get("name")
    if not isinstance(name, str):
        raise BadRequestError("name: must be a text")
    return name


def _number(text: str) -> int:
    try:
        return bounded_number("site_id", text, least=1, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"there is no site {text[:40]!r}") from None
