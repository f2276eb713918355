"""Pages about one object: the rights of a user, the integrity of the log, the completeness of a
host, the objects that affect a group."""

import re
from typing import Any

from sqlalchemy import select, update

from tests.browser.conftest import SHARED, Visiting
from tests.support.served import Server, hire, open_group, state_of, wait_for
from tests.support.sysmon import story
from vedette.model.principal import Role
from vedette.state.db.schema_audit import AUDIT

pytestmark = SHARED


def test_what_a_user_may_see_is_beside_the_list(visiting: Visiting, server: Server) -> None:
    hire(server, "looked-at", {1: Role.VIEWER})
    with visiting() as visit:
        page = visit.open("/ui/access")
        page.click("tr[aria-label=looked-at] td >> nth=0")
        page.wait_for_selector("#flyout h3")
        assert "Viewer" in page.inner_text("#flyout")
        assert "Default Group" in page.inner_text("#flyout")
        assert re.search(r"Can access \d+ of \d+ hosts", page.inner_text("#flyout"))


def test_the_log_is_verified_on_its_page_and_a_change_is_found(
    visiting: Visiting, server: Server
) -> None:
    with visiting() as visit:
        page = visit.open("/ui/audit")
        page.keyboard.press("v")
        page.wait_for_selector("#chain .good-text")
        assert "Verified through entry" in page.inner_text("#chain")
        with state_of(server) as database, database.writing() as connection:
            author = connection.scalar(select(AUDIT.c.author).where(AUDIT.c.number == 2))
            connection.execute(update(AUDIT).where(AUDIT.c.number == 2).values(author="nobody"))
        page.keyboard.press("v")
        page.wait_for_selector("#chain .broken")
        assert "entry 2 or an earlier entry was changed" in page.inner_text("#chain")
        with state_of(server) as database, database.writing() as connection:
            connection.execute(update(AUDIT).where(AUDIT.c.number == 2).values(author=author))
        page.keyboard.press("v")
        page.wait_for_selector("#chain .good-text")


def test_a_host_says_what_is_complete_by_channel_and_by_the_hour(
    visiting: Visiting, server: Server
) -> None:
    host = "complete.example"
    with server.sender() as sender:
        assert sender.post("/api/v1/ingest", json=story(host).records).is_success
    with server.analyst() as client:
        params = {"hostname": host}
        number = client.get("/api/v2/sensor", params=params).json()["results"][0]["id"]
        asked = client.get("/api/v1/completeness", params={"from": "-24h", "sensor_id": number})
        (report,) = asked.json()["sensors"]
    with visiting() as visit:
        page = visit.open(f"/ui/sensors/{number}")
        visit.settle()
        panel = page.locator("section.panel:has(h2:text('Completeness'))")
        assert report["verdict"] in panel.inner_text()
        received = sum(one["received"] for one in report["channels"])
        if received:
            panel.locator("summary").click()
            page.wait_for_selector("details[open] td.time")
            cells = panel.locator("details td[data-label=Received]").all_inner_texts()
            assert len(cells) >= 24
            assert sum(map(int, cells)) == received
        assert "Allowed connections" in page.inner_text("main")


