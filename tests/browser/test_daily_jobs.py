"""Daily tasks of analysts, engineers and operators, by keyboard, mouse or touch alone, each with a
maximum number of steps. A key, each key of a chord, a click and a touch count; text does not. With
the keyboard, the focus is visible at each step."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import update

from tests.api.test_alerts import RULE, hit
from tests.browser.conftest import IS_AT_LENGTH, Visiting, until
from tests.browser.hands import SEND, WAYS, Hands
from tests.browser.test_accessibility import violations
from tests.support.feed_server import FeedServer, feed_server
from tests.support.forms import one_by_name
from tests.support.sensor import enrol, secret_of
from tests.support.served import Server, blobs_of, open_group, state_of, wait_for
from tests.support.sysmon import story
from tests.support.written_detections import alerted_server
from vedette.model.findings.detection import Detection
from vedette.respond.package_files import add_sensor_package
from vedette.state.db.schema import SENSOR

HOST = "jobs.example"
DAY_US = 86_400_000_000
VERSION = "9.1.0.4"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All are done with keys, and half of them with each of the others; `make browser` has all."""
    name = metafunc.definition.nodeid
    few = ("keyboard", one_by_name(name, ("mouse", "touch")))
    metafunc.parametrize("way", WAYS if IS_AT_LENGTH else few)


@pytest.fixture(scope="module")
def feeds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FeedServer]:
    with feed_server(tmp_path_factory.mktemp("feeds"), tls=False) as found:
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, feeds: FeedServer) -> Iterator[Server]:
    kit = tmp_path_factory.mktemp("kit") / "kit.pyz"
    kit.write_bytes(b"a new sensor")

    def detect(server: Server) -> list[Detection]:
        group, secret = open_group(server, "Jobs")
        with server.client(Authorization=f"Bearer {secret}") as client:
            for name in (HOST, "others-1.example", "others-2.example", "others-3.example"):
                assert client.post("/api/v1/ingest", json=story(name).records).status_code == 200
        with server.client() as client:
            enrol(client, HOST, secret_of(server, group))
            silent = [
                enrol(client, f"silent-{at}.example", secret_of(server, group)) for at in range(3)
            ]
        with state_of(server) as database:
            add_sensor_package(database, blobs_of(server), kit, "linux", VERSION)
            with database.writing() as connection:
                then = time.time_ns() // 1_000 - 3 * DAY_US
                ids = [one.id for one in silent]
                changed = update(SENSOR).where(SENSOR.c.id.in_(ids)).values(last_seen_us=then)
                connection.execute(changed)
        with server.analyst() as client:
            query = {"q": "username:ann", "rows": "50"}
            rows = client.get("/api/v1/process", params=query).json()["results"]
        return [hit(row, RULE, "why it fired") for row in rows]

    data = tmp_path_factory.mktemp("jobs")
    with alerted_server(data, detect, "--set", "egress_allow=127.0.0.1") as server:
        yield server


def shell_of(server: Server, route: str) -> dict[str, Any]:
    """The process or the alert of the host's PowerShell."""
    with server.analyst() as client:
        query = {"q": f"hostname:{HOST} process_name:powershell.exe", "rows": 1}
        answer = client.get(route, params=query)
        assert answer.is_success, answer.text
    (found,) = answer.json()["results"]
    return dict(found)


def open_alerts(server: Server) -> int:
    with server.analyst() as client:
        query = {"q": '-status:Resolved -status:"False Positive"', "rows": 0}
        return int(client.get("/api/v2/alert", params=query).json()["total_results"])


def test_one_alert_is_triaged_in_four_steps_and_the_next_in_two(
    visiting: Visiting, server: Server, way: str
) -> None:
    before = open_alerts(server)
    with visiting(**WAYS[way]) as visit:
        hands = Hands(visit.open("/ui/"), way)
        hands.does("g a", ".nav a[href='/ui/alerts']")
        hands.sees("#flyout .lineage")
        hands.does("r", "[data-triage=Resolved]")
        hands.sees("#triage[open] [data-submit]:enabled")
        hands.write("seen before")
        hands.does("Control+Enter", SEND)
        hands.sees("#undo [data-undo]")
        assert hands.steps <= 4
        hands.sees("tr.open[data-row]")
        hands.holds_focus()
        hands.does("f", "[data-triage='False Positive']")
        hands.sees("#triage[open] [data-submit]:enabled")
        hands.does("Control+Enter", SEND)
        hands.sees("#undo > div:nth-child(2)")
        assert hands.steps <= 6
    assert open_alerts(server) == before - 2


def test_alike_alerts_are_closed_in_five_steps_exactly_as_counted(
    visiting: Visiting, server: Server, way: str
) -> None:
    before = open_alerts(server)
    with visiting(**WAYS[way]) as visit:
        page = visit.open("/ui/")
        hands = Hands(page, way)
        hands.does("g a", ".nav a[href='/ui/alerts']")
        hands.sees("#flyout .lineage")
        hands.does("X", "tr.group input")
        hands.does("f", "[data-triage='False Positive']")
        hands.sees("#triage[open] [data-submit]:enabled")
        assert f"{before} alerts" in page.inner_text("#triage-title")
        hands.write("all alike")
        hands.does("Control+Enter", SEND)
        hands.sees("text=Queue is clear")
        assert hands.steps <= 5
    assert open_alerts(server) == 0
    with server.analyst() as client:
        body = {"query": "q=", "requested_status": "Unresolved", "allow_all": True}
        assert client.post("/api/v1/alerts", json=body).is_success


