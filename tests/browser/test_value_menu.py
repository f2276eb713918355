"""The menu of a value: the same in every list, and what it changes is what was meant."""

import json
from typing import Any

import pytest

from tests.browser.conftest import SHARED, Visiting, until
from tests.support.served import Server
from tests.support.sysmon import Host, story

pytestmark = SHARED

HOST = "menu.example"
URL = "http://evil.example/a"
GRANTED = {"permissions": ["clipboard-read", "clipboard-write"]}


@pytest.fixture(scope="module", autouse=True)
def reported(server: Server) -> None:
    host = Host(HOST)
    shell = host.process(880, "C:\\Windows\\explorer.exe")
    opened = host.process(990, "C:\\one.exe", f"{URL} a\u202eb")
    others = [
        host.created(host.process(1000 + number, f"C:\\menu-{number}.exe"), shell)
        for number in range(14)
    ]
    records = [*story(f"other-{HOST}").records, host.created(opened, shell), *others]
    with server.sender() as sender:
        assert sender.post("/api/v1/ingest", json=records).status_code == 200


def words(page: Any) -> list[str]:
    return [one.split("\n")[0] for one in page.locator("#menu [role=menuitem]").all_inner_texts()]


def menu(page: Any, cell: str, *, key: str = ".") -> list[str]:
    page.evaluate("(cell) => document.querySelector(cell).focus()", cell)
    page.keyboard.press(key)
    page.wait_for_selector("#menu:not([hidden])")
    return words(page)


def copied(page: Any) -> Any:
    return page.evaluate("navigator.clipboard.readText()")


def cell(field: str) -> str:
    return f"tr[data-row] td[data-field={field}]"


def focusable(page: Any) -> None:
    page.wait_for_selector("tr[data-row]")
    page.evaluate("document.querySelectorAll('td').forEach((one) => (one.tabIndex = -1))")


def test_the_menu_of_a_value_narrows_groups_copies_and_looks_up(visiting: Visiting) -> None:
    with visiting(**GRANTED) as visit:
        page = visit.open(f"/ui/process?t=all&q=hostname:{HOST} process_name:one.exe")
        focusable(page)
        found = menu(page, cell("cmdline"), key="Shift+F10")
        assert found[:3] == ["Include", "Exclude", "Only this"]
        assert found[3:7] == [
            "Copy value",
            "Copy value, escaped",
            "Copy value, defanged",
            "Look up",
        ]
        for key, text in (
            ("c", f"{URL} a\u202eb"),
            ("e", f"{URL} a\\u{{202e}}b"),
            ("d", "hxxp[://]evil[.]example/a a\u202eb"),
        ):
            menu(page, cell("cmdline"))
            page.keyboard.press(key)
            until(page, "document.querySelector('#menu').hidden")
            assert copied(page) == text
        assert "Group by" in menu(page, cell("hostname"))
        page.keyboard.press("l")
        page.wait_for_selector("#omnibox[open] nav a")
        assert page.input_value("#omnibox input") == HOST
        page.keyboard.press("Escape")
        menu(page, cell("process_name"))
        page.keyboard.press("-")
        page.wait_for_url("**-process_name*")


def test_processes_are_grouped_in_every_language(visiting: Visiting) -> None:
    with visiting(locale="de-DE") as visit:
        page = visit.open(f"/ui/process?t=all&q=hostname:*{HOST}")
        focusable(page)
        menu(page, cell("hostname"))
        page.keyboard.press("G")
        page.wait_for_url("**group=hostname*")
        visit.settle()
        hosts = page.locator(cell("hostname")).all_inner_texts()
        assert sorted(hosts) == [HOST, f"other-{HOST}"]
        page.select_option("[name=group]", "none")
        page.wait_for_url("**group=none*")
        visit.settle()
        assert page.locator("tr[data-row]").count() > 2
        assert page.input_value("[name=group]") == "none"
        call = page.evaluate("document.getElementById('call').dataset.params")
        assert "svc.group" not in dict(json.loads(call))


def test_a_facet_shows_all_its_values_and_the_rare_ones(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/process?t=all&q=hostname:{HOST}")
        visit.settle()
        values = page.locator("[data-facet=process_name] li[data-field]")
        assert values.count() == 10
        page.focus("[data-facet=process_name] [data-narrow]")
        page.keyboard.press("m")
        until(page, "document.querySelectorAll('[data-facet=process_name] li[data-field]')[14]")
        page.focus("[data-facet=process_name] [data-narrow]")
        page.keyboard.press("r")
        until(page, "!document.querySelectorAll('[data-facet=process_name] li[data-field]')[10]")
        page.click("[data-facet=process_name] [data-more]")
        page.wait_for_selector("[data-facet=process_name] [data-rare][aria-pressed=false]")


def test_alerts_are_grouped_and_narrowed_by_a_value(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/alerts?q=")
        focusable(page)
        host = page.locator(cell("hostname")).first.get_attribute("data-value")
        menu(page, cell("hostname"))
        page.keyboard.press("G")
        page.wait_for_url("**by=host*")
        page.wait_for_selector("html[data-ready]")
        focusable(page)
        menu(page, cell("hostname"))
        page.keyboard.press("-")
        page.wait_for_url("**-hostname*")
        page.wait_for_selector("html[data-ready]")
        hosts = page.locator(cell("hostname")).all()
        assert host not in [one.get_attribute("data-value") for one in hosts]


def test_programs_are_narrowed_by_a_value(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/binary")
        focusable(page)
        md5 = page.locator(cell("md5")).first.get_attribute("data-value")
        menu(page, cell("md5"))
        page.keyboard.press("o")
        page.wait_for_url(f"**q=md5*{md5}")
        page.wait_for_selector("html[data-ready]")
        assert page.locator("tr[data-row]").count() == 1


def test_a_list_that_no_query_narrows_offers_copies_alone(
    visiting: Visiting, known: dict[str, str]
) -> None:
    assert known
    with visiting() as visit:
        page = visit.open("/ui/bans")
        focusable(page)
        assert "Include" not in menu(page, cell("md5"))
        page.keyboard.press("Escape")
        page.keyboard.press("+")
        assert page.url == f"{visit.url}/ui/bans"


def test_hosts_are_narrowed_by_a_value(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/sensors?sort=hostname")
        focusable(page)
        group = page.locator(cell("group")).first.get_attribute("data-value")
        menu(page, cell("group"))
        page.keyboard.press("-")
        page.wait_for_url("**q=-group*")
        page.wait_for_selector("html[data-ready]")
        groups = page.locator(cell("group")).evaluate_all(
            "all => all.map((one) => one.dataset.value)"
        )
        assert group not in groups
        assert "sort=hostname" in page.url


def test_a_query_of_hosts_that_cannot_be_read_says_where(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/sensors?q=group:default nosuchfield:x")
        assert page.inner_text("main [role=alert] mark").startswith("nosuchfield")
        assert page.locator("[data-fleet]").count() == 0
        page.keyboard.press("y")
        page.keyboard.press("q")
        page.wait_for_selector(":text('Query copied')")
