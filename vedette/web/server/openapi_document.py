"""Builds `/openapi.json`: the OpenAPI 3.1 description of all routes."""

import re
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from vedette.record.bodies import BodySchema
from vedette.web.http.bodies.declared_bodies import COMPONENTS as PLACE
from vedette.web.http.bodies.declared_bodies import declared_body
from vedette.web.http.error_responses import ELASTIC_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Route
from vedette.web.json.terms import Schema
from vedette.web.server.openapi_failures import failures
from vedette.web.server.openapi_request_bodies import request_body
from vedette.web.server.openapi_responses import COMPONENTS, success

DESCRIPTION: Final = (
    "Endpoint detection and response: telemetry in, processes out. API users send their token as "
    "`X-Auth-Token`; senders of telemetry use Basic `id:secret`, `ApiKey` or `Bearer`."
)

SECURITY_SCHEMES: Final[dict[str, Any]] = {
    "token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "basic": {"type": "http", "scheme": "basic"},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-vedette-session",
        "description": "A browser that signed in; changes need the header X-CSRF-Token",
    },
    "sensor": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "An enrolled sensor: `Sensor ID:KEY`",
    },
}

_FRAMEWORK_ERRORS: Final = ("HTTPValidationError", "ValidationError")

_IN_PATH: Final = re.compile(r"\{([^{}]{1,100})\}")


def openapi_document(app: FastAPI) -> dict[str, Any]:
    """Returns OpenAPI 3.1 of all routes, with error bodies and authentication methods."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    components = document.setdefault("components", {})
    components["securitySchemes"] = SECURITY_SCHEMES
    bodies, models = _declared_bodies(app)
    components["schemas"] = _declared_answers(components) | models | dict(COMPONENTS)
    rights = {
        (method, route.path_format): route.access.right
        for route in app.routes
        if isinstance(route, Route)
        for method in route.methods or ()
    }
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            status, answer = _declared_answer(call) or success(method.upper(), path)
            body = bodies.get((method.upper(), path)) or request_body(method.upper(), path)
            if body is not None:
                call["requestBody"] = body
            call["security"] = _security(rights[method.upper(), path])
            _add_path_parameters(path, call)
            route = method.upper(), path
            schema = "ElasticError" if ELASTIC_TAG in call.get("tags", ()) else "Error"
            call["responses"] = failures(route, rights[route], call, schema) | {status: answer}
    return document


def _declared_bodies(app: FastAPI) -> tuple[dict[tuple[str, str], Schema], Schema]:
    """Returns the request bodies that handlers declare, by method and path, and the schemas of
    their models by name."""
    bodies: dict[tuple[str, str], Schema] = {}
    models: Schema = {}
    for route in app.routes:
        if isinstance(route, APIRoute) and (body := declared_body(route)) is not None:
            content = {"application/json": {"schema": body.schema()}}
            for method in route.methods or ():
                bodies[method, route.path_format] = {"required": True, "content": content}
            schema = body.model.model_json_schema(
                ref_template=PLACE + "{model}", schema_generator=BodySchema
            )
            models |= schema.pop("$defs", {}) | {body.model.__name__: schema}
    return bodies, models


def _declared_answers(components: Schema) -> Schema:
    """Returns the response schemas that the framework derived, without its own error schemas, which
    no route returns."""
    derived: Schema = components.get("schemas", {})
    return {name: schema for name, schema in derived.items() if name not in _FRAMEWORK_ERRORS}


def _declared_answer(call: Schema) -> tuple[str, Schema] | None:
    """Returns status and response of a route that declares a model."""
    answer = call["responses"].get("200", {})
    schema = answer.get("content", {}).get("application/json", {}).get("schema")
    return ("200", answer | {"description": "Done"}) if schema else None


def _security(right: Right) -> list[dict[str, list[str]]]:
    """Returns the authentication methods of a route; none for an open route."""
    if right in (Right.OPEN, Right.IN_BODY):
        return []
    schemes = ("sensor",) if right is Right.SENSOR else ("token", "bearer", "basic", "session")
    return [{name: []} for name in schemes]


def _add_path_parameters(path: str, call: dict[str, Any]) -> None:
    """Adds path parameters that the handler does not declare."""
    parameters = call.get("parameters", [])
    known = {one["name"] for one in parameters if one["in"] == "path"}
    missing = [name for name in _IN_PATH.findall(path) if name not in known]
    if missing:
        call["parameters"] = parameters + [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in missing
        ]
