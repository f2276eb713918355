"""The description of all routes, `/openapi.json`, and the words it says of the whole."""

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

DESCRIPTION: Final = (
    "Endpoint detection and response: telemetry in, processes out. API users send their token as "
    "`X-Auth-Token`; senders of telemetry use Basic `id:secret`, `ApiKey` or `Bearer`."
)

SECURITY_SCHEMES: Final[dict[str, Any]] = {
    "token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "basic": {"type": "http", "scheme": "basic"},
}

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
    for methods in document["paths"].values():
        for call in methods.values():
            call["responses"].pop("422", None)
            call["responses"]["default"] = error
    return document
