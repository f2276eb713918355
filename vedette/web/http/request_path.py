"""Equivalent request forms: HEAD equals GET without a body, and a trailing slash is ignored. The
server does not redirect, because clients would drop the body."""

from collections.abc import Iterable
from typing import Final

from fastapi.routing import APIRoute
from starlette.types import Scope

SENT_METHOD: Final = "vedette.sent_method"
"""Key in the ASGI scope of the original method, if the server handles the request as another
method."""


class RequestPaths:
    """Finds the equivalent request form that has a route."""

    def __init__(self, routes: Iterable[APIRoute]) -> None:
        self._routes = tuple(routes)
        self._with_head = {one.path for one in self._routes if "HEAD" in (one.methods or ())}
        self._with_slash = {one.path for one in self._routes if one.path.endswith("/")}

    def served(self, scope: Scope) -> Scope:
        """Returns the ASGI scope to handle, a copy if it differs from the connection's scope. The
        connection still sees HEAD and sends no body."""
        if scope["path"].endswith("/") and self._ignores_slash(scope):
            scope = {**scope, "path": scope["path"][:-1], "raw_path": scope["raw_path"][:-1]}
        if scope["method"] == "HEAD" and self._is_read_by_get(scope["path"]):
            scope = {**scope, "method": "GET", SENT_METHOD: "HEAD"}
        return scope

    def _ignores_slash(self, scope: Scope) -> bool:
        """Returns whether the trailing slash can be dropped. It cannot if a route has it, if it
        is part of a name, or if the path without it would change all objects where an id is
        missing."""
        path, method = scope["path"], scope["method"]
        if path in self._with_slash or not scope.get("raw_path", b"").endswith(b"/"):
            return False
        return not any(
            one.path.endswith(":path}") and one.path_regex.match(path)
            for one in self._routes
            if "{" in one.path
        ) and (method in ("GET", "HEAD") or not self._has_route(method, path + "-"))

    def _has_route(self, method: str, path: str) -> bool:
        return any(
            method in (one.methods or ()) and one.path.endswith("}") and one.path_regex.match(path)
            for one in self._routes
        )

    def _is_read_by_get(self, path: str) -> bool:
        """Returns whether HEAD falls back to GET: the first route that matches the path has no HEAD
        route."""
        for one in self._routes:
            if "GET" in (one.methods or ()) and one.path_regex.match(path):
                return one.path not in self._with_head
        return False
