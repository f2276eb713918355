"""Groups of the queue: folded, one within the other, and changed exactly as they are selected."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.test_alerts import RULE, hit
from tests.browser.conftest import Visiting
from tests.support.served import Server, open_group
from tests.support.sysmon import story
from tests.support.written_detections import alerted_server
from vedette.model.findings.detection import Detection

HOSTS = ("one.groups.example", "two.groups.example")
NESTED = "/ui/alerts?q=&by=rule&then=host"
THREE = f"{NESTED}&last=process"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    def detect(server: Server) -> list[Detection]:
        _, secret = open_group(server, "Groups")
        with server.client(Authorization=f"Bearer {secret}") as client:
            for name in HOSTS:
                assert client.post("/api/v1/ingest", json=story(name).records).status_code == 200
        with server.analyst() as client:
            query = {"q": "username:ann", "rows": "50"}
            rows = client.get("/api/v1/process", params=query).json()["results"]
        return [hit(row, RULE, "why it fired") for row in rows]

    with alerted_server(tmp_path_factory.mktemp("groups"), detect) as server:
        yield server


def counts(server: Server) -> dict[str, int]:
    """Alerts that are closed, by host."""
    with server.analyst() as client:
        return {
            name: client.get(
                "/api/v2/alert", params={"q": f"hostname:{name} status:Resolved", "rows": 0}
            ).json()["total_results"]
            for name in HOSTS
        }


def shown(page: Any) -> int:
    rows = page.locator("tr[data-row]:not(.group)")
    return sum(one.is_visible() for one in rows.all())


def mixed(page: Any) -> list[str]:
    """Returns the level of each group whose box is partly ticked."""
    boxes = page.locator("tr.group input")
    levels: list[str] = boxes.evaluate_all(
        """(boxes) => boxes.filter((box) => box.indeterminate)
             .map((box) => box.closest("tr").classList.contains("outer") ? "outer" : "inner")"""
    )
    return levels


def test_the_box_of_a_group_is_mixed_while_some_of_its_alerts_are_out(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open(NESTED)
        page.wait_for_selector("#flyout .lineage")
        alert = page.locator("tr[data-row]:not(.group) input").first
        page.check("tr.outer input")
        assert mixed(page) == []
        alert.uncheck()
        assert mixed(page) == ["outer", "inner"]
        alert.check()
        assert mixed(page) == []
        page.uncheck("tr.outer input")
        assert page.locator("tr[aria-selected=true]").count() == 0
        alert.check()
        assert mixed(page) == ["outer", "inner"]


def test_groups_lie_within_groups_and_fold(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open(NESTED)
        page.wait_for_selector("#flyout .lineage")
        assert page.locator("tr.outer").count() == 1
        assert page.locator("tr.inner").count() == 2
        total = shown(page)
        assert total == int(page.get_attribute("tr.outer", "data-count"))
        page.locator("tr.inner").first.focus()
        page.keyboard.press("ArrowLeft")
        inside = int(page.get_attribute("tr.inner", "data-count"))
        assert shown(page) == total - inside
        page.keyboard.press("j")  # over what is folded
        assert page.evaluate("document.activeElement.classList.contains('inner')")
        page.keyboard.press("F")
        assert shown(page) == 0
        assert page.evaluate("document.activeElement.classList.contains('outer')")
        page.keyboard.press("F")
        assert shown(page) == total
        assert "fold=" not in page.url


def test_what_is_folded_is_in_the_address(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open(NESTED)
        page.wait_for_selector("#flyout .lineage")
        page.click("tr.inner [data-fold]")
        left = shown(page)
        address = page.url
        assert "fold=" in address
    with visiting() as visit:
        page = visit.open(address.removeprefix(visit.url))
        assert shown(page) == left
        page.focus("tr.outer")
        page.keyboard.press("F")
        page.reload()
        page.wait_for_selector("html[data-ready]")
        assert shown(page) == 0
        assert page.get_attribute("[data-fold-all]", "aria-pressed") == "true"


def test_a_group_within_that_is_taken_out_stays_out(visiting: Visiting, server: Server) -> None:
    with visiting() as visit:
        page = visit.open(NESTED)
        page.wait_for_selector("#flyout .lineage")
        before = counts(server)
        page.check("tr.outer input")
        assert (
            page.locator("tr[aria-selected=true]").count() == page.locator("tr[data-row]").count()
        )
        kept = page.locator("tr.inner").first
        name = str(kept.locator("b").inner_text())
        wanted = int(str(page.locator("tr.inner").nth(1).get_attribute("data-count")))
        kept.locator("input").uncheck()
        assert page.get_attribute("tr.outer", "aria-selected") == "false"
        assert mixed(page) == ["outer"]
        page.keyboard.press("F")  # folded groups are changed as well
        page.keyboard.press("r")
        page.wait_for_selector("#triage[open] [data-submit]:enabled")
        assert page.inner_text("#triage-title") == f"Resolve {wanted} alerts"
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#undo [data-undo]")
        after = counts(server)
        (other,) = [one for one in HOSTS if one != name]
        assert after == before | {other: wanted}
        page.keyboard.press("Control+z")
        page.wait_for_selector("#undo :text('Change undone')")
    assert counts(server) == before


def test_a_third_level_folds_with_the_groups_around_it(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open(NESTED)
        page.wait_for_selector("#flyout .lineage")
        total = shown(page)
        page.select_option("#last", "process")
        page.click(".queue-line button.primary")
        page.wait_for_selector("tr.third")
        page.wait_for_selector("html[data-ready]")
        assert "last=process" in page.url
        assert shown(page) == total
        middle = page.locator("tr.inner")
        assert middle.count() == 2
        inside = int(str(middle.first.get_attribute("data-count")))
        middle.first.focus()
        page.keyboard.press("ArrowLeft")
        assert shown(page) == total - inside
        page.keyboard.press("ArrowRight")  # those within stay folded
        assert shown(page) == total - inside
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.classList.contains('third')")
        page.keyboard.press("ArrowRight")
        assert shown(page) > total - inside
        page.keyboard.press("F")
        assert shown(page) == 0
        assert page.locator("tr:is(.inner, .third):visible").count() == 0
        page.keyboard.press("F")
        assert shown(page) == total


def test_a_group_of_the_third_level_that_is_taken_out_stays_out(
    visiting: Visiting, server: Server
) -> None:
    with visiting() as visit:
        page = visit.open(THREE)
        page.wait_for_selector("#flyout .lineage")
        before = sum(counts(server).values())
        total = int(str(page.get_attribute("tr.outer", "data-count")))
        out = page.locator("tr.third").first
        kept = int(str(out.get_attribute("data-count")))
        page.check("tr.outer input")
        out.locator("input").uncheck()
        assert page.get_attribute("tr.outer", "aria-selected") == "false"
        assert page.locator("tr.inner").first.get_attribute("aria-selected") == "false"
        assert page.locator("tr.inner").nth(1).get_attribute("aria-selected") == "true"
        page.keyboard.press("r")
        page.wait_for_selector("#triage[open] [data-submit]:enabled")
        assert page.inner_text("#triage-title") == f"Resolve {total - kept} alerts"
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#undo [data-undo]")
        assert sum(counts(server).values()) == before + total - kept
        page.keyboard.press("Control+z")
        page.wait_for_selector("#undo :text('Change undone')")
    assert sum(counts(server).values()) == before
