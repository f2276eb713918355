"""Buttons that a reader may not press are there, off, and say who may."""

from tests.browser.conftest import SHARED, Visiting
from tests.browser.test_rule_files import DROP, rule_of
from tests.support.one_of_each import SIGMA_ID
from tests.support.served import Server, hire
from vedette.model.principal import Role

pytestmark = SHARED


def headers_of(server: Server, known: dict[str, str], role: Role, about: str) -> dict[str, str]:
    """Returns the headers of a new user with a role in the group of the known host."""
    with server.analyst() as client:
        group = client.get(f"/api/v1/sensor/{known['sensor']}").json()["group_id"]
    return {"X-Auth-Token": hire(server, f"{role.name}.of.{about}", {group: role})}


def test_who_may_not_change_rules_sees_who_may(
    visiting: Visiting, server: Server, known: dict[str, str]
) -> None:
    headers = headers_of(server, known, Role.VIEWER, "rules")
    with visiting(cookie=None, extra_http_headers=headers) as visit:
        page = visit.open(f"/ui/sigma?q={SIGMA_ID}")
        for one in page.locator("[data-dialog=import], main td button").all():
            assert one.get_attribute("aria-disabled") == "true"
            assert "global administrator" in str(one.get_attribute("title"))
        page.keyboard.press("n")
        page.evaluate(DROP, ["one.yml", rule_of(9201)])
        page.wait_for_selector("#undo .failed :text('global administrator')")
        assert page.locator("dialog[open]").count() == 0
        page = visit.open(f"/ui/sigma/{SIGMA_ID}")
        test, switch = page.locator("[data-rule]"), page.locator(".toolbar [data-call]")
        assert "Analyst" in str(test.get_attribute("title"))
        assert "global administrator" in str(switch.get_attribute("title"))
        for one in (test, switch):
            assert one.get_attribute("aria-disabled") == "true"
            one.dispatch_event("click")
        visit.settle()
        assert page.locator("[data-result] .bar, [data-result] .figures").count() == 0


def test_an_analyst_orders_of_hosts_and_neither_moves_nor_updates_them(
    visiting: Visiting, server: Server, known: dict[str, str]
) -> None:
    headers = headers_of(server, known, Role.ANALYST, "hosts")
    with visiting(cookie=None, extra_http_headers=headers) as visit:
        page = visit.open("/ui/sensors")
        off = page.locator("[data-deed][aria-disabled=true]")
        assert off.evaluate_all("all => all.map((one) => one.dataset.deed)") == ["move", "update"]
        assert "Administrator role in a sensor group" in str(off.first.get_attribute("title"))
        page.keyboard.press("M")
        page.keyboard.press("N")
        page.wait_for_selector("#fleet[open] [name=notes]:visible")


def test_a_viewer_sees_all_orders_of_hosts_and_none_opens(
    visiting: Visiting, server: Server, known: dict[str, str]
) -> None:
    headers = headers_of(server, known, Role.VIEWER, "orders")
    with visiting(cookie=None, extra_http_headers=headers) as visit:
        page = visit.open("/ui/sensors")
        deeds = page.locator("[data-deed]")
        assert deeds.count() == 7
        for one in deeds.all():
            assert one.get_attribute("aria-disabled") == "true"
            one.dispatch_event("click")
        for key in "ilRUMWN":
            page.keyboard.press(key)
        assert page.locator("dialog[open]").count() == 0
