"""The menu of copies of the queue has the call of alert search v7 with the alerts of its filter."""

import os
from typing import Any
from urllib.parse import quote

import pytest

from tests.browser.conftest import SHARED, Visiting
from tests.browser.test_hostile_strings import ran
from tests.support.served import Server
from vedette.limits import ALERT_V7_ROWS_MAX
from vedette.web.alerts.screen import export_call

pytestmark = SHARED

ALERTS = "tr[data-row]:not(.group)"
ROWS = "(all) => all.map((one) => one.dataset.row)"


def menu(page: Any) -> Any:
    page.keyboard.press("y")
    page.wait_for_selector("#menu:not([hidden])")
    return page.locator("#menu")


@pytest.mark.parametrize(
    "view",
    [
        "q=",
        "q=&t=-7d",
        "q=process_name:whoami.exe OR process_name:powershell.exe&t=-24h",
        "q=-process_name:whoami.exe",
        f"q={quote('-cmdline:100%25 -cmdline:a=b')}",
        f"q={quote('hostname:reach.example -title:*odd=*')}&t=-30d",
        "q=status:Resolved",
    ],
)
def test_its_answer_has_the_alerts_of_the_page(
    visiting: Visiting, server: Server, view: str
) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/alerts?{view}")
        shown = page.locator(ALERTS).evaluate_all(ROWS)
        page.evaluate("navigator.clipboard.writeText = async (text) => (window.copied = text)")
        menu(page)
        page.keyboard.press("x")
        page.wait_for_selector("#undo :text('curl copied')")
        curl = page.evaluate("window.copied")
    environ = os.environ | {
        **{"VEDETTE_TOKEN": server.token, "CURL_CA_BUNDLE": str(server.certificate)},
    }
    (found,) = ran("bash", "-c", curl, environ=environ)
    assert len(shown) == found["num_found"]
    assert set(shown) == {one["id"] for one in found["results"]}


def test_where_there_is_none_the_menu_says_why(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/alerts?q=(")
        assert "No export call: the query is invalid" in menu(page).inner_text()
        assert page.locator("#menu [data-menu-key=x]").count() == 0


def test_more_alerts_than_an_answer_can_have_are_no_call() -> None:
    most = ALERT_V7_ROWS_MAX
    assert "path" in export_call("VEDETTE", "", "", most)
    assert export_call("VEDETTE", "", "", most + 1) == {"why": "many"}
