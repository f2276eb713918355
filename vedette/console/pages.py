"""Everything that is served under `/ui/`, and who may see it."""

from typing import Final

from fastapi import APIRouter
from fastapi.routing import APIRoute

from vedette.api.http.pages import Pages
from vedette.api.http.route_rights import Right
from vedette.console import static_files
from vedette.console.failure import failure_page
from vedette.console.screens import home, process_analysis, process_search, sign_in, unknown

ROUTERS: Final[tuple[APIRouter, ...]] = (
    static_files.router,
    sign_in.router,
    home.router,
    process_search.router,
    process_analysis.router,
    unknown.router,  # last: it matches everything below /ui/
)
"""A new screen adds its router here."""

OTHER_RIGHTS: Final[dict[str, Right]] = {
    "/ui/static/{version}/{name:path}": Right.OPEN,
    "/ui/sign-in": Right.OPEN,
}
"""Pages that need another right than to be a user; what users see on them is their scope."""

PAGES: Final = Pages(
    ROUTERS,
    {
        (method, route.path): OTHER_RIGHTS.get(route.path, Right.READ)
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    },
    failure_page,
)
