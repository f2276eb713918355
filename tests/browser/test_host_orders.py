"""Orders on the page of a host: flush, move, update, note; and the required rights."""

import pytest

from tests.browser.conftest import SHARED, Visiting, until
from tests.browser.test_accessibility import settled, violations
from tests.support.sensor import enrol, secret_of
from tests.support.served import Server, hire, open_group, state_of
from vedette.clock import SystemClock
from vedette.model.principal import Role
from vedette.state.sensors import checkins
from vedette.state.sensors.checkins import CheckIn, Progress, Report

pytestmark = SHARED
NOTE = "<b>mind</b> \u202egnp\nof two lines"


@pytest.fixture(scope="module")
def host(server: Server) -> int:
    """A host with a sensor that has checked in, in a group of its own."""
    with server.client() as client:
        sensor_id = enrol(client, "orders.example", secret_of(server)).id
    report = Report(health_status=100, health_message="Healthy", is_isolating=False)
    now_us = SystemClock().now_us()
    with state_of(server) as database, database.writing() as connection:
        checkins.check_in(connection, [CheckIn(sensor_id, report, Progress(), now_us, 30)])
    return int(sensor_id)


def record(server: Server, sensor_id: int) -> dict[str, object]:
    with server.analyst() as client:
        return dict(client.get(f"/api/v1/sensor/{sensor_id}").json())


def test_a_host_is_noted_on_and_flushed_by_keys(
    visiting: Visiting, server: Server, host: int
) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/sensors/{host}")
        assert "Isolated" in page.inner_text("main")
        page.keyboard.press("N")
        page.fill("#note textarea", NOTE)
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#undo :text('Note saved')")
        page.wait_for_selector("html[data-ready]")
        assert record(server, host)["notes"] == NOTE
        assert page.locator("main dd b:text('mind')").count() == 0
        page.keyboard.press("N")
        assert page.input_value("#note textarea") == NOTE
        page.fill("#note textarea", "")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("html[data-ready] main:not(:has-text('mind'))")
        assert record(server, host)["notes"] in ("", None)
        page.keyboard.press("U")
        page.wait_for_selector("#flush[open]")
        page.keyboard.type("gaps")
        assert violations(page) == []
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("main dd:text('flush backlog')")
        assert record(server, host)["event_log_flush_time"]


def test_a_host_is_moved_to_a_group_that_its_reader_administers(
    visiting: Visiting, server: Server, host: int
) -> None:
    home = int(str(record(server, host)["group_id"]))
    there, _ = open_group(server, "moved & there")
    hidden, _ = open_group(server, "hidden from movers")
    roles = {home: Role.ADMINISTRATOR, there: Role.ADMINISTRATOR}
    token = hire(server, "mover", roles)
    with visiting(cookie=None, extra_http_headers={"X-Auth-Token": token}) as visit:
        page = visit.open(f"/ui/sensors/{host}")
        assert "hidden from movers" not in page.content()
        page.keyboard.press("M")
        page.wait_for_selector("#move[open]")
        assert page.locator("#move option").all_inner_texts() == ["moved & there"]
        assert violations(page) == []
    with visiting() as visit:
        page = visit.open(f"/ui/sensors/{host}")
        page.keyboard.press("M")
        page.fill("#move [name=reason]", "a new owner")
        page.select_option("#move select", str(there))
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(f"main a[href='/ui/groups/{there}']")
        assert record(server, host)["group_id"] == there
    with server.analyst() as client:
        client.put(f"/api/v1/sensor/{host}", json={"group_id": home})
    assert hidden


def test_what_a_reader_may_not_order_is_off_and_says_why(
    visiting: Visiting, server: Server, host: int
) -> None:
    home = int(str(record(server, host)["group_id"]))
    wanted = {
        Role.VIEWER: {
            "flush": "Analyst role",
            "note": "Analyst role",
            "move": "Administrator role",
        },
        Role.ANALYST: {"move": "Administrator role", "update": "Administrator role"},
        Role.ADMINISTRATOR: {"move": "any other group", "update": "No sensor package"},
    }
    for role, reasons in wanted.items():
        token = hire(server, f"orders-{role.name}", {home: role})
        with visiting(cookie=None, extra_http_headers={"X-Auth-Token": token}) as visit:
            page = visit.open(f"/ui/sensors/{host}")
            settled(page)
            for name, reason in reasons.items():
                button = page.locator(f"main [data-dialog={name}]")
                assert button.get_attribute("aria-disabled") == "true", (role, name)
                assert reason in str(button.get_attribute("title"))
                page.keyboard.press(str(button.locator("kbd").inner_text()))
            until(page, "!document.querySelector('dialog[open]')")
