"""`/openapi.json`: the description of all routes, OpenAPI 3.1."""

import re
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from vedette.api.http.error_responses import ELASTIC_TAG
from vedette.api.http.route_rights import ACCESS, Right
from vedette.api.schemas.openapi.failures import failures
from vedette.api.schemas.openapi.request_bodies import request_body
from vedette.api.schemas.openapi.responses import COMPONENTS, success

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

_RIGHTS: Final = {
    (method, path.replace(":path}", "}")): right for (method, path), right in ACCESS.items()
}
"""By method and path as the document writes it."""

_IN_PATH: Final = re.compile(r"\{([^{}]{1,100})\}")


def openapi_document(app: FastAPI) -> dict[str, Any]:
    """OpenAPI 3.1 of all routes, with the error body and the ways to authenticate."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    components = document.setdefault("components", {})
    components["securitySchemes"] = SECURITY_SCHEMES
    components["schemas"] = dict(COMPONENTS)
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            status, answer = success(method.upper(), path)
            if (body := request_body(method.upper(), path)) is not None:
                call["requestBody"] = body
            call["security"] = _security(method.upper(), path)
            _add_path_parameters(path, call)
            route = method.upper(), path
            schema = "ElasticError" if ELASTIC_TAG in call.get("tags", ()) else "Error"
            call["responses"] = failures(route, _RIGHTS[route], call, schema) | {status: answer}
    return document


def _security(method: str, path: str) -> list[dict[str, list[str]]]:
    """The ways to authenticate for a route; none for an open one."""
    right = _RIGHTS[method, path]
    if right in (Right.OPEN, Right.IN_BODY):
        return []
    schemes = ("sensor",) if right is Right.SENSOR else ("token", "bearer", "basic", "session")
    return [{name: []} for name in schemes]


def _add_path_parameters(path: str, call: dict[str, Any]) -> None:
    """Describe those that the handler does not read."""
    parameters = call.get("parameters", [])
    known = {one["name"] for one in parameters if one["in"] == "path"}
    missing = [name for name in _IN_PATH.findall(path) if name not in known]
    if missing:
        call["parameters"] = parameters + [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in missing
        ]
