"""Routes that are called without the framework: which they are, and that nobody can decide."""

import pytest

from vedette.web.app import all_routes
from vedette.web.http.fast_path import is_direct

BUSY = ["/sensor/v1/checkin", "/sensor/v1/events", "/api/v1/ingest", "/_bulk", "/osquery/log"]


@pytest.fixture
def direct() -> set[str]:
    return {route.path for route in all_routes() if is_direct(route)}


@pytest.mark.parametrize("path", BUSY)
def test_what_fleets_call_all_day_is_direct(direct: set[str], path: str) -> None:
    assert path in direct


def test_a_path_with_parts_that_vary_is_the_frameworks(direct: set[str]) -> None:
    assert not [path for path in direct if "{" in path]


def test_a_route_that_asks_for_more_is_the_frameworks(direct: set[str]) -> None:
    assert "/api/v1/process" not in direct
