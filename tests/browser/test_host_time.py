"""`z` shows times in UTC, in the reader's zone, and in that of the host, each with what it is."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from tests.browser.conftest import SHARED, Visiting, until
from tests.support.one_of_each import HOST
from tests.support.sensor import enrol, secret_of, session
from tests.support.served import Server, state_of
from vedette.clock import SystemClock
from vedette.state.db.schema import SENSOR

pytestmark = SHARED

AHEAD_MIN = 345
"""The zone of the host: that of Kathmandu."""
AHEAD = "+05:45"
NAME = "kathmandu.example"
ZONE = "[data-action=zone] [data-zone-label]"


@pytest.fixture(scope="module")
def reported(server: Server) -> str:
    """The process of a host whose sensor says its zone when it checks in."""
    with server.client() as client:
        sensor = enrol(client, NAME, secret_of(server))
        assert sensor.check_in(utc_offset_min=AHEAD_MIN).status_code == 200
        began_us = SystemClock().now_us() - 600_000_000
        assert sensor.send(session(began_us)).status_code == 200
    with server.analyst() as client:
        query = {"q": f"hostname:{NAME}", "rows": 9}
        rows = client.get("/api/v1/process", params=query).json()["results"]
    return next(str(one["id"]) for one in rows if one["filemod_count"])


@pytest.fixture
def zoned(server: Server) -> Iterator[None]:
    """The host of the alerts has a sensor that said its zone, for a time."""
    with state_of(server) as database:
        names = ("key_sha256", "checkin_us", "utc_offset_min")
        columns = [SENSOR.c[name] for name in names]
        of_host = SENSOR.c.hostname == HOST
        with database.reading() as connection:
            before = connection.execute(select(*columns).where(of_host)).one()
        new = {"key_sha256": b"\xab" * 32, "checkin_us": 1, "utc_offset_min": -AHEAD_MIN}
        with database.writing() as connection:
            connection.execute(update(SENSOR).where(of_host).values(new))
        yield
        with database.writing() as connection:
            old = dict(zip(names, before, strict=True))
            connection.execute(update(SENSOR).where(of_host).values(old))


def shown(page: Any, selector: str) -> str:
    return str(page.locator(selector).first.inner_text())


def moment(text: str, zone: str) -> datetime:
    assert text.endswith(zone), text
    return datetime.fromisoformat(text.removesuffix(zone))


def test_an_analysis_has_the_time_of_its_host(visiting: Visiting, reported: str) -> None:
    places = ("#events .time", "#tree .delta", ".strip time", "#details dd")
    with visiting(timezone_id="America/St_Johns") as visit:
        page = visit.open(f"/ui/process/{reported}")
        page.wait_for_selector("[data-loaded]")
        page.keyboard.press("3")
        page.keyboard.press("j")
        page.wait_for_selector("#details dd")
        utc = [shown(page, one) for one in places]
        assert shown(page, ZONE) == "UTC"
        page.keyboard.press("z")
        assert shown(page, ZONE) == "America/St_Johns"
        page.keyboard.press("z")
        assert shown(page, ZONE) == "Host time"
        until(page, f"document.querySelector('#events .time').innerText.endsWith('{AHEAD}')")
        host = [shown(page, one) for one in places]
        ahead = timedelta(minutes=AHEAD_MIN)
        for one, other in list(zip(utc, host, strict=True))[2:]:
            assert moment(other, AHEAD) - moment(one, "Z") == ahead
        assert all(one.endswith(AHEAD) for one in host)
        assert page.locator("#events .time").first.get_attribute("title").endswith(AHEAD)
        page.keyboard.press("z")
        until(page, "document.querySelector('#events .time').innerText.endsWith('Z')")
        assert [shown(page, one) for one in places] == utc


def test_a_process_and_an_alert_beside_a_list_have_it(
    visiting: Visiting, reported: str, zoned: None
) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/process?t=all&q=hostname:{NAME}")
        page.keyboard.press("z")
        page.keyboard.press("z")
        page.focus("tr[data-row]")
        page.keyboard.press("Enter")
        until(page, f"document.querySelector('#flyout time')?.innerText.endsWith('{AHEAD}')")
        assert shown(page, "td.time time").endswith("Z")  # of many hosts
        visit.settle()
        page = visit.open("/ui/alerts?q=")
        page.wait_for_selector("#flyout-title")
        until(page, "document.querySelector('#flyout dl time')?.innerText.endsWith('-05:45')")
        page.keyboard.press("z")
        until(page, "document.querySelector('#flyout dl time')?.innerText.endsWith('Z')")


def test_where_no_sensor_says_a_zone_utc_stands_for_it(
    visiting: Visiting, known: dict[str, str]
) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/process/{known['process']}")
        page.wait_for_selector("[data-loaded]")
        page.keyboard.press("z")
        page.keyboard.press("z")
        assert shown(page, ZONE) == "Host time"
        assert shown(page, ".strip time").endswith("Z")
        page.keyboard.press("z")
        visit.settle()
