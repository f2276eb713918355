"""The console announces the data and rights that a change removes, and the change then does exactly
that."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.api.test_sigma_rules import rule
from tests.browser.conftest import Visiting
from tests.support.sensor import PlayedSensor, enrol, event, secret_of, sending_group
from tests.support.served import Server, hire, start_server, wait_for
from tests.support.sysmon import story
from vedette.clock import SystemClock
from vedette.model.principal import Role
from vedette.record.objects.sensor_group import IsolationExclusion
from vedette.state.policy.groups import DEFAULT_GROUP_ID

HOST = "goes.example"
NEXT = "stays.example"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    flags = ("trusted_proxies=127.0.0.0/8", "isolation_allow=192.0.2.53:53")
    words = [word for one in flags for word in ("--set", one)]
    yield from start_server(tmp_path_factory.mktemp("consequences"), *words)


def counted(page: Any, name: str) -> int:
    """A count that a dialog shows, as a number."""
    return int(re.sub(r"\D", "", page.inner_text(f"dialog[open] [data-goes={name}]")))


def total(client: httpx.Client, path: str, query: str = "") -> int:
    found = client.get(path, params={"q": query, "rows": 0}).json()
    return int(found["total_results"])


def without_a_process(client: httpx.Client) -> int:
    """Alerts whose process can be looked at no more."""
    alerts = client.get("/api/v2/alert", params={"rows": 100}).json()["results"]
    pages = [client.get(f"/api/v1/process/{one['process_id']}/0") for one in alerts]
    return sum(one.status_code == 404 for one in pages)


def test_a_deleted_partition_takes_away_what_was_shown(visiting: Visiting, server: Server) -> None:
    root = "/api/v1/storage/events"
    with server.analyst() as client, server.sender() as sender:
        for number, name in enumerate((HOST, NEXT), 1):
            assert client.post("/api/v1/sigma", json={"text": rule(number, name)}).is_success
            assert sender.post("/api/v1/ingest", json=story(name).records).is_success
            assert wait_for(lambda: total(client, "/api/v2/alert"), number) == number
            if name == HOST:
                assert client.post(f"{root}/new_partition").is_success
        (warm,) = [one for one in client.get(f"{root}/partition").json() if one != "writer"]
        before, blind = total(client, "/api/v1/process"), without_a_process(client)
        with visiting() as visit:
            page = visit.open("/ui/data")
            page.focus(f"tr[data-row='{warm}']")
            page.keyboard.press("D")
            page.wait_for_selector("#deletion[open] [data-known]")
            shown = {one: counted(page, one) for one in ("segments", "alerts", "hosts")}
            page.keyboard.press("Control+Enter")  # without its name nothing is sent
            assert page.is_visible("#deletion[open]")
            assert warm in client.get(f"{root}/partition").json()
            page.fill("#deletion [data-confirm]", warm)
            page.keyboard.press("Control+Enter")
            page.wait_for_selector("#undo :text('Deleted permanently')")
        assert warm not in client.get(f"{root}/partition").json()
        assert before - total(client, "/api/v1/process") == shown["segments"] > 0
        assert without_a_process(client) - blind == shown["alerts"] == 1
        assert shown["hosts"] == 1


@pytest.fixture
def sensor(server: Server) -> Iterator[PlayedSensor]:
    """One of a group that lets isolated hosts reach something."""
    allowed = (
        IsolationExclusion("10.9.8.7:53", "dns"),
        IsolationExclusion("10.9.8.8:53", "old", enabled=False),
    )
    group = sending_group(server, "Cut off", isolation_exclusions=allowed)
    with server.client() as client:
        yield enrol(client, f"cut-{uuid4().hex[:8]}.example", secret_of(server, group))


def test_an_isolated_host_may_reach_what_was_shown(
    visiting: Visiting, sensor: PlayedSensor
) -> None:
    assert sensor.check_in().is_success
    with visiting() as visit:
        page = visit.open(f"/ui/sensors/{sensor.id}")
        page.keyboard.press("i")
        page.wait_for_selector("#isolate[open] [data-known]")
        shown = page.locator("#isolate [data-allowed]").all_inner_texts()
        assert "next check-in" in page.inner_text("#isolate [data-known]")
        page.keyboard.type("a reason")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#isolate:not([open])", state="attached")
    reported = sensor.check_in().json()
    assert reported["isolate"]
    assert shown == reported["isolation_allow"] == ["192.0.2.53:53", "10.9.8.7:53"]


def test_hosts_are_isolated_together_with_what_it_cuts_shown(
    visiting: Visiting, sensor: PlayedSensor
) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/sensors?q={sensor.hostname}")
        page.keyboard.press("i")
        page.wait_for_selector("#fleet[open] [data-save]:enabled")
        said = page.inner_text("#fleet [data-counted]")
        assert "10.9.8.7:53" in said
        assert "10.9.8.8" not in said


def test_nothing_is_sent_before_what_follows_is_known(
    visiting: Visiting, sensor: PlayedSensor
) -> None:
    with visiting() as visit:
        visit.expected.append("500")
        page = visit.open(f"/ui/sensors/{sensor.id}")
        broken = {"status": 500, "body": "<p>no</p>", "content_type": "text/html"}
        page.route("**/isolation", lambda route: route.fulfill(**broken))
        page.keyboard.press("i")
        page.wait_for_selector("#isolate[open]")
        page.keyboard.type("a reason")
        page.keyboard.press("Control+Enter")
        page.wait_for_timeout(300)
        assert page.is_visible("#isolate[open]")
        assert page.is_disabled("#isolate [data-save]")
    assert not sensor.check_in().json()["isolate"]


def test_who_is_locked_out_by_approving_is_who_was_shown(
    visiting: Visiting, server: Server
) -> None:
    secrets = {
        name: hire(server, name, {DEFAULT_GROUP_ID: Role.VIEWER}) for name in ("inside", "outside")
    }
    seen = {"inside": "127.0.0.1", "outside": "203.0.113.9"}
    for name, secret in secrets.items():
        with server.client(**{"X-Auth-Token": secret, "X-Forwarded-For": seen[name]}) as client:
            assert client.get("/api/info").is_success
    with server.analyst() as client:
        assert wait_for(lambda: seen["outside"] in addresses(client), True)
        client.post("/api/v1/approvedlist/entries", json={"ipaddr": ["127.0.0.1", "203.0.113.9"]})
        numbers = {
            one["ipaddr"]: one["id"] for one in client.get("/api/v1/approvedlist/entries").json()
        }
        with visiting() as visit:
            page = visit.open("/ui/settings")
            page.keyboard.press("e")
            page.wait_for_selector("#approving[open] [data-known]")
            assert page.inner_text("#approving [data-locked]") == "0"
            page.keyboard.press("Control+Enter")
            page.wait_for_selector("main :text('only these addresses')")
            page.get_by_label("Remove 203.0.113.9").click()
            page.wait_for_selector("#unapprove[open] [data-known]")
            assert page.inner_text("#unapprove [data-locked]") == "1"
            assert "outside" in page.inner_text("#unapprove table")
            assert "inside" not in page.inner_text("#unapprove table").replace("outside", "")
            page.keyboard.press("Control+Enter")
            page.wait_for_selector("#undo :text('Removed')")
        for name, secret in secrets.items():
            headers = {"X-Auth-Token": secret, "X-Forwarded-For": seen[name]}
            with server.client(**headers) as other:
                assert other.get("/api/info").is_success is (name == "inside")
        # One's own is never removed while approving is on.
        found = client.get(
            "/api/v1/approvedlist/locked_out", params={"without": numbers["127.0.0.1"]}
        ).json()
        assert found["caller"] == {"address": "127.0.0.1", "approved": False}
        client.patch("/api/v1/approvedlist/enabled", json={"state": False})


def ran(sensor: PlayedSensor, kind: str, md5: str, pid: int) -> None:
    """The host says that a program of this hash started, or was blocked."""
    now_us = SystemClock().now_us()
    program = {"path": f"/opt/{md5[:6]}", "cmdline": "x", "md5": md5}
    assert sensor.send([event(kind, now_us, pid, now_us, **program)]).is_success


def obeys(sensor: PlayedSensor, md5: str) -> None:
    """Its program is started anew: a sensor that was told of a ban blocks it."""
    reported = sensor.check_in(ban_version=0).json()["bans"]["add"]
    assert md5 in {one["md5"] for one in reported}
    ran(sensor, "block", md5, 700)
    block = {"md5": md5, "path": "/opt/x", "pid": 700, "time_us": SystemClock().now_us()}
    assert sensor.check_in(blocks=[block | {"count": 1}]).is_success


def test_a_ban_blocks_on_the_hosts_that_were_shown(visiting: Visiting, server: Server) -> None:
    banned, other = (uuid4().hex for _ in range(2))
    secret = secret_of(server)
    with server.client() as client, server.analyst() as analyst:
        names = [f"{name}-{banned[:6]}.example" for name in ("one", "two", "none")]
        sensors = [enrol(client, name, secret) for name in names]
        for sensor, md5 in zip(sensors, (banned, banned, other), strict=True):
            ran(sensor, "start", md5, 500)
        wait_for(lambda: hosts_of(analyst, f"process_md5:{banned}") == set(names[:2]), True, 60)
        with visiting() as visit:
            page = visit.open("/ui/bans")
            page.keyboard.press("n")
            page.fill("#ban textarea", banned)
            page.wait_for_selector("#ban [data-known] td.num")
            counts = page.locator("#ban [data-known] td.num").all_inner_texts()
            assert counts == ["2", "2"]  # hosts that have it, and that run it
            page.keyboard.press("Control+Enter")
            page.wait_for_selector(f"tr[data-row]:has-text('{banned}')")
            page = visit.open(f"/ui/bans/{banned}")
            running = page.locator("ul:has(a[href^='/ui/sensors/']) a").all_inner_texts()
            for sensor in sensors[:2]:
                obeys(sensor, banned)
            blocked = f"blocked_md5:{banned}"
            wait_for(lambda: hosts_of(analyst, blocked) == set(names[:2]), True, 60)
            assert set(running) == hosts_of(analyst, blocked) == set(names[:2])
            page.reload()
            assert re.search(r"Blocks\s*2\b", page.inner_text("main"))


def hosts_of(client: httpx.Client, query: str) -> set[str]:
    found = client.get("/api/v1/process", params={"q": query, "rows": 50}).json()["results"]
    return {one["hostname"] for one in found}


def addresses(client: httpx.Client) -> set[str]:
    """Where tokens were last used from."""
    return {one["last_address"] for one in client.get("/api/v1/token").json()}
