"""The table of routes and rights, held against the routes there are."""

import pytest
from fastapi import FastAPI
from starlette.responses import Response

from tests.support.route_access import ACCESS
from vedette.model.principal import Principal, Role
from vedette.web.app import ROUTERS, all_routes
from vedette.web.http.access import holds
from vedette.web.http.pages import Pages
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.server.openapi_document import openapi_document

ADMINISTRATOR = Principal("user", "root", "A", is_global_admin=True)
ANALYST = Principal("user", "ann", "B", roles=((1, Role.ANALYST),))
NOBODY = Principal("user", "new", "C")
SENDER = Principal("ingest", "beats", "D", group_id=1)


def test_a_route_cannot_be_declared_without_its_right() -> None:
    with pytest.raises(TypeError, match="right"):
        Router().get("/open")  # type: ignore[call-arg]


def test_a_route_that_does_not_authorize_its_caller_is_refused() -> None:
    router = Router()
    router.add("GET", "/open", lambda: {}, right=Right.READ)
    router.routes[0].dependant.dependencies.clear()
    with pytest.raises(AssertionError, match="/open: it is open to everybody"):
        list(all_routes(Pages((router,), lambda *_: Response())))


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
    assert [one for one in everyone if holds(one, right)] == allowed


def test_only_health_and_pages_are_open() -> None:
    opened = {path for (_, path), right in ACCESS.items() if right is Right.OPEN}
    pages = {"/docs", "/docs/{file}", "/openapi.json"}
    assert opened == pages | {
        "/healthz",
        "/readyz",
        "/.well-known/jwks.json",
        "/api/v1/csp-report",
    }


def test_the_description_names_every_route_with_a_summary() -> None:
    app = FastAPI(title="t", version="1")
    for router in ROUTERS:
        app.router.routes.extend(router.routes)
    document = openapi_document(app)
    described = {
        (method.upper(), path)
        for path, methods in document["paths"].items()
        for method, call in methods.items()
        if call["summary"]
    }
    pages = {"/docs", "/docs/{file}", "/openapi.json", "/servers/v1/records"}
    plain = {(method, path.replace(":path}", "}")) for method, path in set(ACCESS)}
    assert described == {(method, path) for method, path in plain if path not in pages}
    assert document["openapi"].startswith("3.1")
