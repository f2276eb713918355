"""Display of failed answers: the place of the failure, the remaining data, and a retry that keeps
the input."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.browser.conftest import Visiting, until
from tests.support.served import Server, start_server
from tests.support.sysmon import story

HOST = "states.example"
FILES = 1_200
SEARCH = "/ui/process?t=all"
FAILURES = {
    403: "Access denied",
    429: "Too many requests",
    500: "Request failed",
    503: "Server unavailable",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = start_server(tmp_path_factory.mktemp("states"))
    found = next(running)
    tale = story(HOST)
    files = [
        tale.host.of(tale.powershell, 11, 6 + at / 10, TargetFilename=f"C:\\t\\{at}.txt")
        for at in range(FILES)
    ]
    with found.sender() as sender:
        answer = sender.post("/api/v1/ingest", json=[*tale.records, *files])
        assert answer.status_code == 200
    yield found
    running.close()


@pytest.fixture(scope="module")
def shell(server: Server) -> dict[str, Any]:
    with server.analyst() as client:
        query = {"q": f"hostname:{HOST} process_name:powershell.exe", "rows": 1}
        return dict(client.get("/api/v1/process", params=query).json()["results"][0])


def fail(route: Any) -> None:
    route.abort("failed")


def failing(status: int) -> Any:
    """Answers as the server's own failures: of the API, or in place of a part of a page."""
    body = json.dumps({"reason": "busy", "message": "it broke"})
    part = (
        f'<div class="state error" role="alert"><h2>{FAILURES.get(status)}</h2>'
        '<button type="button" data-action="reload">Retry</button></div>'
    )

    def answer(route: Any) -> None:
        kind = ("text/html", part) if "/ui/" in route.request.url else ("application/json", body)
        route.fulfill(status=status, content_type=kind[0], body=kind[1])

    return answer


def test_a_tile_without_an_answer_says_so_and_is_asked_again_alone(visiting: Visiting) -> None:
    with visiting() as visit:
        visit.expected += ["ERR_FAILED", "Failed to fetch", "htmx"]
        visit.page.route("**/ui/_/home/hosts*", fail)
        page = visit.open("/ui/")
        page.wait_for_selector(".tile-hosts [role=alert]")
        assert "No response from the server" in page.inner_text(".tile-hosts")
        page.wait_for_selector(".tile-sensors h2 a")
        page.unroute("**/ui/_/home/hosts*")
        page.evaluate("window.same = true")
        page.click(".tile-hosts [data-action=reload]")
        page.wait_for_selector(".tile-hosts h2 a")
        assert page.evaluate("window.same")


def test_a_search_without_an_answer_keeps_what_is_there(visiting: Visiting) -> None:
    with visiting() as visit:
        visit.expected += ["ERR_FAILED", "Failed to fetch", "htmx"]
        page = visit.open(SEARCH)
        visit.settle()
        rows = page.locator("tr[data-row]").count()
        page.route("**/ui/process?*", fail)
        page.fill("textarea[name=q]", "process_name:cmd.exe")
        page.click("button.primary")
        page.wait_for_selector("main > .error[role=alert]")
        assert "No response from the server" in page.inner_text("main > .error")
        assert page.locator("tr[data-row]").count() == rows > 0
        page.unroute("**/ui/process?*")
        page.click("main > .error [data-action=reload]")
        page.wait_for_url("**q=process_name**")
        until(page, "!document.querySelector('main > .error')")


@pytest.mark.parametrize("status", FAILURES)
def test_a_search_that_fails_keeps_rows_and_query_and_is_tried_again(
    visiting: Visiting, status: int
) -> None:
    with visiting() as visit:
        visit.expected.append(str(status))
        page = visit.open(SEARCH)
        visit.settle()
        rows = page.locator("tr[data-row]").count()
        page.route("**/ui/process?*", failing(status))
        page.fill("textarea[name=q]", "process_name:whoami.exe")
        for _ in range(2):  # a second failure takes the place of the first
            page.click("button.primary")
            page.wait_for_selector("main > .error[role=alert]")
            visit.settle()
        assert page.locator("main > .error").count() == 1
        assert FAILURES[status] in page.inner_text("main > .error")
        assert page.locator("tr[data-row]").count() == rows > 1
        assert page.input_value("textarea[name=q]") == "process_name:whoami.exe"
        assert page.url.endswith(SEARCH)
        page.unroute("**/ui/process?*")
        page.click("main > .error [data-action=reload]")
        page.wait_for_url("**q=process_name**")
        until(page, "document.querySelectorAll('tr[data-row]').length === 1")
        assert page.locator("main > .error").count() == 0


def test_a_search_that_takes_too_long_can_be_left_and_tried_again(visiting: Visiting) -> None:
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    with visiting() as visit:
        visit.expected += ["htmx", "ERR_ABORTED", "AbortError", "timeout"]
        page = visit.open(SEARCH)
        visit.settle()
        rows = page.locator("tr[data-row]").count()
        page.route("**/ui/process?*", hold)
        page.fill("textarea[name=q]", "process_name:whoami.exe")
        page.click("button.primary")
        page.click("[data-action=cancel]")  # there once it takes a second
        until(page, "!document.querySelector('[data-action=cancel], .htmx-request')")
        assert page.locator("tr[data-row]").count() == rows
        assert page.locator("main > .error").count() == 0
        page.evaluate("htmx.config.defaultTimeout = 300")
        page.click("button.primary")
        page.wait_for_selector("main > .error[role=alert]")
        assert page.locator("tr[data-row]").count() == rows
        page.evaluate("htmx.config.defaultTimeout = 45000")
        page.unroute("**/ui/process?*")
        page.click("main > .error [data-action=reload]")
        until(page, "document.querySelectorAll('tr[data-row]').length === 1")