def test_a_root_cause_is_a_step_from_the_alert_and_one_a_generation(
    visiting: Visiting, server: Server, way: str
) -> None:
    with server.analyst() as client:
        query = {"q": "process_name:whoami.exe", "rows": 1}
        found = client.get("/api/v2/alert", params=query).json()["results"]
    with visiting(**WAYS[way]) as visit:
        page = visit.open(f"/ui/alerts?q=unique_id:{found[0]['unique_id']}")
        hands = Hands(page, way)
        hands.sees("#flyout .lineage")
        hands.does("t", "#flyout [data-key=t]")
        hands.sees("[data-loaded]")
        name = page.inner_text("h1")
        hands.does("Shift+ArrowUp", ".toolbar [data-key=P]")
        until(page, "(name) => document.querySelector('h1').innerText !== name", name)
        hands.sees("[data-loaded]")
        assert hands.steps == 2


def test_a_hunt_is_three_steps_and_one_a_refinement(visiting: Visiting, way: str) -> None:
    with visiting(**WAYS[way]) as visit:
        page = visit.open("/ui/")
        hands = Hands(page, way)
        hands.does("g p", ".nav a[href='/ui/process']")
        hands.sees("html[data-ready]")
        page.wait_for_url("**/ui/process")
        hands.sees("textarea:focus")
        hands.write(f"hostname:{HOST}")
        hands.does("Enter", "#search .primary")
        page.wait_for_url("**q=hostname**")
        visit.settle()
        assert hands.steps <= 3
        total = page.locator("tr[data-row]").count()
        hands.does("-", ".facet [data-narrow=exclude]")
        page.wait_for_url("**-process_name**")
        visit.settle()
        assert page.locator("tr[data-row]").count() < total
        hands.does("r", ".facet [data-rare]")
        hands.sees("[data-rare][aria-pressed=true]")
        assert hands.steps <= 5
        hands.holds_focus()


def test_an_indicator_is_scoped_in_two_steps(visiting: Visiting, server: Server, way: str) -> None:
    row = shell_of(server, "/api/v1/process")
    with visiting(**WAYS[way]) as visit:
        page = visit.open("/ui/")
        hands = Hands(page, way)
        hands.does("Control+k", "[data-action=omnibox]")
        page.keyboard.insert_text(row["process_md5"])
        hands.sees("#omnibox nav a")
        shown = page.inner_text("#omnibox")
        assert HOST in shown
        assert "Seen" in shown
        hands.does("Enter", "#omnibox nav a")
        until(page, "location.pathname !== '/ui/'")
        assert hands.steps <= 2


def test_a_host_is_isolated_and_its_program_banned_in_four_steps(
    visiting: Visiting, server: Server, way: str
) -> None:
    with server.analyst() as client:
        (host,) = client.get("/api/v1/sensor", params={"hostname": HOST}).json()
        body = {"network_isolation_enabled": False}
        assert client.put(f"/api/v1/sensor/{host['id']}", json=body).is_success
    alert = shell_of(server, "/api/v2/alert")
    with visiting(**WAYS[way]) as visit:
        page = visit.open(f"/ui/alerts?q=unique_id:{alert['unique_id']}")
        hands = Hands(page, way)
        hands.sees("#flyout .lineage")
        hands.does("i", "#flyout [data-dialog=isolate]")
        hands.sees("#isolate[open] [data-save]:enabled")
        hands.write("a reason")
        hands.does("Control+Enter", SEND)
        hands.sees("#isolate:not([open])", state="attached")
        hands.does("b", "#flyout [data-dialog=ban]")
        hands.sees("#ban[open] [data-save]:enabled")
        hands.does("Control+Enter", SEND)
        assert hands.steps == 4
        hands.sees("#ban:not([open])", state="attached")
    with server.analyst() as client:
        held = client.get(f"/api/v1/sensor/{host['id']}").json()
        assert held["network_isolation_enabled"]
        assert held["isolation_reason"] == "a reason"
        bans = client.get("/api/v1/banning/blacklist").json()
        assert alert["md5"] in {one["md5hash"] for one in bans}
        client.delete(f"/api/v1/banning/blacklist/{alert['md5']}")


def test_a_search_becomes_a_watchlist_in_two_steps(
    visiting: Visiting, server: Server, way: str
) -> None:
    name = f"Shells by {way}"
    with visiting(**WAYS[way]) as visit:
        page = visit.open("/ui/process?t=all&q=process_name:whoami.exe")
        hands = Hands(page, way)
        visit.settle()
        hands.does("w", "#results [data-key=w]")
        page.wait_for_url("**/ui/watchlists/new**")
        hands.sees("[data-result] table")
        hands.write(name)
        hands.does("Control+Enter", "form .primary")
        page.wait_for_url("**/ui/watchlists")
        assert hands.steps == 2
    with server.analyst() as client:
        made = [one for one in client.get("/api/v1/watchlist").json() if one["name"] == name]
    assert "process_name" in made[0]["search_query"]


