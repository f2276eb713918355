"""A feed with its last reading and what was broken in it; its reports, ignored as a whole."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.browser.conftest import Visiting, until
from tests.support.feed_server import FeedServer, feed_server
from tests.support.served import Server, hire, open_group, start_server, wait_for
from tests.support.sysmon import story
from vedette.model.principal import Role


@pytest.fixture(scope="module")
def feeds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FeedServer]:
    with feed_server(tmp_path_factory.mktemp("feeds"), tls=False) as found:
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, feeds: FeedServer) -> Iterator[Server]:
    yield from start_server(tmp_path_factory.mktemp("server"), "--set", "egress_allow=127.0.0.1")


@pytest.fixture(scope="module")
def feed(server: Server, feeds: FeedServer) -> int:
    """Three reports, one of them with an address that is none."""
    reports = [
        {
            **{"id": f"r{number}", "title": f"{name} <b>", "score": 50, "timestamp": 1_700_000_000},
            **{"link": "https://example.com/", "iocs": {"ipv4": [address]}},
        }
        for number, (name, address) in enumerate(
            [("Loader", "192.0.2.1"), ("Loader two", "192.0.2.2"), ("Other", "999.1.1.1")]
        )
    ]
    info = {
        **{"name": "whole", "display_name": "Whole", "provider_url": "https://example.com/"},
        **{"summary": "of a test", "tech_data": "", "version": 1},
    }
    url = feeds.publish("/whole.json", json.dumps({"feedinfo": info, "reports": reports}).encode())
    with server.analyst() as client:
        body = {"feed_url": url, "enabled": True}
        number = int(client.post("/api/v1/feed", json=body).json()["id"])
        client.post(f"/api/v1/feed/{number}/synchronize", json={"full_sync": True})
        wait_for(lambda: len(client.get(f"/api/v1/feed/{number}/report").json()) >= 2, True, 60.0)
    return number


def ignored(server: Server) -> dict[str, bool]:
    with server.analyst() as client:
        found = client.get("/api/v1/threat_report", params={"rows": 50}).json()["results"]
    return {one["id"]: one["is_ignored"] for one in found}


def test_a_feed_names_what_was_broken_in_it(visiting: Visiting, feed: int) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/feeds/{feed}")
        page.click("details.partial summary")
        assert "999.1.1.1" in page.inner_text("details.partial")
        assert "none" in page.inner_text("main")
        assert page.locator("[data-key=Y]").count() == 1


def test_reports_that_match_are_ignored_as_counted(
    visiting: Visiting, server: Server, feed: int
) -> None:
    assert not any(ignored(server).values())
    with visiting() as visit:
        page = visit.open("/ui/reports?q=title:loader")
        page.keyboard.press("I")
        page.wait_for_selector("#ignore[open]")
        assert "to ignore: 2" in page.inner_text("#ignore")
        assert page.evaluate("document.activeElement.textContent") == "Cancel"
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#undo :text('Reports ignored: 2')")
        assert page.locator("tr[data-row] .chip").count() == 2
    found = ignored(server)
    assert {name for name, is_ignored in found.items() if is_ignored} == {"r0", "r1"}


def test_a_report_has_a_page_with_what_its_indicators_hit(
    visiting: Visiting, server: Server, feeds: FeedServer
) -> None:
    host = "hit-by-report.example"
    records = story(host).records
    with server.sender() as sender, server.analyst() as client:
        assert sender.post("/api/v1/ingest", json=records).is_success
        query = {"q": f"hostname:{host} process_name:powershell.exe"}
        (row,) = client.get("/api/v1/process", params=query).json()["results"]
        report = {
            **{"id": "of-it", "title": "Of it <b>", "score": 60, "timestamp": 1_700_000_000},
            **{"link": "https://example.com/", "iocs": {"md5": [row["process_md5"]]}},
        }
        body = {"feed_url": publish(feeds, report), "enabled": True}
        number = int(client.post("/api/v1/feed", json=body).json()["id"])
        client.post(f"/api/v1/feed/{number}/synchronize", json={"full_sync": True})
        path = f"/api/v1/feed/{number}/report/of-it/matches"
        assert wait_for(lambda: hits(client, path), [(1, 1)], 180.0) == [(1, 1)]
        group, _ = open_group(server, "that sees no hit")
        token = hire(server, "sees-no-hit", {group: Role.VIEWER})
        with server.client(**{"X-Auth-Token": token}) as blind:
            assert blind.get(path).json() == []
    with visiting() as visit:
        page = visit.open("/ui/feeds")
        line = page.locator(f"tr[data-row='{number}']")
        assert "md5 1" in line.locator("[data-label=Indicators]").inner_text()
        assert line.locator("[data-label='Hits (7 days)']").inner_text().split()[0] == "1"
        page = visit.open(f"/ui/feeds/{number}")
        page.click("tbody a")
        page.wait_for_selector("h1:has-text('Of it <b>')")
        first = page.locator("tbody tr").nth(0)
        assert first.locator("[data-label='Matching processes']").inner_text() == "1"
        first.locator("a").click()
        page.wait_for_selector(f"text={host}")


def publish(feeds: FeedServer, report: dict[str, Any]) -> str:
    info = {
        **{"name": "paged", "display_name": "Paged", "provider_url": "https://example.com/"},
        **{"summary": "of a test", "tech_data": "", "version": 1},
    }
    document = {"feedinfo": info, "reports": [report]}
    return feeds.publish("/paged.json", json.dumps(document).encode())


def hits(client: httpx.Client, path: str) -> list[tuple[int, int]]:
    answer = client.get(path)
    found = answer.json() if answer.is_success else []
    return [(one["segments"], one["hosts"]) for one in found]


def test_a_feed_makes_alerts_once_they_are_switched_on_and_can_be_changed(
    visiting: Visiting, server: Server, feed: int
) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/feeds/{feed}")
        assert page.inner_text("[data-kind=alert] td:nth-child(2)") == "disabled"
        page.click("[data-kind=alert] button")
        page.wait_for_selector("[data-kind=alert] .good-text")
        page.fill("main [name=display_name]", "By another name")
        page.fill("main [name=password]", "secret of a feed")
        with page.expect_navigation():
            page.keyboard.press("Control+Enter")
        page.wait_for_selector("h1 >> text=By another name")
        assert "stored; changing the host" in page.inner_text("main form")
        assert "secret of a feed" not in page.content()
    with server.analyst() as client:
        kinds = client.get(f"/api/v1/feed/{feed}/action_type").json()
        assert {one["action_type"] for one in kinds if one["enabled"]} == {"alert"}
        assert client.get(f"/api/v1/feed/{feed}").json()["has_password"] is True


def test_a_form_says_its_call_before_it_is_sent_and_no_password(
    visiting: Visiting, server: Server, feed: int
) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/feeds/{feed}")
        page.fill("main [name=display_name]", "It's another")
        page.fill("main [name=password]", "secret of a feed")
        page.click("main form .as-call summary")
        until(page, "document.querySelector('main .as-call textarea').value !== ''")
        call = page.input_value("main .as-call textarea")
        assert "-X PUT " in call
        assert f"/api/v1/feed/{feed}" in call
        assert "secret of a feed" not in call
        assert "It'\\''s another" in call


def test_who_may_not_change_a_feed_sees_who_may(
    visiting: Visiting, server: Server, feed: int
) -> None:
    headers = {"X-Auth-Token": hire(server, "feed-reader", {1: Role.VIEWER})}
    with visiting(cookie=None, extra_http_headers=headers) as visit:
        page = visit.open(f"/ui/feeds/{feed}")
        assert page.locator("main form").count() == 0
        for one in page.locator("[data-kind] button, .toolbar button").all():
            assert one.get_attribute("aria-disabled") == "true"
            assert "Requires" in (one.get_attribute("title") or "")


def test_a_feed_is_deleted_with_its_reports(visiting: Visiting, server: Server, feed: int) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/feeds/{feed}")
        page.click("main form .danger")
        assert page.evaluate("document.activeElement.textContent") == "Cancel"
        page.keyboard.press("Control+Enter")
        page.wait_for_url("**/ui/feeds")
    with server.analyst() as client:
        assert client.get(f"/api/v1/feed/{feed}").status_code == 404
