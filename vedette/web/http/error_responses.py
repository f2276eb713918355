"""Maps exceptions to HTTP responses, by a table from error classes to statuses.

Every body is `{"reason": <stable word>, "message": <text>}`; a query error also has `start` and
`end`, offsets into the query (docs/http-api.md). Responses to Elasticsearch clients repeat these
under Elasticsearch's names. An exception outside the table is a bug: the server logs it with the
request id and answers 500 without details.
"""

import errno
from collections.abc import Mapping
from typing import Any, Final

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from vedette import limits
from vedette.errors import (
    BadRequestError,
    BusyError,
    CallerError,
    ConflictError,
    ForbiddenError,
    InvalidBodyError,
    NotFoundError,
    QueryError,
    StaleError,
    TooLargeError,
    UnauthorizedError,
    UnavailableError,
    VedetteError,
)
from vedette.limits import Limit
from vedette.web.http.pages import PAGE_TAG, pages_of
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right

RETRY_AFTER_S: Limit[int] = 2
"""Retry-After of 429 and 503 responses (s). `locked_out` uses `SIGN_IN_WINDOW_S` instead."""


log = structlog.get_logger("vedette.web")

STATUSES: Final[tuple[tuple[type[VedetteError], int], ...]] = (
    (QueryError, 400),
    (InvalidBodyError, 400),
    (BadRequestError, 400),
    (UnauthorizedError, 401),
    (ForbiddenError, 403),
    (NotFoundError, 404),
    (StaleError, 409),
    (ConflictError, 409),
    (TooLargeError, 413),
    (CallerError, 400),
    (BusyError, 429),
    (UnavailableError, 503),
    (VedetteError, 500),
)
"""The first matching class determines the status."""

REASONS: Final[Mapping[int, str]] = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "bad_request",
    500: "internal_error",
}
"""Reason codes of errors that the framework raises, by status."""

HEADERS: Final[Mapping[int, Mapping[str, str]]] = {
    401: {"WWW-Authenticate": 'Bearer realm="vedette"'},
    429: {"Retry-After": str(RETRY_AFTER_S)},
    503: {"Retry-After": str(RETRY_AFTER_S)},
}

BASIC: Final[Mapping[str, str]] = {"WWW-Authenticate": 'Basic realm="vedette", charset="UTF-8"'}
"""Challenge header of routes that accept Basic: those of senders, and the route for access tokens
of apps."""

_BASIC_RIGHTS: Final = frozenset({Right.SEND, Right.HANDSHAKE, Right.IN_BODY})

ELASTIC_TAG: Final = "elasticsearch"
"""Tag of the routes whose clients expect Elasticsearch error bodies."""

OSQUERY_TAG: Final = "osquery"
"""Tag of the routes whose clients read `node_invalid`."""

_LONG_WAITS: Final[Mapping[str, int]] = {"locked_out": limits.SIGN_IN_WINDOW_S}
"""Retry-After (s) by reason, where an earlier retry cannot succeed. `locked_out` always reports the
full window, because the remaining time would reveal when others tried."""

ELASTIC_HEADERS: Final[Mapping[str, str]] = {"X-Elastic-Product": "Elasticsearch"}


def status_of(error: VedetteError) -> int:
    return next(status for known, status in STATUSES if isinstance(error, known))


def error_body(error: VedetteError) -> dict[str, Any]:
    body: dict[str, Any] = {"reason": error.reason, "message": error.message}
    if isinstance(error, QueryError):
        body |= {"start": error.start, "end": error.end}
    if isinstance(error, InvalidBodyError):
        body["errors"] = [{"member": path, "message": text} for path, text in error.faults]
    if isinstance(error, StaleError):
        body["changed"] = dict(error.changed)
    return body


def failure_answer(request: Request, status: int, body: dict[str, Any]) -> Response:
    """Returns the response for a failed request, in the format that the route's clients expect."""
    headers = dict(HEADERS.get(status, {}))
    if "Retry-After" in headers and body["reason"] in _LONG_WAITS:
        headers["Retry-After"] = str(_LONG_WAITS[body["reason"]])
    tags = getattr(request.scope.get("route"), "tags", ())
    if PAGE_TAG in tags and (pages := pages_of(request)) is not None:
        return pages.failure(request, status, body)
    if status == 401 and request.headers.get("sec-fetch-mode", "navigate") != "navigate":
        # The request comes from a page, which has its own sign-in form; with the header a browser
        # would show its own dialog first.
        headers.pop("WWW-Authenticate")
    elif status == 401 and _takes_basic(request):
        headers |= BASIC
    if status == 401 and OSQUERY_TAG in tags:
        body = {**body, "node_invalid": True}
    if ELASTIC_TAG in tags:
        cause = {"type": body["reason"], "reason": body["message"]}
        body = {**body, "error": {**cause, "root_cause": [cause]}, "status": status}
        headers |= ELASTIC_HEADERS
    return json_answer(body, status, headers)


def _takes_basic(request: Request) -> bool:
    access = getattr(request.scope.get("route"), "access", None)
    return access is not None and access.right in _BASIC_RIGHTS


EXHAUSTED: Final = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EROFS}
)
"""System errors that are not bugs: no free descriptors, memory or disk space."""


def unexpected_answer(request: Request, error: Exception, request_id: str) -> Response:
    """Returns 503 if the system has run out of a resource, else 500 without details. The log has
    the exception under the request id in the response."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in EXHAUSTED:
            log.warning("request rejected", text=str(cause))
            return _on_domain_error(request, UnavailableError(f"the system: {cause.strerror}"))
        cause = cause.__cause__ or cause.__context__
    log.exception("request failed", path=request.url.path, exc_info=error)
    body = {"reason": REASONS[500], "message": f"internal error; request id {request_id}"}
    return failure_answer(request, 500, body)


EXPECTED: Final = (VedetteError, HTTPException)
"""Exceptions that a route may raise; any other exception is a bug."""


def expected_answer(request: Request, error: VedetteError | HTTPException) -> Response:
    """Returns the response for an error that a route may raise."""
    if isinstance(error, HTTPException):
        return _on_http_error(request, error)
    return _on_domain_error(request, error)


def install_failures(app: FastAPI) -> None:
    """Registers exception handlers, so that every error of `app` has this format."""
    app.add_exception_handler(VedetteError, _on_domain_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http_error)


def _on_domain_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, VedetteError)
    status = status_of(error)
    if status == 500:
        log.error("request failed", path=request.url.path, reason=error.reason, text=str(error))
    return failure_answer(request, status, error_body(error))


def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    body = {"reason": REASONS[400], "message": f"{place}: {first['msg']}"}
    return failure_answer(request, 400, body)


def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = error.status_code
    body = {"reason": REASONS.get(status, "http_error"), "message": str(error.detail)}
    answer = failure_answer(request, status, body)
    answer.headers.update(error.headers or {})
    return answer
