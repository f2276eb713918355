"""`/openapi.json`: the description of all routes, OpenAPI 3.1."""

import re
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from vedette.api.http.openapi_contents import request_body, success

DESCRIPTION: Final = (
    "Endpoint detection and response: telemetry in, processes out. API users send their token as "
    "`X-Auth-Token`; senders of telemetry use Basic `id:secret`, `ApiKey` or `Bearer`."
)

SECURITY_SCHEMES: Final[dict[str, Any]] = {
    "token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "basic": {"type": "http", "scheme": "basic"},
}

_IN_PATH: Final = re.compile(r"\{([^{}]{1,100})\}")

ERROR_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["reason", "message"],
    "properties": {
        "reason": {"type": "string", "description": "A stable word for programs"},
        "message": {"type": "string", "description": "A text for people"},
        "start": {"type": "integer", "description": "Query errors: where the fault begins"},
        "end": {"type": "integer", "description": "Query errors: where it ends"},
    },
}


def openapi_document(app: FastAPI) -> dict[str, Any]:
    """OpenAPI 3.1 of all routes, with the error body and the ways to authenticate."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    components = document.setdefault("components", {})
    components["securitySchemes"] = SECURITY_SCHEMES
    components["schemas"] = {"Error": ERROR_SCHEMA}
    document["security"] = [{name: []} for name in SECURITY_SCHEMES]
    error = {
        "description": "What was wrong",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            status, answer = success(method.upper(), path)
            call["responses"] = {status: answer, "default": error}
            if (body := request_body(method.upper(), path)) is not None:
                call["requestBody"] = body
            _add_path_parameters(path, call)
    return document


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
