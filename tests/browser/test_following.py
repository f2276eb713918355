"""Open pages follow the state of the server until it is settled, without a reload and in every tab:
also where somebody else, a sensor or a background job changed the state."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.browser.conftest import SHARED, Visiting, evaluated, until
from tests.support.sensor import PlayedSensor, enrol, secret_of
from tests.support.served import Server

pytestmark = SHARED
PHASE = "document.querySelector('[aria-current=step]')?.textContent.trim()"
STAYS = "window.stayed === true"
"""Whether the page is the one that the test has marked: it was not loaded again."""


FEED = {
    "feedinfo": {
        "name": "followed",
        "display_name": "Followed",
        "provider_url": "https://feed.example",
        "summary": "of a test",
        "tech_data": "",
    },
    "reports": [
        {
            "id": "r1",
            "title": "a followed report",
            "link": "https://feed.example/r1",
            "timestamp": 1_790_000_000,
            "score": 50,
            "iocs": {"md5": ["ab" * 16]},
        }
    ],
}
NO_TIMER = """() => {
  const clock = setTimeout;
  window.setTimeout = (act, ms) => (ms > 14000 ? 0 : clock(act, ms));
}"""
"""Script that stops the automatic requests of a page without pending changes."""
HIDE = """(is) => {
  Object.defineProperty(document, "hidden", { get: () => is, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


@pytest.fixture
def sensor(server: Server, request: pytest.FixtureRequest) -> Iterator[PlayedSensor]:
    name = request.node.name.replace("_", "-")[5:60]
    with server.client() as client:
        played = enrol(client, f"{name}.example", secret_of(server))
        played.obey()
        yield played
        order(server, played, network_isolation_enabled=False)
        for _ in range(2):
            played.obey()


def order(server: Server, sensor: PlayedSensor, **members: Any) -> None:
    with server.analyst() as client:
        assert client.put(f"/api/v1/sensor/{sensor.id}", json=members).status_code == 204


def marked(page: Any) -> Any:
    page.evaluate("window.stayed = true")
    return page


@contextmanager
def counted(page: Any, part: str) -> Iterator[list[str]]:
    """The requests of a page whose address has a part."""
    asked: list[str] = []

    def note(request: Any) -> None:
        if part in request.url:
            asked.append(request.url)

    page.on("request", note)
    yield asked
    page.remove_listener("request", note)


def test_a_host_page_follows_its_isolation_and_its_release_in_every_tab(
    visiting: Visiting, server: Server, sensor: PlayedSensor
) -> None:
    with visiting() as one, visiting() as other:
        pages = [marked(visit.open(f"/ui/sensors/{sensor.id}")) for visit in (one, other)]
        page = pages[0]
        page.keyboard.press("i")
        page.wait_for_selector("#isolate[open] [data-known]")
        page.keyboard.type("a worm")
        page.keyboard.press("Control+Enter")
        for phase in ("isolation pending", "isolated"):
            for each in pages:
                until(each, f"{PHASE}?.startsWith('{phase}')")
                assert "a worm" in each.inner_text("main")
            sensor.obey()
            sensor.obey()
        page.keyboard.press("l")
        page.wait_for_selector("#release[open]")
        page.keyboard.type("cleaned")
        page.keyboard.press("Control+Enter")
        for phase in ("release pending", "not isolated"):
            for each in pages:
                until(each, f"{PHASE} === '{phase}'")
            sensor.obey()
            sensor.obey()
        for each in pages:
            until(each, "!document.querySelector('[data-dialog=release]')")
            assert evaluated(each, STAYS)


def test_another_tab_of_the_browser_hears_of_an_order_at_once(
    visiting: Visiting, server: Server, sensor: PlayedSensor
) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/sensors/{sensor.id}")
        tab = page.context.new_page()
        tab.goto(page.url)
        tab.wait_for_selector("html[data-ready]")
        until(tab, "Boolean(document.querySelector('.count-badge'))")  # it was answered once
        tab.evaluate(NO_TIMER)
        tab.evaluate(
            "document.dispatchEvent(new Event('unanswered'))"
        )  # it asks, and plans nothing
        visit.settle()
        with counted(tab, "/api/v1/pulse") as asked:
            page.keyboard.press("R")
            page.wait_for_selector("#restart[open]")
            page.keyboard.type("it hangs")
            page.keyboard.press("Control+Enter")
            until(tab, "document.querySelector('main').innerText.includes('restart')")
            assert asked
        tab.close()


def test_the_list_of_hosts_follows_each_of_them(
    visiting: Visiting, server: Server, sensor: PlayedSensor
) -> None:
    with visiting() as visit:
        page = marked(visit.open(f"/ui/sensors?q={sensor.hostname}"))
        page.keyboard.press("x")
        order(server, sensor, network_isolation_enabled=True)
        until(
            page, "document.querySelector('tr[data-row]').innerText.includes('isolation pending')"
        )
        sensor.obey()
        sensor.obey()
        until(page, "document.querySelector('tr[data-row]').innerText.includes('isolated')")
        assert page.locator("tr[aria-selected=true]").count() == 1
        assert evaluated(page, "document.activeElement.matches('tr[data-row][tabindex=\"0\"]')")
        assert evaluated(page, STAYS)


def test_an_alert_beside_the_queue_shows_the_isolation_of_its_host_and_its_status(
    visiting: Visiting, server: Server, known: dict[str, str]
) -> None:
    with server.analyst() as client:
        alert = client.get("/api/v2/alert", params={"rows": 1}).json()["results"][0]
        with visiting() as visit:
            page = marked(visit.open(f"/ui/alerts?q=unique_id:{alert['unique_id']}"))
            page.wait_for_selector("#flyout [data-follow^='alert:']")
            before = page.inner_text("#flyout [data-follow^='alert:']")
            client.post(f"/api/v1/alert/{alert['unique_id']}", json={"assigned_to": "somebody"})
            until(page, "document.getElementById('flyout').innerText.includes('somebody')")
            assert "somebody" not in before
            assert evaluated(page, STAYS)


def test_a_settled_page_asks_seldom_and_a_hidden_one_not_at_all(
    visiting: Visiting, server: Server, sensor: PlayedSensor
) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/sensors/{sensor.id}")
        until(page, "Boolean(document.querySelector('.count-badge'))")
        with counted(page, "/api/v1/pulse") as asked:
            page.wait_for_timeout(6_000)
            assert len(asked) <= 1  # every 15 seconds
        page.evaluate(HIDE, True)
        order(server, sensor, network_isolation_enabled=True)
        with counted(page, "/api/v1/pulse") as asked:
            page.wait_for_timeout(17_000)
            assert len(asked) <= 1  # that was under way
        page.evaluate(HIDE, False)
        until(page, f"{PHASE}?.startsWith('isolation pending')")


def test_an_element_that_could_not_be_read_is_read_with_the_next_answer(
    visiting: Visiting, server: Server, sensor: PlayedSensor
) -> None:
    with visiting() as visit:
        visit.expected += ["500", "Failed to load"]
        page = visit.open(f"/ui/sensors/{sensor.id}")
        failed: list[str] = []

        def fail_twice(route: Any) -> None:
            if len(failed) < 2:
                failed.append(route.request.url)
                route.fulfill(status=500, body="<p>broken</p>", content_type="text/html")
            else:
                route.continue_()

        page.route(f"**/ui/sensors/{sensor.id}", fail_twice)
        order(server, sensor, network_isolation_enabled=True)
        until(page, f"{PHASE}?.startsWith('isolation pending')", timeout_s=60)
        assert len(failed) == 2
        assert page.locator("main .error, main :text('broken')").count() == 0


def test_a_page_says_that_what_it_shows_is_gone(visiting: Visiting, server: Server) -> None:
    with server.analyst() as client:
        body = {"name": "gone soon", "search_query": "q=process_name:x", "index_type": "events"}
        number = client.post("/api/v1/watchlist", json=body).json()["id"]
        with visiting() as visit:
            visit.expected += ["404"]
            page = visit.open(f"/ui/watchlists/{number}")
            client.delete(f"/api/v1/watchlist/{number}")
            page.wait_for_selector("#undo :text('no longer visible')")


def test_followed_elements_have_ids_of_their_own(
    visiting: Visiting, server: Server, known: dict[str, str]
) -> None:
    """Else one would be read in place of another."""
    paths = [
        "/ui/sensors",
        "/ui/alerts",
        "/ui/jobs",
        "/ui/feeds",
        "/ui/watchlists",
        "/ui/filters",
        "/ui/bans",
        "/ui/sigma",
        "/ui/data?tab=messages",
        f"/ui/sensors/{known['sensor']}",
    ]
    with visiting() as visit:
        for path in paths:
            page = visit.open(path)
            visit.settle()
            ids = page.evaluate(
                "[...document.querySelectorAll('[data-follow]')].map((one) => one.id)"
            )
            assert len(ids) == len(set(ids)), path
            assert all(ids), path


def test_a_feed_page_follows_its_reading(visiting: Visiting, server: Server) -> None:
    document = server.data / "feeds" / "followed.json"
    document.parent.mkdir(exist_ok=True)
    document.write_text(json.dumps(FEED))
    with server.analyst() as client:
        made = client.post("/api/v1/feed", json={"feed_url": document.as_uri(), "enabled": True})
        assert made.is_success, made.text
        with visiting() as visit:
            page = marked(visit.open(f"/ui/feeds/{made.json()['id']}"))
            page.wait_for_selector("main :text('a followed report')")
            document.write_text("{broken")
            page.keyboard.press("Y")
            page.wait_for_selector("main .bar.broken")
            document.write_text(json.dumps(FEED))
            page.keyboard.press("Y")
            until(page, "!document.querySelector('main .bar.broken')")
            assert evaluated(page, STAYS)
        client.delete(f"/api/v1/feed/{made.json()['id']}")


def test_a_switch_follows_what_somebody_else_did(
    visiting: Visiting, server: Server, known: dict[str, str]
) -> None:
    """Else the button would do what was done already."""
    places = {
        f"/ui/bans/{known['ban']}": f"/api/v1/banning/bannedlist/{known['ban']}",
        "/ui/watchlists": f"/api/v1/watchlist/{known['watchlist']}",
        f"/ui/filters/{known['filter']}": f"/api/v1/ingress_approvedlist/{known['filter']}",
        f"/ui/sigma/{known['rule']}": f"/api/v1/sigma/{known['rule']}",
    }
    with server.analyst() as client, visiting() as visit:
        for path, call in places.items():
            page = marked(visit.open(path))
            row = f"tr[data-row='{known['watchlist']}'] " if path == "/ui/watchlists" else ""
            button = f"{row}[data-key=e]"
            was = page.inner_text(button).split("\n")[0].strip()
            is_on = was in ("Unban", "Disable")
            assert client.put(call, json={"enabled": not is_on}).is_success, path
            until(page, f"!document.querySelector(\"{button}\").innerText.includes('{was}')")
            assert evaluated(page, STAYS), path
            assert client.put(call, json={"enabled": is_on}).is_success
