"""Error responses for `/openapi.json`: the statuses that a route may return, derived from its
parameters and requirement. Any other status, such as 500, is a fault of the server."""

from collections.abc import Mapping
from typing import Any, Final

from vedette.web.http.rights.right import Right
from vedette.web.json.terms import Schema, reference
from vedette.web.server.openapi_request_bodies import Route

MEANINGS: Final[Mapping[int, str]] = {
    400: "A parameter, a query or the body is wrong; the message says where",
    401: "No credential, or one that is unknown, revoked or expired",
    403: "The caller, or the caller's address, may not do this",
    404: "What is named does not exist, or the caller may not see it",
    409: "It exists already, or its state forbids the change",
    413: "The body is larger than the limit",
    429: "Too many requests: come back after the seconds of Retry-After",
    503: "The store, the state or the disk is not available: come back after Retry-After",
}

_OTHERS: Final[Mapping[Route, Mapping[str, Schema]]] = {
    ("GET", "/"): {"303": {"description": "A browser is sent to the console"}},
    ("GET", "/api/v1/pulse"): {"304": {"description": "As the ETag says"}},
    ("GET", "/readyz"): {
        "503": {
            "description": "Something is not ready",
            "content": {"application/json": {"schema": reference("Readiness")}},
        }
    },
}
"""Additional responses of single routes."""

_SEARCHING: Final = frozenset({"GET", "HEAD"})


def failures(route: Route, right: Right, call: Mapping[str, Any], schema: str) -> dict[str, Schema]:
    """Returns OpenAPI Responses of a route by status; `schema` names the component of its
    errors."""
    statuses = sorted(_statuses(route, right, call))
    if route[0] == "HEAD":
        described = {str(one): {"description": MEANINGS[one]} for one in statuses}
    else:
        described = {str(one): _failure(MEANINGS[one], schema) for one in statuses}
    return {**described, **_OTHERS.get(route, {})}


def _statuses(route: Route, right: Right, call: Mapping[str, Any]) -> set[int]:
    method, path = route
    has_body = "requestBody" in call
    found = {503}
    if call.get("parameters") or has_body:
        found.add(400)
    if right is not Right.OPEN:
        found |= {401, 403}
    if right is not Right.OPEN or method not in _SEARCHING:
        found.add(429)
    if "{" in path or has_body:
        found.add(404)
    if method not in _SEARCHING:
        found.add(409)
    if has_body:
        found.add(413)
    return found


def _failure(meaning: str, schema: str) -> Schema:
    return {
        "description": meaning,
        "content": {"application/json": {"schema": reference(schema)}},
    }
