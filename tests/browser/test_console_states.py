"""What a reader sees when answers fail: where it failed, what is still there, and a way on."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import Visiting
from tests.support.served import Server, start_server
from tests.support.sysmon import story

HOST = "states.example"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = start_server(tmp_path_factory.mktemp("states"))
    found = next(running)
    with found.sender() as sender:
        answer = sender.post("/api/v1/ingest", json=story(HOST).records)
        assert answer.status_code == 200
    yield found
    running.close()


def fail(route: Any) -> None:
    route.abort("failed")


def test_a_tile_without_an_answer_says_so_and_the_others_stand(visiting: Visiting) -> None:
    with visiting() as visit:
        visit.expected += ["ERR_FAILED", "Failed to fetch", "htmx"]
        visit.page.route("**/ui/_/home/hosts*", fail)
        page = visit.open("/ui/")
        page.wait_for_selector(".tile-hosts [role=alert]")
        assert "did not answer" in page.inner_text(".tile-hosts")
        page.wait_for_selector(".tile-sensors h2 a")
        page.unroute("**/ui/_/home/hosts*")
        page.click(".tile-hosts [data-action=reload]")
        page.wait_for_selector(".tile-hosts h2 a")


def test_a_search_without_an_answer_keeps_what_is_there(visiting: Visiting) -> None:
    with visiting() as visit:
        visit.expected += ["ERR_FAILED", "Failed to fetch", "htmx"]
        page = visit.open("/ui/process?t=all")
        page.wait_for_load_state("networkidle")
        rows = page.locator("tr[data-row]").count()
        page.route("**/ui/process?*", fail)
        page.fill("textarea[name=q]", "process_name:cmd.exe")
        page.click("button.primary")
        page.wait_for_selector("#undo .failed")
        assert "did not answer" in page.inner_text("#undo")
        assert page.locator("tr[data-row]").count() == rows > 0
        page.unroute("**/ui/process?*")
        page.click("button.primary")
        page.wait_for_url("**q=process_name**")


def test_events_that_fail_leave_the_tree(visiting: Visiting, server: Server) -> None:
    with server.analyst() as client:
        query = {"q": f"hostname:{HOST}", "rows": 1}
        row = client.get("/api/v1/process", params=query).json()["results"][0]
    body = json.dumps({"reason": "internal_error", "message": "it broke"})
    with visiting() as visit:
        visit.expected.append("500")
        visit.page.route(
            "**/api/v6/process/stream*",
            lambda route: route.fulfill(status=500, body=body, content_type="application/json"),
        )
        page = visit.open(f"/ui/process/{row['id']}")
        page.wait_for_selector("[data-loaded]")
        page.wait_for_selector("#undo .failed")
        assert "it broke" in page.inner_text("#undo")
        assert page.locator("#tree [role=row]").count() > 0
        assert page.get_attribute("#events-pane", "aria-busy") is None
