"""Reads from the routes who may call each of them."""

from typing import Final

from vedette.model.rights.permission import Permission
from vedette.web.app import all_routes
from vedette.web.http.rights.right import Access, Right
from vedette.web.pages import PAGES

Key = tuple[str, str]
"""Method and path template."""

ACCESSES: Final[dict[Key, Access]] = {
    (method, route.path): route.access for route in all_routes() for method in route.methods
}
"""Access rule of every API route."""

ACCESS: Final[dict[Key, Right]] = {key: access.right for key, access in ACCESSES.items()}

PAGE_ACCESS: Final[dict[Key, Right]] = {
    (method, route.path): route.access.right
    for router in PAGES.routers
    for route in router.routes
    for method in route.methods
}

PERMISSIONS: Final[dict[Key, Permission]] = {
    key: access.permission for key, access in ACCESSES.items() if access.permission is not None
}

READING_POSTS: Final = frozenset(
    key
    for key, access in ACCESSES.items()
    if key[0] not in ("GET", "HEAD") and access.permission is None and access.reads_only
)
"""Routes that change nothing though their method says otherwise."""
