"""The router class of all routes. A route cannot be declared without a requirement, and authorizes
its caller before anything else runs."""

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import Depends
from fastapi.routing import APIRoute

from vedette.web.http.access import authorize
from vedette.web.http.rights.right import Access, Requirement, access_of

F = TypeVar("F", bound=Callable[..., Any])


class Route(APIRoute):
    """A path and method with its access rules."""

    access: Access


class Router:
    """Routes of a topic, in matching order.

    The authorization check belongs to the route instead of the application, so that applications
    can share routes: the framework analyzes the parameters of all routes once per process (0.3 s).
    """

    def __init__(
        self,
        *,
        prefix: str = "",
        tags: tuple[str, ...] | list[str] = (),
        include_in_schema: bool = True,
    ) -> None:
        self.routes: list[Route] = []
        self._prefix = prefix
        self._tags = list(tags)
        self._in_schema = include_in_schema

    def add(
        self,
        method: str,
        path: str,
        handler: Callable[..., Any],
        *,
        right: Requirement,
        reads: bool = False,
        is_noted: bool = False,
        tags: list[str] | None = None,
        **keywords: Any,
    ) -> None:
        """Adds a route; `keywords` are arguments of FastAPI's `APIRoute`. See `access_of` for
        `reads` and `is_noted`."""
        route = Route(
            self._prefix + path,
            handler,
            methods=[method],
            tags=[*self._tags, *(tags or ())],
            include_in_schema=self._in_schema,
            dependencies=[Depends(authorize)],
            **keywords,
        )
        route.access = access_of(right, method, reads=reads, is_noted=is_noted)
        self.routes.append(route)

    def get(self, path: str, *, right: Requirement, **keywords: Any) -> Callable[[F], F]:
        return self._adding("GET", path, right, keywords)

    def head(self, path: str, *, right: Requirement, **keywords: Any) -> Callable[[F], F]:
        return self._adding("HEAD", path, right, keywords)

    def post(self, path: str, *, right: Requirement, **keywords: Any) -> Callable[[F], F]:
        return self._adding("POST", path, right, keywords)

    def put(self, path: str, *, right: Requirement, **keywords: Any) -> Callable[[F], F]:
        return self._adding("PUT", path, right, keywords)

    def patch(self, path: str, *, right: Requirement, **keywords: Any) -> Callable[[F], F]:
        return self._adding("PATCH", path, right, keywords)

    def delete(self, path: str, *, right: Requirement, **keywords: Any) -> Callable[[F], F]:
        return self._adding("DELETE", path, right, keywords)

    def _adding(
        self, method: str, path: str, right: Requirement, keywords: dict[str, Any]
    ) -> Callable[[F], F]:
        def add(handler: F) -> F:
            self.add(method, path, handler, right=right, **keywords)
            return handler

        return add
