"""Pages for people that an application serves in addition to the API: their routes, the rights
these need, and how their failures look. The package above the API makes them, so the API knows
only this."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from vedette.api.http.route_rights import Right

PAGE_TAG: Final = "pages"
"""Tag of the routes whose callers expect HTML, also for failures."""

Failure = Callable[[Request, int, dict[str, Any]], Response]
"""The page that says why a request failed, from its status and its error body."""


@dataclass(frozen=True, slots=True)
class Pages:
    """See the module. Every route is tagged `PAGE_TAG` and stands in `access`."""

    routers: tuple[APIRouter, ...]
    access: Mapping[tuple[str, str], Right]
    failure: Failure


def pages_of(request: Request) -> Pages | None:
    """The pages of the application that got a request; None for an application without any."""
    pages = getattr(request.app.state, "pages", None)
    return pages if isinstance(pages, Pages) else None
