"""A server that goes while it is read, and comes back: the page says so, keeps what was typed
and selected, and goes on."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.api.test_alerts import RULE, hit
from tests.browser.conftest import Visiting, until
from tests.support.ports import free_port
from tests.support.served import Server, open_group, serving
from tests.support.sysmon import story
from tests.support.written_detections import write_detections

HOST = "away.example"
AWAY = "html[data-away=true] #news .broken"
SENDS = "#triage[open] [data-submit]:enabled"


@dataclass
class Switch:
    """A server on a port of its own that can be turned off and on."""

    data: Path
    port: int = field(default_factory=free_port)
    running: ExitStack = field(default_factory=ExitStack)
    last: list[Server] = field(default_factory=list)
    """The server as it was turned on last: its local token is another each time."""

    def on(self) -> Server:
        flags = ("--port", str(self.port))
        self.last = [self.running.enter_context(serving(self.data, *flags))]
        return self.last[0]

    @contextmanager
    def off(self) -> Iterator[None]:
        self.running.close()
        yield
        self.on()


@pytest.fixture(scope="module")
def switch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Switch]:
    found = Switch(tmp_path_factory.mktemp("away"))
    with found.running:
        yield found


@pytest.fixture(scope="module")
def server(switch: Switch) -> Server:
    first = switch.on()
    _, secret = open_group(first, "Away")
    with first.client(Authorization=f"Bearer {secret}") as client:
        assert client.post("/api/v1/ingest", json=story(HOST).records).status_code == 200
    with first.analyst() as client:
        rows = client.get("/api/v1/process", params={"rows": "50"}).json()["results"]
    with switch.off():
        write_detections(switch.data, [hit(row, RULE, "why it fired") for row in rows])
    return switch.last[0]


def open_alerts(switch: Switch) -> int:
    with switch.last[0].analyst() as client:
        query = {"q": "status:Unresolved", "rows": 0}
        return int(client.get("/api/v2/alert", params=query).json()["total_results"])


def test_a_note_that_is_written_outlasts_a_server_that_goes(
    visiting: Visiting, switch: Switch
) -> None:
    before = open_alerts(switch)
    with visiting() as visit:
        visit.expected += ["ERR_CONNECTION", "ERR_SOCKET", "Failed to fetch", "htmx"]
        page = visit.open("/ui/alerts")
        page.wait_for_selector("#flyout .lineage")
        page.check("tr.group input")
        chosen = page.locator("tr[aria-selected=true]").count()
        page.keyboard.press("r")
        page.wait_for_selector(SENDS)
        page.keyboard.type("a long thought")
        with switch.off():
            page.keyboard.press("Control+Enter")
            page.wait_for_selector("#triage[open] .failed")
            assert "Check whether the change was saved" in page.inner_text("#triage .failed")
            page.wait_for_selector(AWAY)
            assert page.input_value("#triage [name=comment]") == "a long thought"
        until(page, "document.documentElement.dataset.away === 'false'", timeout_s=60)
        assert page.locator("tr[aria-selected=true]").count() == chosen
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#undo [data-undo]")
        assert open_alerts(switch) == 0
        page.keyboard.press("Control+z")
        page.wait_for_selector("text=Change undone")
    assert open_alerts(switch) == before


def test_nothing_leaves_the_page_while_no_server_answers(
    visiting: Visiting, switch: Switch
) -> None:
    query = f"hostname:{HOST} process_name:whoami.exe"
    with visiting() as visit:
        visit.expected += ["ERR_CONNECTION", "ERR_SOCKET", "Failed to fetch", "htmx"]
        page = visit.open("/ui/process?t=all")
        visit.settle()
        rows = page.locator("tr[data-row]").count()
        with switch.off():
            page.fill("textarea[name=q]", query)
            page.keyboard.press("Enter")
            page.wait_for_selector("main > .error[role=alert]")
            page.wait_for_selector(AWAY)
            page.click(".nav a[href='/ui/sensors']")
            page.wait_for_selector("#undo .failed")
            assert page.locator("tr[data-row]").count() == rows > 1
        until(page, "document.documentElement.dataset.away === 'false'", timeout_s=60)
        assert page.input_value("textarea[name=q]") == query
        page.click("main > .error [data-action=reload]")
        until(page, "document.querySelectorAll('tr[data-row]').length === 1")
        page.click(".nav a[href='/ui/sensors']")
        page.wait_for_url("**/ui/sensors")


@pytest.mark.parametrize("status", [429, 503])
def test_a_change_that_is_refused_for_now_can_be_sent_again(
    visiting: Visiting, switch: Switch, status: int
) -> None:
    before = open_alerts(switch)

    def refuse(route: Any) -> None:
        if '"expected"' not in (route.request.post_data or ""):
            route.continue_()
            return
        body = {"reason": "busy", "message": "too much at once"}
        route.fulfill(status=status, json=body, headers={"Retry-After": "1"})

    with visiting() as visit:
        visit.expected.append(str(status))
        page = visit.open("/ui/alerts")
        page.wait_for_selector("#flyout .lineage")
        page.route("**/api/v1/alerts", refuse)
        page.keyboard.press("f")
        page.wait_for_selector(SENDS)
        page.keyboard.type("known")
        for _ in range(2):
            page.keyboard.press("Control+Enter")
            page.wait_for_selector("#triage[open] .failed")
        assert page.locator("#triage .failed").count() == 1
        assert "too much at once" in page.inner_text("#triage .failed")
        assert open_alerts(switch) == before
        page.unroute("**/api/v1/alerts")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#undo [data-undo]")
        assert open_alerts(switch) == before - 1
        page.keyboard.press("Control+z")
        page.wait_for_selector("text=Change undone: 1 alert")
    assert open_alerts(switch) == before
