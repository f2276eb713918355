"""Fast path: dispatches simple routes without the web framework.

A fleet checks in hundreds of times per second. The framework's middleware, routing and dependency
injection cost more than a check-in itself. A route qualifies if its path is fixed and its handler
is a coroutine with only the parameters `request` and `here` (the services). The fast path looks it
up by method and path, authorizes the caller and calls the handler. All other routes take the
framework's path. Errors, metrics and logs are identical.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from vedette.web.http.access import authorize
from vedette.web.http.bodies.body_budget import BodyBudget
from vedette.web.http.error_responses import EXPECTED, expected_answer
from vedette.web.http.middleware import HttpMetrics, RequestMiddleware
from vedette.web.http.request_path import RequestPaths
from vedette.web.http.services import services_of

_GIVEN: Final = frozenset({"request", "here"})

_CALL: Final = "vedette.call"
"""Key of the handler in the ASGI scope."""

Call = Callable[[Request], Awaitable[Response]]


class FastPath:
    """ASGI application in front of the framework's application."""

    def __init__(
        self,
        rest: ASGIApp,
        routes: Iterable[APIRoute],
        metrics: HttpMetrics,
        bodies: BodyBudget | None = None,
    ) -> None:
        self._rest = rest
        routes = tuple(routes)
        self._paths = RequestPaths(routes)
        self._answer = RequestMiddleware(_answer, metrics, bodies)
        self._routes = {
            (method, route.path): (route, _call(route.endpoint))
            for route in routes
            if is_direct(route)
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_http(scope):
            await self._rest(scope, receive, send)
            return
        found = self._routes.get((scope["method"], scope["path"]))
        if found is None:
            scope = self._paths.served(scope)
            found = self._routes.get((scope["method"], scope["path"]))
        if found is None:
            await self._rest(scope, receive, send)
            return
        scope["route"], scope[_CALL] = found
        await self._answer(scope, receive, send)


def is_direct(route: APIRoute) -> bool:
    """Returns whether a route can be called without the framework."""
    names = set(inspect.signature(route.endpoint).parameters)
    is_plain = "request" in names and names <= _GIVEN and "{" not in route.path
    return is_plain and inspect.iscoroutinefunction(route.endpoint)


async def _answer(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive, send)
    try:
        await authorize(request)
        answer = await scope[_CALL](request)
    except EXPECTED as error:
        answer = expected_answer(request, error)
    await answer(scope, receive, send)


def _call(endpoint: Callable[..., Any]) -> Call:
    if "here" not in inspect.signature(endpoint).parameters:
        return endpoint
    return lambda request: endpoint(request, here=services_of(request))


def _is_http(scope: Scope) -> bool:
    return bool(scope["type"] == "http")