def test_a_setting_that_is_not_the_usual_is_shown_beside_it(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/settings")
        row = page.locator("tr[data-row=data]")
        assert row.locator("b").count() == 1
        assert row.locator("td").nth(2).inner_text() == "vedette-data"
        assert page.locator("tr[data-row=log_level] b, tr[data-row=tls_ciphers] b").count() == 0


def test_a_group_names_what_touches_its_hosts(visiting: Visiting, server: Server) -> None:
    with server.analyst() as client:
        body = {"id": "touches", "name": "Touches", "path_filters": ["*x.exe"], "enabled": False}
        assert client.post("/api/v1/ingress_approvedlist", json={**body, "global": True}).is_success
    with visiting() as visit:
        page = visit.open("/ui/groups/1")
        assert "Touches (disabled)" in page.inner_text("main")


def test_a_clear_queue_says_when_the_last_alert_was_made(server: Server) -> None:
    group, sends = open_group(server, "Clear queue")
    with server.client(Authorization=f"Bearer {sends}") as sender:
        assert sender.post("/api/v1/ingest", json=story("clear.example").records[:1]).is_success
    texts = {}
    for name, roles in (("sees-a-host", {group: Role.VIEWER}), ("sees-nothing", {})):
        with server.client(**{"X-Auth-Token": hire(server, name, roles)}) as client:
            texts[name] = client.get("/ui/alerts").text
        assert "detection is" not in texts[name]  # a figure over all hosts
    assert "Queue is clear" in texts["sees-a-host"]
    assert "No alerts so far." in texts["sees-a-host"]
    assert "No host in your sensor groups has sent data" in texts["sees-nothing"]


def test_an_alert_is_copied_as_text_for_a_ticket(visiting: Visiting) -> None:
    with visiting(permissions=["clipboard-read", "clipboard-write"]) as visit:
        page = visit.open("/ui/alerts?q=")
        page.wait_for_selector("#flyout h3")
        visit.settle()
        page.keyboard.press("y")
        page.wait_for_selector("#menu:not([hidden])")
        page.keyboard.press("t")
        page.wait_for_selector("#undo :text('Text copied')")
        text = page.evaluate("navigator.clipboard.readText()")
        assert text == page.inner_text("#flyout")


def test_watchlists_say_what_they_do_and_are_deleted_by_name(
    visiting: Visiting, server: Server
) -> None:
    host, name = "watched.example", "a.b (c) <b>"
    with server.analyst() as client, server.sender() as sender:
        body = {"name": name, "search_query": f"q=hostname:{host}", "index_type": "events"}
        number = client.post("/api/v1/watchlist", json=body).json()["id"]
        actions = f"/api/v1/watchlist/{number}/action_type"
        for action in ("alert", "syslog", "email"):
            assert client.put(f"{actions}/{action}", json={"enabled": True}).is_success, action
        assert sender.post("/api/v1/ingest", json=story(host).records).is_success
        query = {"q": f"watchlist_id:{number}", "rows": 100}

        assert wait_for(lambda: bool(found_in(server, query)), True, 60.0)
        first = found_in(server, query)[0]["unique_id"]
        change = {"status": "False Positive"}
        assert client.post(f"/api/v1/alert/{first}", json=change).is_success
        url = f"/api/v1/watchlist/{number}"
        assert wait_for(lambda: int(client.get(url).json()["total_hits"]) > 0, True, 60.0)
    with visiting() as visit:
        page = visit.open("/ui/watchlists")
        row = page.locator(f"tr[data-row='{number}']")
        count = str(len(found_in(server, query)))
        assert row.locator("[data-label='Alerts (7 days)']").inner_text().split()[0] == count
        assert row.locator("[data-label='False positives']").inner_text() == "100%"
        assert row.locator("[data-label=Actions]").inner_text().split() == ["alert", "syslog"]
        assert row.locator("[data-label=Owner]").inner_text() not in {"", "–"}
        assert row.locator("[data-label='Hits (7 days)']").inner_text().split()[0] != "0"
        shown = visit.open(f"/ui/watchlists/{number}")
        kinds = shown.locator("tr[data-kind]")
        assert kinds.count() == 4
        kinds.locator("button[aria-label='Test: Syslog']").click()
        shown.wait_for_selector("text=Test message sent")
        page = visit.open("/ui/watchlists")
        page.focus(f"tr[data-row='{number}']")
        page.keyboard.press("D")
        page.wait_for_selector("#deletion[open] [data-known]")
        page.fill("#deletion input", "axb (c) <b>")
        page.keyboard.press("Control+Enter")
        assert not page.eval_on_selector("#deletion input", "one => one.validity.valid")
        with server.analyst() as client:
            assert client.get(f"/api/v1/watchlist/{number}").is_success
        page.fill("#deletion input", name)
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#undo :text('Deleted')")
        with server.analyst() as client:
            assert client.get(f"/api/v1/watchlist/{number}").status_code == 404


def test_a_value_that_makes_noise_is_left_out_with_a_press(
    visiting: Visiting, server: Server
) -> None:
    host = "noisy.example"
    with server.sender() as sender:
        assert sender.post("/api/v1/ingest", json=story(host).records).is_success
    with visiting() as visit:
        page = visit.open(f"/ui/watchlists/new?q=hostname:{host}")
        page.wait_for_selector("h3:text('Exclude')")
        before = page.inner_text("[data-result] .figures b")
        page.click("[data-result] button >> nth=0")
        wait_for(lambda: page.inner_text("[data-result] .figures b") != before, True, 60.0)
        assert f"hostname:{host} -" in page.input_value("[name=search_query]")


def found_in(server: Server, query: dict[str, Any]) -> list[dict[str, Any]]:
    with server.analyst() as client:
        return list(client.get("/api/v2/alert", params=query).json()["results"])
