"""Tools of a process analysis next to its panes: hidden parts of the tree, stored and missing data,
all events as a file, and new events of a running process."""

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.api.test_alerts import RULE, hit
from tests.browser.conftest import Visit, Visiting, until
from tests.support.served import Server
from tests.support.sysmon import Host
from tests.support.written_detections import alerted_server
from vedette.model.findings.detection import Detection

HOST = "tools.example"
FILES = 1_203
"""Which the shell wrote: more than a page of the export."""
COUNT = FILES + 7
FORMULA = "C:\\=1+1,<img src=x onerror=alert(1)>.txt"
PICTURE = "document.querySelector('#timeline canvas').toDataURL()"


class Story:
    """A shell that started helpers, one program five times, and what made an alert."""

    def __init__(self) -> None:
        self.host = Host(HOST)
        self.host.began_s -= 600
        self.shell = self.host.process(1000, "C:\\Windows\\cmd.exe")
        below = [
            self.host.process(1001, "C:\\Windows\\conhost.exe", after_s=1),
            *(
                replace(self.host.process(pid, "C:\\ping.exe", after_s=pid - 1000), md5="ab" * 16)
                for pid in range(1010, 1015)
            ),
            self.host.process(1020, "C:\\evil.exe", after_s=30),
        ]
        self.records = [
            self.host.created(self.shell, self.host.process(900, "C:\\Windows\\explorer.exe")),
            *(self.host.created(one, self.shell) for one in below),
        ]
        self.host.record_id += 7  # which never arrive
        self.records += [self.written(at, 40 + at / 100) for at in range(FILES)]

    def written(self, at: int, after_s: float) -> dict[str, Any]:
        name = FORMULA if at == 0 else f"C:\\made\\{at}.txt"
        return self.host.of(self.shell, 11, after_s, TargetFilename=name)


STORY = Story()


def send(server: Server, records: list[dict[str, Any]]) -> None:
    with server.sender() as sender:
        assert sender.post("/api/v1/ingest", json=records).status_code == 200


def process(server: Server, name: str) -> dict[str, Any]:
    with server.analyst() as client:
        query = {"q": f"hostname:{HOST} process_name:{name}", "rows": 1}
        return dict(client.get("/api/v1/process", params=query).json()["results"][0])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    def detect(server: Server) -> list[Detection]:
        send(server, STORY.records)
        return [hit(process(server, "evil.exe"), RULE, "why it fired")]

    with alerted_server(tmp_path_factory.mktemp("tools"), detect) as running:
        yield running


@pytest.fixture(scope="module")
def shell(server: Server) -> str:
    return str(process(server, "cmd.exe")["id"])


def opened(visit: Visit, path: str) -> Any:
    page = visit.open(path)
    page.wait_for_selector("[data-loaded]")
    page.wait_for_selector("#stored [data-standing]")
    visit.settle()
    return page


def said(more: int = 0) -> str:
    """Returns the number of events as the page formats it."""
    return f"{COUNT + more:,}".replace(",", "\u2009")


def names(page: Any) -> list[str]:
    return list(page.locator("#tree .windowed-row:visible .lead b").all_inner_texts())


def test_the_tree_leaves_out_what_its_reader_says_and_counts_it(
    visiting: Visiting, shell: str
) -> None:
    with visiting() as visit:
        page = opened(visit, f"/ui/process/{shell}")
        all_names = names(page)
        assert all_names.count("ping.exe") == 5
        assert {"conhost.exe", "evil.exe", "explorer.exe"} <= set(all_names)
        assert page.locator("#tree .i-sev-high").count() == 1
        page.keyboard.press("H")
        assert set(all_names) - set(names(page)) == {"conhost.exe"}
        assert page.inner_text("#tree-status") == "1 hidden"
        page.keyboard.press("O")
        assert names(page).count("ping.exe") == 1
        assert "× 5" in page.inner_text("#tree")
        assert page.inner_text("#tree-status") == "5 hidden"
        page.locator("#tree .windowed-row", has_text="ping.exe").locator(".twisty").click()
        assert names(page).count("ping.exe") == 5
        page.keyboard.press("A")
        assert names(page) == ["explorer.exe", "cmd.exe", "evil.exe"]
        assert page.url.endswith("tree=helpers.same.marked")
        again = opened(visit, page.url.removeprefix(visit.url))
        assert names(again) == ["explorer.exe", "cmd.exe", "evil.exe"]
        for key in "HOA":
            again.keyboard.press(key)
        assert names(again) == all_names


def test_the_head_says_what_is_stored_and_what_is_missing(
    visiting: Visiting, server: Server, shell: str
) -> None:
    with visiting() as visit:
        page = opened(visit, f"/ui/process/{shell}")
        head = page.inner_text("#stored")
        with server.analyst() as client:
            known = client.get("/api/v1/storage/events/partition").json()
        assert f"in {next(iter(known))}" in head
        assert "running, " in head
        assert "missing events from the sensor" in head
        gaps = json.loads(str(page.get_attribute("[data-gaps]", "data-gaps")))
        assert len(gaps) == 1
        page.click("#timeline-twin summary")
        page.wait_for_selector("#timeline-table table")