def publish(feeds: FeedServer, name: str) -> str:
    """A feed of one report; its address."""
    report = {
        **{"id": "r1", "title": "A report", "score": 50, "timestamp": 1_700_000_000},
        **{"link": "https://example.com/", "iocs": {"dns": ["evil.example"], "md5": ["0" * 32]}},
    }
    info = {
        **{"name": name, "display_name": f"Feed {name}", "provider_url": "https://example.com/"},
        **{"summary": "of a test", "tech_data": "", "version": 1},
    }
    document = json.dumps({"feedinfo": info, "reports": [report]}).encode()
    return feeds.publish(f"/{name}.json", document)


def has_a_report(server: Server, feed_id: int) -> bool:
    with server.analyst() as client:
        return bool(client.get(f"/api/v1/feed/{feed_id}/report").json())


def test_a_feed_is_tried_then_added_in_five_steps_and_a_report_ignored_in_one(
    visiting: Visiting, server: Server, feeds: FeedServer, way: str
) -> None:
    name = f"jobs{way}"
    url = publish(feeds, name)
    with visiting(**WAYS[way]) as visit:
        page = visit.open("/ui/")
        hands = Hands(page, way)
        hands.does("g f", ".nav a[href='/ui/feeds']")
        page.wait_for_url("**/ui/feeds")
        hands.sees("html[data-ready]")
        hands.does("n", "[data-dialog=add]")
        hands.sees("#add[open]")
        hands.write(url)
        hands.does("Control+Enter", SEND)
        hands.sees("#add [data-tried] b")
        assert "1 report" in page.inner_text("[data-tried]")
        with server.analyst() as client:
            assert name not in {one["name"] for one in client.get("/api/v1/feed").json()}
        hands.does("Control+Enter", SEND)
        hands.sees(f"table >> text=Feed {name}")
        assert hands.steps <= 5
        with server.analyst() as client:
            made = next(one for one in client.get("/api/v1/feed").json() if one["name"] == name)
            client.post(f"/api/v1/feed/{made['id']}/synchronize", json={"full_sync": True})
        wait_for(lambda: has_a_report(server, made["id"]), True, 60.0)
        hands = Hands(visit.open(f"/ui/feeds/{made['id']}"), way)
        hands.does("u", "[data-key=u]")
        hands.sees("#undo [data-undo]")
        assert hands.steps == 1
        assert violations(visit.page) == []


def test_silent_sensors_are_found_and_updated_in_five_steps(
    visiting: Visiting, server: Server, way: str
) -> None:
    with visiting(**WAYS[way]) as visit:
        page = visit.open("/ui/")
        hands = Hands(page, way)
        hands.sees(".tile-sensors h2 a")
        hands.does("6", ".tile-sensors h2 a")
        page.wait_for_url("**/ui/sensors?silent=1")
        hands.sees("html[data-ready]")
        assert page.locator("tr[data-row]").count() == 3
        for _ in range(2):
            hands.does("Control+a", "[data-select-all]")
        assert "all 3 matches" in page.inner_text("[data-chosen]")
        hands.does("W", "[data-deed=update]")
        hands.sees("#fleet[open] [data-submit]:enabled")
        hands.write("an old version")
        assert "3 hosts" in page.inner_text("#fleet-title")
        hands.does("Control+Enter", SEND)
        page.wait_for_url("**/ui/jobs/*")
        assert hands.steps <= 5
        assert page.locator("tr[data-row]").count() == 3
        assert violations(page) == []


def test_volume_is_cut_in_two_steps_with_what_goes_blind_ticked(
    visiting: Visiting, server: Server, way: str
) -> None:
    row = shell_of(server, "/api/v1/process")
    with visiting(**WAYS[way]) as visit:
        page = visit.open(f"/ui/process/{row['id']}")
        hands = Hands(page, way)
        hands.sees("[data-loaded]")
        hands.does("F", ".toolbar [data-key=F]")
        page.wait_for_url("**/ui/filters?program=**")
        hands.sees("#filter[open] [data-check] dl")
        blind = page.locator("#filter [data-check] input").count()
        assert page.locator("#filter [data-save]").is_disabled() is (blind > 0)
        for at in range(blind):
            box = page.locator("#filter [data-check] input").nth(at)
            box.focus()
            hands.does("Space", f"#filter [data-check] label:nth-of-type({at + 1}) input")
        hands.does("Control+Enter", SEND)
        page.wait_for_url("**/ui/filters")
        hands.sees("table tr[data-row]")
        assert hands.steps <= 2 + blind
    with server.analyst() as client:
        for one in client.get("/api/v1/ingress_approvedlist").json():
            assert client.delete(f"/api/v1/ingress_approvedlist/{one['id']}").is_success
