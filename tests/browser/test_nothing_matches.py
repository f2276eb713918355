"""A search that finds nothing says what the same query finds over 30 days; none waits for that."""

import time
from typing import Any

import pytest

from tests.browser.conftest import SHARED, Visiting
from tests.support.served import Server
from tests.support.sysmon import Host

pytestmark = SHARED

NAME = "before.example"
DAYS_AGO = 4


@pytest.fixture(scope="module", autouse=True)
def reported(server: Server) -> None:
    """Two processes of some days ago."""
    host = Host(NAME, int(time.time()) - DAYS_AGO * 86_400)
    shell = host.process(880, "C:\\Windows\\explorer.exe")
    records = [host.created(host.process(pid, "C:\\old.exe"), shell) for pid in (901, 902)]
    with server.sender() as sender:
        assert sender.post("/api/v1/ingest", json=records).status_code == 200


def test_the_same_query_over_30_days_is_counted_and_a_press_away(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/process?q=hostname:{NAME} process_name:old.exe")
        link = page.locator("#wider a")
        link.wait_for()
        assert link.inner_text() == "Last 30 days: 2"
        link.focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**t=-30d**")
        page.wait_for_selector("html[data-ready] tr[data-row]")
        assert page.locator("tr[data-row]").count() == 2


def test_where_30_days_have_none_either_it_says_so(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/process?q=process_name:no-such-program&t=-7d")
        page.wait_for_selector("#wider:has-text('in the last 30 days either')")
        assert page.locator("#wider a").count() == 0


@pytest.mark.parametrize("span", ["all", "-30d", "..2020-01-01T00:00:00Z"])
def test_a_search_of_30_days_and_more_is_not_made_again(visiting: Visiting, span: str) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/process?q=process_name:no-such-program&t={span}")
        page.wait_for_selector(".state h2")
        assert page.locator("#wider").count() == 0


def test_the_page_does_not_wait_for_the_count(visiting: Visiting) -> None:
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    with visiting() as visit:
        page = visit.page
        page.route("**/ui/_/process/wider*", hold)
        with page.expect_request("**/ui/_/process/wider*"):
            visit.open(f"/ui/process?q=hostname:{NAME}")
        page.wait_for_selector(".state h2:has-text('No results')")
        assert "Counting results of the last 30 days" in page.inner_text("#wider")
        (asked,) = held
        asked.continue_()
        page.wait_for_selector("#wider a")
