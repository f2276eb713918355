"""All that match, beyond the page: Ctrl+A twice counts what the API counts, changes as many, and
leaves what was taken out again, a group with those of its alerts that the page does not show."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.test_alerts import hit
from tests.browser.conftest import Visiting, until
from tests.support.sensor import enrol, secret_of
from tests.support.served import Server
from tests.support.sysmon import Host
from tests.support.written_detections import alerted_server
from vedette.limits import PAGE_ROWS
from vedette.model.findings.detection import Detection, Source
from vedette.web.alerts.screen import ALERTS_PAGE

MANY = ALERTS_PAGE + 30
FEW = 5
SENSORS = PAGE_ROWS + 5
SENDS = "#triage[open] [data-submit]:enabled"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    def detect(server: Server) -> list[Detection]:
        host = Host("across.example")
        shell = host.process(900, "C:\\Windows\\explorer.exe")
        made = [host.process(1_000 + at, f"C:\\{at}.exe", after_s=1) for at in range(MANY)]
        with server.sender() as sender:
            records = [host.created(one, shell) for one in made]
            assert sender.post("/api/v1/ingest", json=records).status_code == 200
        with server.analyst() as client:
            query = {"q": "process_pid:[1000 TO 2000]", "rows": 500}
            rows = client.get("/api/v1/process", params=query).json()["results"]
        assert len(rows) == MANY
        many = [hit(row, Source("rule", "many"), "Of many") for row in rows]
        return many + [hit(row, Source("rule", "few"), "Of few") for row in rows[:FEW]]

    with alerted_server(tmp_path_factory.mktemp("across"), detect) as server:
        yield server


def alerts(server: Server, query: str = "") -> int:
    with server.analyst() as client:
        found = client.get("/api/v2/alert", params={"q": query, "rows": 0}).json()
    return int(found["total_results"])


def number(text: str) -> int:
    return int("".join(filter(str.isdigit, text)))


def counted(page: Any) -> int:
    """Returns the number of alerts that the dialog offers to close as false positives."""
    page.keyboard.press("f")
    page.wait_for_selector(SENDS)
    found = number(page.inner_text("#triage-title"))
    page.keyboard.press("Escape")
    page.wait_for_selector("#triage:not([open])", state="attached")
    return found


def select_all(page: Any) -> None:
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+a")
    assert page.get_attribute("table.queue", "data-all") == "true"


@pytest.mark.parametrize("view", ["q=", "q=&then=process"])
def test_all_alerts_that_match_are_counted_and_changed_but_those_taken_out(
    visiting: Visiting, server: Server, view: str
) -> None:
    total = alerts(server)
    assert total == MANY + FEW
    with visiting() as visit:
        page = visit.open(f"/ui/alerts?{view}")
        page.wait_for_selector("#flyout-title")
        heads = page.locator("tr.group:not(.inner)")
        many, few = heads.filter(has_text="Of many"), heads.filter(has_text="Of few")
        select_all(page)
        assert counted(page) == total
        many.locator("input").uncheck()
        assert counted(page) == FEW  # without those that the page does not show
        select_all(page)
        assert counted(page) == total
        few.locator("input").uncheck()
        section = many.locator("xpath=ancestor::tbody").get_attribute("data-section")
        out = page.locator(f"tbody[data-section^='{section}'] tr[data-row]:not(.group)").first
        kept = str(out.get_attribute("data-row"))
        out.locator("input").uncheck()
        page.keyboard.press("F")  # what is folded was taken out as well
        page.keyboard.press("f")
        page.wait_for_selector(SENDS)
        assert number(page.inner_text("#triage-title")) == MANY - 1
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#undo [data-undo]")
        assert number(page.inner_text("#undo > div > span")) == MANY - 1
        assert alerts(server, 'status:"False Positive"') == MANY - 1
        assert alerts(server, f"unique_id:{kept} status:Unresolved") == 1
        assert alerts(server, 'title:"Of few" status:Unresolved') == FEW
        page.keyboard.press("Control+z")
        page.wait_for_selector("text=Change undone")
    assert alerts(server, "status:Unresolved") == total


def test_all_hosts_that_match_are_counted_and_changed_but_those_taken_out(
    visiting: Visiting, server: Server
) -> None:
    with server.client() as client:
        secret = secret_of(server)
        for at in range(SENSORS):
            enrol(client, f"page-{at:03}.example", secret)
    said = "[data-chosen]"
    with visiting() as visit:
        page = visit.open("/ui/sensors?q=hostname:page-* -notes:nothing&sort=hostname")
        assert page.locator("tr[data-row]").count() == PAGE_ROWS
        page.keyboard.press("Control+a")
        assert page.inner_text(said) == f"{PAGE_ROWS} selected"
        page.keyboard.press("Control+a")
        assert page.inner_text(said) == f"all {SENSORS} matches"
        page.locator("tr[data-row] input").nth(3).uncheck()
        assert page.inner_text(said) == f"all {SENSORS} matches except 1"
        page.keyboard.press("N")
        page.wait_for_selector("#fleet[open] [data-submit]:enabled")
        assert number(page.inner_text("#fleet-title")) == SENSORS - 1
        page.fill("#fleet [name=notes]", "of all pages")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(f"#undo :text('{SENSORS - 1} hosts')")
        page.keyboard.press(">")
        page.wait_for_url("**start=**")
        until(page, "document.documentElement.dataset.ready")
        assert page.inner_text(said) == "focused row"  # none is selected unseen
    with server.analyst() as client:
        params = {"hostname": "page-", "rows": 500}
        found = client.get("/api/v2/sensor", params=params).json()["results"]
    notes = {one["computer_name"]: one["notes"] for one in found}
    left = "page-003"
    assert len(notes) == SENSORS
    assert {name for name, note in notes.items() if note != "of all pages"} == {left}
