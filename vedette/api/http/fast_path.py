"""Calls the routes that ask nothing of the framework without it.

A fleet checks in hundreds of times a second, and the framework's layers, its search for the route
and its dependencies cost more than a check-in's own work. A route with a fixed path whose handler
is a coroutine of the request, and at most of the services (`here`), needs none of that: it is found
by its method and path, authorised as every other one, and called. Whatever is not here goes the
framework's way; errors, metrics and log lines are the same on both.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from vedette.api.http.access import authorize
from vedette.api.http.body_budget import BodyBudget
from vedette.api.http.error_responses import EXPECTED, expected_answer
from vedette.api.http.middleware import Conduct, HttpMetrics
from vedette.api.services import services_of

_GIVEN: Final = frozenset({"request", "here"})

_CALL: Final = "vedette.call"
"""Where the scope keeps the handler."""

Call = Callable[[Request], Awaitable[Response]]


class Direct:
    """ASGI layer in front of the framework's."""

    def __init__(
        self,
        rest: ASGIApp,
        routes: Iterable[APIRoute],
        metrics: HttpMetrics,
        bodies: BodyBudget | None = None,
    ) -> None:
        self._rest = rest
        self._answer = Conduct(_answer, metrics, bodies)
        self._routes = {
            (method, route.path): (route, _call(route.endpoint))
            for route in routes
            if is_direct(route)
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._routes.get((scope["method"], scope["path"])) if _is_http(scope) else None
        if found is None:
            await self._rest(scope, receive, send)
            return
        scope["route"], scope[_CALL] = found
        await self._answer(scope, receive, send)


def is_direct(route: APIRoute) -> bool:
    """Whether a route asks nothing of the framework."""
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
