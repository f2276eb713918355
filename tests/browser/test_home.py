"""The home page: tiles lead to what they count, and charts say the same as their table."""

import json

from sqlalchemy import update

from tests.browser.conftest import SHARED, Visiting
from tests.support.one_of_each import HOST
from tests.support.served import Server, hire, open_group, state_of
from tests.support.sysmon import story
from vedette.model.principal import Role
from vedette.state.db.schema import SENSOR

pytestmark = SHARED

TILES = (
    "alerts",
    "over-time",
    "rules",
    "hosts",
    "starts",
    "sensors",
    "storage",
    "changes",
    "health",
)


def test_every_tile_is_read_and_its_key_leads_to_what_it_counts(visiting: Visiting) -> None:
    with visiting() as visit:
        for number, tile in enumerate(TILES, 1):
            page = visit.open("/ui/")
            page.wait_for_selector(f".tile-{tile} h2 a")
            target = page.get_attribute(f".tile-{tile} h2 a", "href")
            page.keyboard.press(str(number))
            page.wait_for_url(f"{visit.url}{target.partition('?')[0]}**")


def test_the_chart_of_alerts_says_the_same_as_its_table(visiting: Visiting, server: Server) -> None:
    with server.analyst() as client:
        query = {"q": "created_time:[-24h TO *]", "rows": 0}
        total = client.get("/api/v2/alert", params=query).json()["total_results"]
    with visiting() as visit:
        page = visit.open("/ui/")
        page.wait_for_selector(".tile-over-time summary")
        page.click(".tile-over-time summary")
        cells = page.locator(".tile-over-time tbody td.num").all_inner_texts()
        assert sum(map(int, cells)) == total > 0
        drawn = page.locator(".tile-over-time rect").evaluate_all("(all) => all.length")
        assert drawn == sum(cell != "0" for cell in cells)
        page.wait_for_selector(".tile-starts rect", state="attached")


def test_the_charts_show_the_time_that_is_chosen_and_lead_to_it(
    visiting: Visiting, server: Server
) -> None:
    with server.analyst() as client:
        query = {"q": "created_time:[-7d TO *]", "rows": 0}
        total = client.get("/api/v2/alert", params=query).json()["total_results"]
    with visiting() as visit:
        page = visit.open("/ui/")
        page.wait_for_selector(".tile-over-time h2 a")
        page.select_option("#t", "-7d")
        page.click("form.queue-line button")
        page.wait_for_url(f"{visit.url}/ui/?**t=-7d")
        page.wait_for_selector(".tile-over-time figcaption :text('6 h per bar')")
        assert f"{total} detected, last 7 days" in page.inner_text(".tile-over-time header")
        page.wait_for_selector(".tile-starts header :text('last 7 days')")
        for tile in ("over-time", "starts"):
            href = page.get_attribute(f".tile-{tile} h2 a", "href")
            assert "t=-7d" in (href or "")
        page.goto(f"{visit.url}/ui/?t=2026-01-01T00:00:00Z..2026-03-01T00:00:00Z")
        page.wait_for_selector(".tile-over-time figcaption :text('24 h per bar')")
        assert "0 detected" in page.inner_text(".tile-over-time header")


def test_a_time_without_a_beginning_is_refused_with_its_place(server: Server) -> None:
    with server.analyst() as client:
        for text in ("all", "-7x", "..", "-9999d'"):
            answer = client.get("/ui/", params={"t": text})
            assert answer.status_code == 400
            assert "t: " in answer.text


def test_arrows_go_from_tile_to_tile_and_each_has_its_call(visiting: Visiting) -> None:
    script = """async () => {
      const copy = await import(new URL("copy.js",
        document.querySelector("script[type=module]").src));
      return copy.pageCall().path;
    }"""
    with visiting() as visit:
        page = visit.open("/ui/")
        visit.settle()
        page.focus(".tile-alerts h2 a")
        paths = []
        for tile in TILES:
            assert page.evaluate("document.activeElement.closest('.tile').className").endswith(tile)
            paths.append(page.evaluate(script))
            page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.closest('.tile').className").endswith("alerts")
        assert paths[0] == "/api/v2/alert"
        assert paths[5:] == [
            "/api/v1/sensor/statistics",
            "/api/v1/storage/events/partition",
            "/api/v1/audit",
            "/api/v1/health/summary",
        ]


def test_hosts_in_trouble_are_counted_and_listed(visiting: Visiting, server: Server) -> None:
    hosts = ("cut-off.example", "never-cut.example")
    with server.sender() as sender:
        records = [one for host in hosts for one in story(host).records]
        assert sender.post("/api/v1/ingest", json=records).status_code == 200
    with state_of(server) as database, database.writing() as connection:
        wanted = {"is_isolating": True, "network_isolation_enabled": True, "sequence_gaps": 3}
        connection.execute(
            update(SENSOR).where(SENSOR.c.hostname == "cut-off.example").values(wanted)
        )
    with visiting() as visit:
        page = visit.open("/ui/")
        page.wait_for_selector(".tile-sensors a[href*=isolation]")
        assert page.inner_text(".tile-sensors a[href*=isolation]") == "1"
        for trouble in ("isolation", "gaps"):
            page = visit.open("/ui/")
            page.click(f".tile-sensors a[href*={trouble}]")
            page.wait_for_selector("tr[data-row]")
            assert "cut-off" in page.inner_text("tr[data-row]")
            assert page.locator("tr[data-row]").count() == 1
            call = json.loads(page.get_attribute("#call", "data-params"))
            with server.analyst() as client:
                found = client.get("/api/v2/sensor", params=[(n, v) for n, v in call if v]).json()
            assert [one["computer_dns_name"] for one in found["results"]] == ["cut-off.example"]


def test_a_host_with_alerts_has_a_risk(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/")
        page.wait_for_selector(".tile-hosts meter")
        assert HOST in page.inner_text(".tile-hosts")
        assert float(page.get_attribute(".tile-hosts meter", "value")) > 0


def test_who_administers_nothing_has_no_tiles_of_administrators(
    visiting: Visiting, server: Server
) -> None:
    token = hire(server, "home-reader", {1: Role.VIEWER})
    with visiting(cookie=None, extra_http_headers={"X-Auth-Token": token}) as visit:
        page = visit.open("/ui/")
        page.wait_for_selector(".tile-sensors h2 a")
        assert page.locator(".tile-storage, .tile-changes, .tile-health").count() == 0
        assert HOST not in page.inner_text("main")


def test_a_group_has_a_home_page_of_its_own_hosts(visiting: Visiting, server: Server) -> None:
    group, secret = open_group(server, "Of its own")
    with server.client(Authorization=f"Bearer {secret}") as client:
        records = story("own.example").records
        assert client.post("/api/v1/ingest", json=records).status_code == 200
    with visiting() as visit:
        page = visit.open("/ui/")
        page.wait_for_selector(".tile-sensors h2 a")
        page.select_option("[name=group]", str(group))
        page.click("button:text('Show')")
        page.wait_for_url(f"**/ui/?group={group}&**")
        page.wait_for_selector(".tile-sensors h2 a")
        assert "1 total" in page.inner_text(".tile-sensors")
        page.wait_for_selector(".tile-starts h2 a")
        assert page.locator(".tile-storage").count() == 0  # it is of no group
        page.click(".tile-sensors h2 a")
        page.wait_for_selector("tr[data-row]")
        assert page.locator("tr[data-row]").all_inner_texts()[0].count("own.example") == 1
        assert page.locator("tr[data-row]").count() == 1
