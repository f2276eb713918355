"""Pages for people that an application serves besides the API: their routes and the error page.
`vedette/web/pages.py` builds them; the API depends on this interface only."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from fastapi import Request
from starlette.responses import Response

from vedette.web.http.router import Router

PAGE_TAG: Final = "pages"
"""Tag of the routes whose clients expect HTML, including errors."""

Failure = Callable[[Request, int, dict[str, Any]], Response]
"""Renders the error page from the request, its status and its error body."""


@dataclass(frozen=True, slots=True)
class Pages:
    """Page routers and the error page. Every route is tagged `PAGE_TAG`."""

    routers: tuple[Router, ...]
    failure: Failure


def pages_of(request: Request) -> Pages | None:
    """Returns the pages of the application that serves a request, None if it has none."""
    pages = getattr(request.app.state, "pages", None)
    return pages if isinstance(pages, Pages) else None
