"""The queue of alerts in a real browser, by keyboard alone: one after the other, many at once."""

from collections.abc import Iterator

import pytest

from tests.api.test_alerts import RULE, hit
from tests.browser.conftest import Visiting, until
from tests.support.served import Server, open_group
from tests.support.sysmon import story
from tests.support.written_detections import alerted_server
from vedette.model.findings.detection import Detection

HOSTILE = "<img src=x onerror=alert(1)> \u202egpj.exe"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    def detect(server: Server) -> list[Detection]:
        _, secret = open_group(server, "Queue")
        tale = story("queue.example")
        with server.client(Authorization=f"Bearer {secret}") as client:
            assert client.post("/api/v1/ingest", json=tale.records).status_code == 200
        with server.analyst() as client:
            query = {"q": f"hostname:{tale.host.name}", "rows": "50"}
            rows = client.get("/api/v1/process", params=query).json()["results"]
        return [hit(row, RULE, HOSTILE) for row in rows]

    with alerted_server(tmp_path_factory.mktemp("queue"), detect) as server:
        yield server


def open_alerts(server: Server) -> int:
    with server.analyst() as client:
        query = '-status:Resolved -status:"False Positive"'
        body = client.get("/api/v2/alert", params={"q": query, "rows": 0}).json()
    return int(body["total_results"])


def test_alerts_are_triaged_by_keyboard_and_taken_back(visiting: Visiting, server: Server) -> None:
    before = open_alerts(server)
    with visiting() as visit:
        page = visit.open("/ui/")
        page.keyboard.press("g")
        page.keyboard.press("a")
        page.wait_for_selector("#flyout .lineage, #flyout .history")
        assert page.inner_text("#flyout-title").startswith("<img src=x onerror=alert(1)> U+202E")
        page.keyboard.press("r")
        page.wait_for_selector("#triage[open] [data-submit]:enabled")
        page.keyboard.type("seen")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#undo [data-undo]")
        assert open_alerts(server) == before - 1
        assert page.evaluate("document.activeElement.matches('tr[data-row]')")
        page.keyboard.press("Control+z")
        page.wait_for_selector("text=Change undone: 1 alert", timeout=60_000)
        assert open_alerts(server) == before


def test_a_group_is_closed_exactly_as_counted(visiting: Visiting, server: Server) -> None:
    before = open_alerts(server)
    with visiting() as visit:
        page = visit.open("/ui/alerts")
        page.wait_for_selector("#flyout-title")
        page.keyboard.press("Home")
        page.keyboard.press("x")
        page.keyboard.press("f")
        page.wait_for_selector("#triage[open] [data-submit]:enabled")
        assert f"{before} alerts" in page.inner_text("#triage-title")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("text=Queue is clear", timeout=60_000)
        assert open_alerts(server) == 0


def test_anything_can_be_looked_up(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/")
        page.keyboard.press("Control+k")
        page.keyboard.insert_text("queue.example")
        page.wait_for_selector("#omnibox nav a")
        assert "queue.example" in page.inner_text("#omnibox nav")


def reasons(server: Server) -> list[str]:
    """Returns the reasons of all suppressions."""
    with server.analyst() as client:
        return [one["reason"] for one in client.get("/api/v1/alert/suppression").json()]


def test_a_group_is_suppressed_and_an_alert_assigned_by_keys(
    visiting: Visiting, server: Server
) -> None:
    with visiting() as visit:
        page = visit.open("/ui/alerts?q=")
        page.wait_for_selector("#flyout-title")
        page.keyboard.press("a")
        page.wait_for_selector("#triage[open] [data-submit]:enabled")
        assert page.inner_text("#triage-title") == "Assign 1 alert"
        assert page.evaluate("document.activeElement.name") == "assigned_to"
        page.keyboard.type("bo")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#undo [data-undo]")
        page.reload()
        page.wait_for_selector("#flyout-title")
        total = int(page.inner_text("[data-total]"))
        page.keyboard.press("S")
        page.wait_for_selector("#triage[open] [data-submit]:enabled")
        assert page.inner_text("#triage-title") == f"Resolve and suppress {total} alerts"
        assert page.is_checked("[name=suppress]")
        page.fill("[name=comment]", "known")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#undo [data-undo]")
        assert reasons(server) == ["known"]
        page.keyboard.press("Control+z")
        page.wait_for_selector("#undo >> text=Change undone")
        assert reasons(server) == []
        page.wait_for_selector("#flyout-title")
        page.keyboard.press("S")
        page.wait_for_selector("#triage[open] [data-submit]:enabled")
        page.fill("[name=comment]", "known")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#undo [data-undo]")
        page = visit.open("/ui/alerts?q=")
        page.click("text=active suppression")
        assert "known" in page.inner_text("[data-suppressions]")
    with server.analyst() as client:
        given = client.get("/api/v2/alert", params={"q": "assigned_to:bo", "rows": 1}).json()
        assert given["total_results"] == 1
        assert open_alerts(server) == 0


def test_a_host_column_is_one_line(visiting: Visiting) -> None:
    with visiting(width=1300) as visit:
        page = visit.open("/ui/alerts?q=")
        page.wait_for_selector("td.host")
        style = page.locator("td.host").first.evaluate(
            "(one) => [getComputedStyle(one).whiteSpace, getComputedStyle(one).textOverflow]"
        )
        assert style == ["nowrap", "ellipsis"]


def test_a_visit_of_the_queue_is_kept_beside_other_preferences(
    visiting: Visiting, server: Server
) -> None:
    with visiting() as visit:
        page = visit.open("/ui/alerts")
        kept = "fetch('/api/v1/me/preferences').then((answer) => answer.json())"
        until(page, f"{kept}.then((found) => /^0 \\d+$/.test(found.visit))")
        page.evaluate(
            f"""{kept}.then((found) => fetch("/api/v1/me/preferences", {{ method: "PUT",
            headers: {{ "Content-Type": "application/json",
              "X-CSRF-Token": document.querySelector("meta[name=csrf-token]").content }},
            body: JSON.stringify({{ ...found, density: "compact", visit: "0 1700000000000" }})
            }}))"""
        )
        page.reload()
        page.wait_for_selector(".since:has-text('Since your last visit') a:has-text('new')")
        until(page, f"{kept}.then((found) => /^17\\d+ \\d+$/.test(found.visit))")
        assert page.evaluate(f"{kept}.then((found) => found.density)") == "compact"
