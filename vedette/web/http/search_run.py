"""Runs the work of a route in one of the two search pools (`web/http/search_pool.py`)."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from fastapi import Request

from vedette.search.bounded_engine import BoundedEngine
from vedette.web.http.access import principal_of
from vedette.web.http.services import Services

T = TypeVar("T")


async def run_search(request: Request, here: Services, work: Callable[[BoundedEngine], T]) -> T:
    """Runs the work of a route that may read the whole store."""
    deadline_s = here.settings.search_deadline_s
    return await here.searches.run(_user(request), _disconnected(request), work, deadline_s)


async def run_lookup(request: Request, here: Services, work: Callable[[BoundedEngine], T]) -> T:
    """Runs the work of a route that reads a single process or binary by id. Does not wait for
    searches."""
    deadline_s = max(here.settings.search_deadline_s, here.settings.bulk_timeout_s)
    return await here.lookups.run(_user(request), _disconnected(request), work, deadline_s)


async def run_check(
    request: Request, here: Services, work: Callable[[BoundedEngine], T], deadline_s: float
) -> T:
    """Runs the work of a route that may read the whole store, with a longer deadline than searches
    (s)."""
    return await here.searches.run(_user(request), _disconnected(request), work, deadline_s)


def _user(request: Request) -> str:
    return principal_of(request).name


def _disconnected(request: Request) -> Callable[[], Awaitable[None]]:
    async def wait() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return wait
