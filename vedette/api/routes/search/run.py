"""Runs the work of a route in one of the two pools of searches (`api/search_pool.py`)."""

from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, TypeVar

from fastapi import Request

from vedette.api.http.access import principal_of
from vedette.api.schemas.search.search_results import histogram_body
from vedette.api.services import Services
from vedette.errors import UnavailableError
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.processes.histogram import Histogram

T = TypeVar("T")


async def run_search(request: Request, here: Services, work: Callable[[BoundedEngine], T]) -> T:
    """For routes that may read the whole store."""
    deadline_s = here.settings.search_deadline_s
    return await here.searches.run(_user(request), _disconnected(request), work, deadline_s)


async def run_lookup(request: Request, here: Services, work: Callable[[BoundedEngine], T]) -> T:
    """For routes that read one process or binary by its id; they do not wait for searches."""
    deadline_s = max(here.settings.search_deadline_s, here.settings.bulk_timeout_s)
    return await here.lookups.run(_user(request), _disconnected(request), work, deadline_s)


async def run_check(
    request: Request, here: Services, work: Callable[[BoundedEngine], T], deadline_s: float
) -> T:
    """For routes that may read the whole store and take longer than a search may."""
    return await here.searches.run(_user(request), _disconnected(request), work, deadline_s)


def with_histogram(
    body: dict[str, Any], began: float, here: Services, count: Callable[[float], Histogram]
) -> dict[str, Any]:
    """The answer to a search that began then, with its `histogram`: null, and the results
    incomplete, where what was left of the time was not enough."""
    left_s = began + here.settings.search_deadline_s - monotonic()
    try:
        if left_s <= 0:
            raise UnavailableError("no time was left for the histogram", reason="deadline")
        return body | {"histogram": histogram_body(count(left_s))}
    except UnavailableError as error:
        if error.reason != "deadline":
            raise
        return body | {"histogram": None, "incomplete_results": True}


def _user(request: Request) -> str:
    return principal_of(request).name


def _disconnected(request: Request) -> Callable[[], Awaitable[None]]:
    async def wait() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return wait
