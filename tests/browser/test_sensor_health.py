"""The page of a host has the health of its sensor over time, as a picture and as a table."""

from tests.browser.conftest import SHARED, Visiting
from tests.support.sensor import enrol, secret_of
from tests.support.served import Server, state_of
from vedette.clock import SystemClock
from vedette.state.sensors import checkins
from vedette.state.sensors.checkins import CheckIn, Progress, Report

pytestmark = SHARED
SAID = "disk <b>full</b>"


def test_what_a_sensor_said_of_itself_is_a_picture_and_a_table(
    visiting: Visiting, server: Server
) -> None:
    with server.client() as client:
        sensor_id = enrol(client, "health.example", secret_of(server)).id
    now_us = SystemClock().now_us()
    reports = [
        Report(health_status=health, health_message=text)
        for health, text in ((100, "Healthy"), (30, "ill"), (60, SAID))
    ]
    with state_of(server) as database, database.writing() as connection:
        items = [CheckIn(sensor_id, one, Progress(), now_us, 30) for one in reports]
        checkins.check_in(connection, items)
    with visiting() as visit:
        page = visit.open(f"/ui/sensors/{sensor_id}")
        picture = page.locator("[data-health]")
        assert "lowest 30, now 60 of 100" in picture.get_attribute("aria-label")
        assert picture.locator("svg path").count() == 1
        picture.locator("summary").focus()
        page.keyboard.press("Enter")
        row = picture.locator("tbody tr")
        assert row.locator("td").nth(1).inner_text() == "30"
        assert SAID in row.inner_text()
        assert picture.locator("b").count() == 0
