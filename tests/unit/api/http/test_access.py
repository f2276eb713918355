"""The table of routes and rights, held against the routes there are."""

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.responses import Response

from vedette.api.app import ROUTERS, all_routes
from vedette.api.http.access import may
from vedette.api.http.pages import Pages
from vedette.api.http.route_rights import ACCESS, Right
from vedette.api.schemas.openapi.document import openapi_document
from vedette.model.principal import Principal, Role

ADMINISTRATOR = Principal("user", "root", "A", is_global_admin=True)
ANALYST = Principal("user", "ann", "B", roles=((1, Role.ANALYST),))
NOBODY = Principal("user", "new", "C")
SENDER = Principal("ingest", "beats", "D", group_id=1)


def calls() -> set[tuple[str, str]]:
    return {
        (method, route.path)
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }


def test_every_route_has_its_right_and_every_right_a_route() -> None:
    assert calls() == set(ACCESS)


def test_a_route_that_does_not_authorize_its_caller_is_refused() -> None:
    plain = APIRouter()
    plain.add_api_route("/open", lambda: {})
    with pytest.raises(AssertionError, match="/open: it is open to everybody"):
        list(all_routes(Pages((plain,), {}, lambda *_: Response())))


@pytest.mark.parametrize(
    ("right", "allowed"),
    [
        (Right.OPEN, [ADMINISTRATOR, ANALYST, NOBODY, SENDER]),
        (Right.HANDSHAKE, [ADMINISTRATOR, SENDER]),
        (Right.SEND, [ADMINISTRATOR, SENDER]),
        (Right.READ, [ADMINISTRATOR, ANALYST, NOBODY]),
        (Right.ADMINISTER, [ADMINISTRATOR]),
    ],
)
def test_a_right_is_held_by(right: Right, allowed: list[Principal]) -> None:
    everyone = [ADMINISTRATOR, ANALYST, NOBODY, SENDER]
    assert [one for one in everyone if may(one, right)] == allowed


def test_only_health_and_pages_are_open() -> None:
    opened = {path for (_, path), right in ACCESS.items() if right is Right.OPEN}
    pages = {"/docs", "/docs/{file}", "/openapi.json"}
    assert opened == pages | {
        *("/healthz", "/readyz", "/.well-known/jwks.json"),
        "/api/v1/csp-report",
    }


def test_the_description_names_every_route_with_a_summary() -> None:
    app = FastAPI(title="t", version="1")
    for router in ROUTERS:
        app.include_router(router)
    document = openapi_document(app)
    described = {
        (method.upper(), path)
        for path, methods in document["paths"].items()
        for method, call in methods.items()
        if call["summary"]
    }
    pages = {"/docs", "/docs/{file}", "/openapi.json", "/servers/v1/records"}
    plain = {(method, path.replace(":path}", "}")) for method, path in calls()}
    assert described == {(method, path) for method, path in plain if path not in pages}
    assert document["openapi"].startswith("3.1")
