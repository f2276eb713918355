"""Copied API calls of alerts, audit and settings return the rows of the page."""

import os
from typing import Any

import pytest

from tests.browser.conftest import SHARED, Visiting
from tests.browser.test_hostile_strings import COPIED, python_answers, ran
from tests.support.served import Server

pytestmark = SHARED

APPROVED = ("192.0.2.7/32", "198.51.100.0/24")
ROWS = "(all) => all.map((one) => one.dataset.row)"


def copied(visiting: Visiting, server: Server, path: str, rows: str) -> tuple[list[str], Any]:
    """Returns (`rows` that the page shows, answer to its call). The shell and the public client
    must agree."""
    with visiting() as visit:
        page = visit.open(path)
        visit.settle()
        shown = page.locator(rows).evaluate_all(ROWS)
        curl, python = page.evaluate(COPIED)
    environ = os.environ | {
        **{"VEDETTE_TOKEN": server.token, "CURL_CA_BUNDLE": str(server.certificate)},
        **{"CBAPI_URL": server.url, "CBAPI_TOKEN": server.token, "CBAPI_SSL_VERIFY": "False"},
    }
    (found,) = ran("bash", "-c", curl, environ=environ)
    (again,) = python_answers([python], environ)
    for one in (found, again):
        if isinstance(one, dict):
            one.pop("elapsed", None)
    assert again == found
    return shown, found


@pytest.mark.parametrize("view", ["q=", "q=&by=host&then=process", "q=&t=-7d&sort=newest"])
def test_the_call_of_the_queue_has_its_alerts(
    visiting: Visiting, server: Server, view: str
) -> None:
    path = f"/ui/alerts?{view}"
    shown, found = copied(visiting, server, path, "tr[data-row]:not(.group)")
    assert len(shown) == len(set(shown)) == found["total_results"] > 2
    assert set(shown) == {one["unique_id"] for one in found["results"]}


@pytest.mark.parametrize(
    "view", ["action=create", "action=create&kind=ban", "action=create&start=2"]
)
def test_the_call_of_the_audit_has_its_entries(
    visiting: Visiting, known: dict[str, str], server: Server, view: str
) -> None:
    shown, found = copied(visiting, server, f"/ui/audit?{view}", "tr[data-row]")
    assert shown == [str(one["number"]) for one in found["results"]]
    assert shown


def test_the_call_of_the_settings_has_the_approved_addresses(
    visiting: Visiting, server: Server
) -> None:
    path = "/api/v1/approvedlist/entries"
    with server.analyst() as client:
        before = {one["id"] for one in client.get(path).json()}
        assert client.post(path, json={"ipaddr": list(APPROVED)}).is_success
        try:
            with visiting() as visit:
                shown = visit.open("/ui/settings").locator("main ul.plain li.mono")
                networks = [one.split()[0] for one in shown.all_inner_texts()]
            _, found = copied(visiting, server, "/ui/settings", "main")
            assert networks == [one["ipaddr"] for one in found]
            assert set(APPROVED) <= {one if "/" in one else f"{one}/32" for one in networks}
        finally:
            for one in client.get(path).json():
                if one["id"] not in before:
                    client.delete(f"{path}/{one['id']}")
