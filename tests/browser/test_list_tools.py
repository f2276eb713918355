"""Tools for a whole list: download as a file, follow, reorder columns."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import SHARED, Visiting, until
from tests.support.served import Server
from tests.support.sysmon import Host, story

pytestmark = SHARED

CORPUS = Path(__file__).parents[1] / "corpus"
HOST = "tools.example"
FORMULA = "=cmd|' /C calc'!A0"


@pytest.fixture(scope="module", autouse=True)
def reported(server: Server) -> None:
    send(server, story(HOST).records)
    host = Host(HOST)
    shell = host.process(880, "C:\\Windows\\explorer.exe")
    odd = host.process(990, "C:\\odd.exe", f'{FORMULA},"two"')
    send(server, [host.created(odd, shell)])


def send(server: Server, records: list[dict[str, Any]]) -> None:
    with server.sender() as sender:
        assert sender.post("/api/v1/ingest", json=records).status_code == 200


def exported(visiting: Visiting, path: str, key: str, file: Path) -> bytes:
    with visiting() as visit:
        page = visit.open(path)
        page.wait_for_selector("[data-action=export]")
        page.keyboard.press("E")
        page.wait_for_selector("#menu:not([hidden])")
        with page.expect_download() as waiting:
            page.keyboard.press(key)
        waiting.value.save_as(file)
        page.wait_for_selector("#undo :text('exported')")
    return file.read_bytes()


def test_an_export_has_the_lines_of_the_api(
    visiting: Visiting, server: Server, tmp_path: Path
) -> None:
    text = exported(visiting, f"/ui/process?t=all&q=hostname:{HOST}", "j", tmp_path / "a.jsonl")
    lines = [json.loads(line) for line in text.splitlines()]
    with server.analyst() as client:
        params = {"q": f"hostname:{HOST}", "rows": 100, "sort": "start asc", "svc.group": "id"}
        asked = client.get("/api/v1/process", params=params).json()["results"]
    ids = [one["id"] for one in lines]
    assert sorted(ids) == sorted(one["id"] for one in asked)
    assert set(lines[0]) == set(asked[0])
    with server.analyst() as client:
        noted, *_ = client.get("/api/v1/audit?kind=export").json()["results"]
    assert (noted["action"], noted["target"]) == ("read", "process")
    said = {"params": f"t=all&q=hostname:{HOST}", "format": "jsonl", "rows": len(lines)}
    assert noted["after"] == said


def test_a_table_that_is_exported_has_no_formulas(visiting: Visiting, tmp_path: Path) -> None:
    text = exported(visiting, f"/ui/process?t=all&q=hostname:{HOST}", "c", tmp_path / "a.csv")
    rows = list(csv.DictReader(io.StringIO(text.decode(), newline="")))
    (odd,) = [row for row in rows if row["process_name"] == "odd.exe"]
    assert odd["cmdline"] == f'\'{FORMULA},"two"'
    assert len({row["id"] for row in rows}) == len(rows) > 3


def test_cells_of_the_console_are_those_of_the_server(visiting: Visiting) -> None:
    cases = json.loads((CORPUS / "csv_cells.json").read_text())
    with visiting() as visit:
        page = visit.open(f"/ui/process?t=all&q=hostname:{HOST}")
        written = page.evaluate(
            """async (values) => {
              const place = document.querySelector("script[type=module]").src;
              const { cell } = await import(new URL("export.js", place));
              return values.map(cell);
            }""",
            [value for value, _ in cases],
        )
    assert written == [text for _, text in cases]


def test_an_export_that_is_not_whole_is_none(visiting: Visiting) -> None:
    body = json.dumps({"results": [], "total_results": 9, "incomplete_results": True})
    with visiting() as visit:
        page = visit.open("/ui/process?t=all")
        page.route(
            "**/api/v1/process?*",
            lambda route: route.fulfill(body=body, content_type="application/json"),
        )
        page.wait_for_selector("[data-action=export]")
        page.keyboard.press("E")
        page.wait_for_selector("#menu:not([hidden])")
        page.keyboard.press("j")
        page.wait_for_selector("#undo .failed")
        assert "Nothing exported" in page.inner_text("#undo .failed")


def test_a_search_that_is_followed_counts_what_is_new_and_shows_it(
    visiting: Visiting, server: Server
) -> None:
    with visiting() as visit:
        page = visit.open("/ui/process?t=all&q=hostname:followed.example")
        page.wait_for_selector(".state h2")
        page.goto(page.url + "&follow=1")
        page = visit.open("/ui/process?t=all&q=hostname:*")
        page.click("[data-action=follow]")
        page.wait_for_selector("[data-action=follow][aria-pressed=true]")
        assert "follow=1" in page.url
        before = page.locator("tr[data-row]").count()
        send(server, story("followed.example").records)
        page.wait_for_selector("#news button")
        assert page.locator("tr[data-row]").count() == before  # the list does not move by itself
        page.keyboard.press("g")
        page.keyboard.press("n")
        until(page, "(n) => document.querySelectorAll('tr[data-row]').length > n", before)
        page.wait_for_selector("[data-action=follow][aria-pressed=true]")
        until(page, "!document.querySelector('#news button')")


def heads(page: Any) -> list[str]:
    return [one.strip() for one in page.locator(".processes thead th").all_inner_texts()]


def test_columns_are_ordered_and_left_out_by_keys_and_kept(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/process?t=all")
        page.wait_for_selector("tr[data-row]")
        assert [one.split()[0] for one in heads(page)][:5] == [
            "Start",
            "Host",
            "User",
            "Process",
            "Hosts",
        ]
        page.keyboard.press("K")
        page.wait_for_selector("#columns[open]")
        page.focus("[data-column=cmdline] [data-by='-1']")
        for _ in range(6):
            page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.closest('li').dataset.column") == "cmdline"
        page.uncheck("[data-column=username] input")
        page.keyboard.press("Control+Enter")
        until(page, "document.querySelectorAll('.processes th')[1].innerText === 'Command line'")
    with visiting() as visit:  # another browser of the same reader
        page = visit.open("/ui/process?t=all")
        until(page, "document.documentElement.dataset.hidden === 'username'")
        assert heads(page)[1] == "Command line"
        assert not page.locator("th.c-username").is_visible()
        row = page.locator("tr[data-row]").first
        assert row.locator("td").nth(1).get_attribute("data-field") == "cmdline"


def test_facets_are_ordered_and_left_out_by_keys_and_kept(visiting: Visiting) -> None:
    facets = "[...document.querySelectorAll('#facets .facet')].map((one) => one.dataset.facet)"
    path = f"/ui/process?t=all&q=hostname:{HOST}"
    with visiting() as visit:
        page = visit.open(path)
        page.wait_for_selector("#facets .facet")
        assert page.evaluate(facets)[:3] == ["process_name", "parent_name", "hostname"]
        page.keyboard.press("O")
        page.wait_for_selector("#columns[open]")
        page.focus("[data-column=hostname] [data-by='-1']")
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.closest('li').dataset.column") == "hostname"
        assert page.inner_text("#said") == "Host, 1 of 10"
        page.focus("[data-column=parent_name] input")
        page.keyboard.press("Space")
        page.keyboard.press("Control+Enter")
        until(page, f"{facets}[0] === 'hostname'")
    with visiting() as visit:  # another browser of the same reader
        page = visit.open(path)
        page.wait_for_selector("#facets .facet")
        assert page.evaluate(facets)[:2] == ["hostname", "process_name"]
        assert "parent_name" not in page.evaluate(facets)
        page.keyboard.press("O")
        page.wait_for_selector("#columns[open]")
        assert not page.is_checked("[data-column=parent_name] input")
        page.check("[data-column=parent_name] input")
        page.keyboard.press("Control+Enter")
        until(page, f"{facets}.includes('parent_name')")


@pytest.mark.parametrize("width", [1440, 1000])
def test_the_tools_of_a_search_stand_in_one_line(visiting: Visiting, width: int) -> None:
    tops = """[...document.querySelectorAll(".tools > *")]
      .map((one) => one.getBoundingClientRect()).map(({ top, height }) => top + height / 2)"""
    with visiting(width=width) as visit:
        page = visit.open(f"/ui/process?t=all&q=hostname:{HOST}")
        page.wait_for_selector("tr[data-row]")
        page.focus("tr[data-row]")
        for _ in range(2):
            middles = page.evaluate(tops)
            assert len(middles) == 8
            assert max(middles) - min(middles) < 4
            assert page.get_by_role("button", name="Columns").count() == 1
            edge = "document.querySelector('%s').getBoundingClientRect().right"
            assert page.evaluate(edge % ".tools") <= page.evaluate(edge % "#results")
            page.keyboard.press("Enter")  # and beside what is open, too
            page.wait_for_selector("#flyout-title")


def test_a_row_says_on_how_many_hosts_its_program_is(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/process?t=all&q=hostname:{HOST} process_name:powershell.exe")
        cell = page.locator("td.c-standing").first
        assert int(cell.inner_text()) >= 1
        assert "host" in str(cell.get_attribute("title"))