def test_a_flyout_that_fails_keeps_the_list_and_is_asked_again(visiting: Visiting) -> None:
    with visiting() as visit:
        visit.expected.append("503")
        page = visit.open(SEARCH)
        visit.settle()
        page.route("**/ui/_/process/**", failing(503))
        page.focus("tr[data-row]")
        page.keyboard.press("Enter")
        page.wait_for_selector("#flyout .error")
        page.unroute("**/ui/_/process/**")
        page.click("#flyout [data-action=reload]")
        page.wait_for_selector("#flyout .facts")
        assert page.locator("#flyout .error").count() == 0


def test_events_that_fail_leave_the_tree_and_are_read_again(
    visiting: Visiting, shell: dict[str, Any]
) -> None:
    with visiting() as visit:
        visit.expected.append("500")
        visit.page.route("**/api/v6/process/stream*", failing(500))
        page = visit.open(f"/ui/process/{shell['id']}")
        page.wait_for_selector("[data-loaded]")
        page.wait_for_selector("#undo .failed")
        assert "it broke" in page.inner_text("#undo")
        assert page.locator("#tree [role=row]").count() > 0
        assert page.get_attribute("#events-pane", "aria-busy") is None
        page.unroute("**/api/v6/process/stream*")
        page.click("#undo .failed >> text=Retry")
        until(page, "document.querySelectorAll('#events [role=row]').length > 5")


def test_a_stream_that_ended_goes_on_at_the_same_event(
    visiting: Visiting, shell: dict[str, Any]
) -> None:
    ended: list[str] = []

    def once(route: Any) -> None:
        if ended or "seek" not in route.request.url:
            route.continue_()
            return
        ended.append(route.request.url)
        failing(404)(route)

    path = f"/ui/process/{shell['id']}"
    with visiting() as visit:
        page = visit.open(path)
        page.wait_for_selector("[data-loaded]")
        whole = page.inner_text("#event-status")
    with visiting() as visit:
        visit.expected.append("404")
        visit.page.route("**/api/v6/process/stream/*", once)
        page = visit.open(path)
        page.wait_for_selector("[data-loaded]")
        assert ended
        assert page.inner_text("#event-status") == whole
        assert int("".join(filter(str.isdigit, whole))) > FILES
        assert page.locator("#undo .failed").count() == 0


def test_a_branch_that_failed_can_be_opened_once_more(
    visiting: Visiting, server: Server, shell: dict[str, Any]
) -> None:
    path = f"/api/v1/process/{shell['parent_id']}/tree"
    with server.analyst() as client:
        tree = client.get(path).json()
    tree["nodes"] = [one | {"has_more_children": True} for one in tree["nodes"][:1]]
    with visiting() as visit:
        visit.expected.append("503")
        visit.page.route("**/tree?*", lambda route: route.fulfill(json=tree))
        page = visit.open(f"/ui/process/{shell['parent_id']}")
        page.wait_for_selector("[data-loaded]")
        page.unroute("**/tree?*")
        page.route("**/tree?*", failing(503))
        before = page.locator("#tree [role=row]").count()
        page.focus("#tree")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("#undo .failed")
        assert page.locator("#tree [role=row]").count() == before
        page.unroute("**/tree?*")
        page.focus("#tree")
        page.keyboard.press("ArrowRight")
        until(page, "(n) => document.querySelectorAll('#tree [role=row]').length > n", before)


def test_all_children_of_a_process_are_read_when_it_is_opened(
    visiting: Visiting, server: Server, shell: dict[str, Any]
) -> None:
    """However many the server gives at once."""
    path = f"/api/v1/process/{shell['parent_id']}/tree"
    with server.analyst() as client:
        tree = client.get(path).json()
    root = tree["nodes"][0]
    tree["nodes"] = [root | {"has_more_children": True}]
    one = {**root, "parent_id": root["id"], "depth": 1}
    pages = {
        "": {**tree, "nodes": [root, one | {"id": f"{'0' * 35}1"}], "continue": "next"},
        "next": {**tree, "nodes": [one | {"id": f"{'0' * 35}2"}], "continue": None},
    }
    with visiting() as visit:
        visit.page.route("**/tree?*", lambda route: route.fulfill(json=tree))
        page = visit.open(f"/ui/process/{shell['parent_id']}")
        page.wait_for_selector("[data-loaded]")
        page.unroute("**/tree?*")
        page.route(
            "**/tree?*",
            lambda route: route.fulfill(json=pages["next" * route.request.url.endswith("next")]),
        )
        before = page.locator("#tree [role=row]:visible").count()
        page.focus("#tree")
        page.keyboard.press("ArrowRight")
        until(
            page,
            "(n) => [...document.querySelectorAll('#tree [role=row]')]"
            ".filter((row) => !row.hidden).length === n",
            before + 2,
        )


@pytest.mark.parametrize("path", ["/ui/alerts", "/ui/reports", "/ui/binary", "/ui/sensors"])
def test_what_cannot_be_read_of_a_query_is_marked_in_it(visiting: Visiting, path: str) -> None:
    with visiting() as visit:
        page = visit.open(f"{path}?{urlencode({'q': 'nothing:<b>x</b> score:3'})}")
        assert page.inner_text(".state[role=alert] mark") == "nothing"
        assert "<b>x</b>" in page.inner_text(".state[role=alert]")
