"""Routes of sites, which group sensor groups (docs/clients.md#aliases)."""

from typing import Annotated

from fastapi import Depends
from starlette.responses import Response

from vedette.errors import BadRequestError, NotFoundError
from vedette.model.rights.authorization import Deed
from vedette.record.answers import many, to_json
from vedette.record.bodies import Request as Empty
from vedette.record.bodies import Sent
from vedette.record.objects.site import NEW_SITE, SITE, SITE_CHANGE
from vedette.state.policy import sites
from vedette.web.http.bodies.declared_bodies import json_body
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import ID_MAX, bounded_number

router = Router(tags=["sites"])

Here = Annotated[Services, Depends(services)]


@router.get("/api/v1/site", right=Right.READ, summary="List sites", response_model=many(SITE))
@router.get("/api/site", right=Right.READ, summary="List sites", response_model=many(SITE))
def listed(here: Here) -> Response:
    """Returns all sites, sorted by id."""
    return json_answer([to_json(site) for site in sites.all_sites(here.database)])


@router.post("/api/v1/site", right=Deed.CHANGE_SITES, summary="Create a site", response_model=SITE)
@router.post("/api/site", right=Deed.CHANGE_SITES, summary="Create a site", response_model=SITE)
def create(here: Here, body: Annotated[Sent[Empty], Depends(json_body(NEW_SITE))]) -> Response:
    """Creates a site and returns the record, with its `id`. Error 409: another site has the
    name."""
    return json_answer(to_json(sites.add(here.database, body.values["name"])))


@router.get(
    "/api/v1/site/{site_id}", right=Right.READ, summary="Get a site", response_model=many(SITE)
)
@router.get(
    "/api/site/{site_id}", right=Right.READ, summary="Get a site", response_model=many(SITE)
)
def one(site_id: str, here: Here) -> Response:
    """Returns a list with a single record, as clients expect."""
    return json_answer([to_json(sites.get(here.database, _number(site_id)))])


@router.put("/api/v1/site/{site_id}", right=Deed.CHANGE_SITES, summary="Rename a site")
@router.put("/api/site/{site_id}", right=Deed.CHANGE_SITES, summary="Rename a site")
def change(
    site_id: str, here: Here, body: Annotated[Sent[Empty], Depends(json_body(SITE_CHANGE))]
) -> Response:
    """Renames a site. Error 409 `changed_meanwhile`: a member differs from its value in `was`."""
    sites.change(
        here.database,
        _number(site_id),
        body.values,
        lambda known: body.check_unchanged(to_json(known)),
    )
    return json_answer({"result": "success"})


@router.delete("/api/v1/site/{site_id}", right=Deed.CHANGE_SITES, summary="Delete a site")
@router.delete("/api/site/{site_id}", right=Deed.CHANGE_SITES, summary="Delete a site")
def delete(site_id: str, here: Here) -> Response:
    """Deletes a site. Error 409: the site is the default site, or it has sensor groups."""
    sites.remove(here.database, _number(site_id))
    return json_answer({"result": "success"})


def _number(text: str) -> int:
    try:
        return bounded_number("site_id", text, least=1, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"site {text[:40]!r} not found") from None