def test_of_another_group_there_is_nothing_to_be_read_of_what_is_stored(
    server: Server, shell: str
) -> None:
    with server.client() as client:
        path = f"/ui/_/analysis/{shell}/stored"
        assert client.get(path, headers={"hx-request": "true"}).status_code == 401
    with server.analyst() as client:
        assert client.get("/ui/_/analysis/x/stored").status_code == 400
        unknown = "0000ffff-0000-0000-0000-000000000001"
        assert client.get(f"/ui/_/analysis/{unknown}/stored").status_code == 404


@pytest.mark.parametrize("key", ["j", "c"])
def test_all_events_are_exported_after_their_number_was_said(
    visiting: Visiting, shell: str, tmp_path: Path, key: str
) -> None:
    with visiting() as visit:
        page = opened(visit, f"/ui/process/{shell}")
        page.focus("#events")
        page.keyboard.press("E")
        page.wait_for_selector("#menu:not([hidden])")
        assert f"{said()} rows" in page.inner_text("#menu")
        with page.expect_download() as waiting:
            page.keyboard.press(key)
        waiting.value.save_as(tmp_path / "events")
    text = (tmp_path / "events").read_text()
    if key == "j":
        lines = [json.loads(line) for line in text.splitlines()]
        assert len(lines) == COUNT
        assert {one["data"].get("path") for one in lines} >= {FORMULA, "C:\\made\\1202.txt"}
    else:
        rows = list(csv.DictReader(text.splitlines()))
        assert len(rows) == COUNT
        assert rows[0]["kind"] == "childproc"
        assert FORMULA in {one["path"] for one in rows}


def test_a_process_that_runs_is_followed_until_it_has_ended(
    visiting: Visiting, server: Server, shell: str
) -> None:
    with visiting() as visit:
        page = opened(visit, f"/ui/process/{shell}")
        page.keyboard.press("L")
        assert page.get_attribute("#follow", "aria-pressed") == "true"
        assert "follow=1" in page.url
        send(server, [STORY.written(9_001, 400.0)])
        until(page, f"document.getElementById('event-status').textContent.startsWith('{said(1)}')")
        page.keyboard.press("3")
        page.keyboard.press("End")  # where no row was active: the first
        page.keyboard.press("End")
        page.wait_for_selector("#events :text('9001.txt')")
        send(server, [STORY.host.of(STORY.shell, 5, 500.0)])
        page.wait_for_selector("#stored [data-standing=ended]")
        page.wait_for_selector("#follow[aria-pressed=false]")
        assert "complete" in page.inner_text("#stored")
        page.reload()
        page.wait_for_selector("[data-loaded]")
        assert page.locator("#follow").count() == 0


def test_a_click_on_the_whole_time_moves_what_is_looked_at(visiting: Visiting, shell: str) -> None:
    with visiting() as visit:
        page = opened(visit, f"/ui/process/{shell}")
        page.keyboard.press("2")
        for _ in range(3):
            page.keyboard.press("+")
        box = page.locator("#timeline canvas").bounding_box()
        before = page.evaluate(PICTURE)
        page.mouse.click(box["x"] + box["width"] - 30, box["y"] + box["height"] - 5)
        until(page, f"{PICTURE} !== {json.dumps(before)}")


def test_a_time_that_is_typed_is_gone_to_by_keys(visiting: Visiting, shell: str) -> None:
    with visiting() as visit:
        page = opened(visit, f"/ui/process/{shell}")
        wanted = page.evaluate("document.querySelector('#events .time').title")
        page.keyboard.press("J")
        for text in (f"{wanted[11:19]}", wanted[:19], wanted.replace(" ", "T")):
            page.fill("#event-time", text)
            page.keyboard.press("Enter")
            until(page, "new URL(location.href).searchParams.has('sel')")
            assert page.get_attribute("#event-time", "aria-invalid") == "false"
        for text in ("<b>", "2100-01-01", "25:99"):
            page.fill("#event-time", text)
            page.keyboard.press("Enter")
            until(page, "document.querySelector('#event-time').ariaInvalid === 'true'")
            page.fill("#event-time", wanted)
            page.keyboard.press("Enter")
            until(page, "document.querySelector('#event-time').ariaInvalid === 'false'")


def test_what_is_known_of_a_selected_value_and_its_call_are_there(
    visiting: Visiting, shell: str
) -> None:
    """`y c` copies the events of the segment that the selected event is in."""
    with visiting() as visit:
        page = opened(visit, f"/ui/process/{shell}")
        assert page.get_attribute("#call", "data-path") == f"/api/v1/process/{shell}/tree"
        page.locator("#tree .windowed-row", has_text="ping.exe").first.click()
        page.wait_for_selector("#details p:text('processes on 1 host')")
        program = page.locator("#details a:text('Program')")
        assert program.get_attribute("href") == f"/ui/binary/{'ab' * 16}"
        page.locator("#events [role=row]", has_text="ping.exe").first.click()
        path = str(page.get_attribute("#call", "data-path"))
        assert path.startswith(f"/api/v1/process/{shell}/")
        found = page.evaluate("(path) => fetch(path).then((one) => one.json())", path)
        assert "ping.exe" in json.dumps(found["process"]["childproc_complete"])
