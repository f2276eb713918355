"""Every route declares the model of its body and of its answer; the routes that do not yet are
listed, and the list only shrinks.

A declared model is one that a handler names (`response_model`, `json_body`), so that the document
and the program cannot differ. Routes whose bytes are no JSON are not meant."""

from pathlib import Path

from fastapi import FastAPI
from fastapi.routing import APIRoute

from vedette.web.app import all_routes
from vedette.web.http.bodies.declared_bodies import declared_body
from vedette.web.server.openapi_document import openapi_document

LIST = Path(__file__).parents[1] / "corpus" / "undeclared_bodies.txt"
UNDECLARED_MAX = 397
"""Lines of the list. Lower it with every route that is declared; never raise it."""


def undeclared() -> set[str]:
    app = FastAPI(title="t", version="1")
    app.router.routes.extend(all_routes())
    document = openapi_document(app)
    found = set()
    for route in app.routes:
        if not isinstance(route, APIRoute) or not route.include_in_schema:
            continue
        for method in route.methods or ():
            call = document["paths"][route.path_format][method.lower()]
            declares = declared_body(route) is not None
            if "requestBody" in call and not declares and _is_json(call["requestBody"]):
                found.add(f"{method} {route.path} body")
            answers = [one for status, one in call["responses"].items() if status.startswith("2")]
            if route.response_model is None and any(map(_is_json, answers)):
                found.add(f"{method} {route.path} answer")
    return found


def _is_json(part: dict[str, object]) -> bool:
    content = part.get("content")
    return isinstance(content, dict) and "application/json" in content


def test_no_further_route_has_a_body_without_a_model() -> None:
    listed = LIST.read_text().splitlines()
    assert listed == sorted(set(listed))
    found = undeclared()
    assert found - set(listed) == set(), "declare the model: `response_model` or `json_body`"
    assert set(listed) - found == set(), f"are declared now: remove them from {LIST.name}"
    assert len(listed) <= UNDECLARED_MAX
