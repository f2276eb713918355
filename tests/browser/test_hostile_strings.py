"""200 strings that would be markup, script, addresses or commands, wherever senders and users can
write: on every screen they are text, nothing of them becomes an element or a request, and what is
copied from a screen as a call asks for what the screen shows and runs nothing of it."""

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.api.test_binary_reading import described, was_read
from tests.browser.conftest import Visit, Visiting
from tests.browser.test_list_tools import exported
from tests.browser.test_whole_views import COPYING
from tests.support.hostile_names import (
    HOST,
    MARK,
    STRINGS,
    send_long,
    send_programs,
    write_everywhere,
)
from tests.support.sensor import enrol, sending_secret
from tests.support.served import Server, start_server
from vedette.limits import TEXT_CHARS_MAX
from vedette.web.page.html import SHOWN_VALUE_CHARS_MAX
from vedette.web.page.untrusted import mixes_scripts, parts

INTRUDERS = """() => [...document.querySelectorAll(
  "img:not([src^='/api/v1/binary/']), iframe, object, embed, video, audio, math, base, " +
  "marquee, xmp, script:not([nonce]), " +
  "[onerror], [onload], [onclick], [onfocus], [onmouseover], [ontoggle], " +
  "[hx-get]:not([hx-nonce]), a[href^='javascript' i], a[href^='data' i], a[href^='//']")]
  .map((one) => one.outerHTML.slice(0, 200))"""
TITLES = """() => [...document.querySelectorAll("main [title], #flyout [title]")]
  .map((one) => one.title)
  .filter((text) => /[\\u0000-\\u001f\\u200b-\\u200f\\u202a-\\u202e\\u2066-\\u2069]/.test(text))"""
COPIED = """async () => {
  const copy = await import(new URL("copy.js",
    document.querySelector("script[type=module]").src));
  const call = copy.pageCall();
  return call && [copy.asCurl(call), copy.asPython(call)];
}"""
ROWS = "(all) => all.filter((one) => one.offsetParent).map((one) => one.dataset.row)"
RUN = """
import json, sys
for text in json.load(sys.stdin):
    names = {"__name__": "__main__"}
    exec(compile(text, "copied", "exec"), names)
    print(json.dumps(names["found"]))
"""
"""Runs programs one after the other, each by itself: the public client is slow to import."""
SCREENS = {
    "/ui/": "",
    "/ui/alerts?q=": "",
    "/ui/process?t=all": HOST,
    "/ui/process/{process}": "photo_U+202Egnp",
    "/ui/process/{process}?view=map": "photo_U+202Egnp",
    "/ui/binary": "photo_U+202Egnp",
    "/ui/binary/{md5}": "photo_U+202Egnp",
    "/ui/sensors": "onerror=alert(1)",
    "/ui/sensors/{sensor}": "onerror=alert(1)",
    "/ui/sensors/{host}": HOST,
    "/ui/bans": "onerror=alert(1)",
    "/ui/watchlists": "onerror=alert(1)",
    "/ui/watchlists/{watchlist}": "onerror=alert(1)",
    "/ui/sigma": "onerror=alert(1)",
    "/ui/sigma/{rule}": "onerror=alert(1)",
    "/ui/feeds": "onerror=alert(1)",
    "/ui/feeds/{feed}": "onerror=alert(1)",
    "/ui/filters": "onerror=alert(1)",
    "/ui/jobs": "",
    "/ui/access": "onerror=alert(1)",
    "/ui/access?tab=teams": "onerror=alert(1)",
    "/ui/access?tab=tokens": "onerror=alert(1)",
    "/ui/audit": "onerror=alert(1)",
    "/ui/me": "",
    "/ui/data": "",
    "/ui/data?tab=checks": "",
    "/ui/settings": "",
}
ASKED = ("/ui/sigma", "/ui/sensors")
"""Screens that are also asked with a query that would run something in a shell that reads it."""
NOT_ROWS = ("/ui/settings", "/ui/me", "/ui/process/", "/ui/alerts", "/ui/audit")
"""Their rows are parts of an answer, groups of it, or more than one answer."""


@dataclass(frozen=True)
class Shown:
    """Observations on one screen."""

    intruders: list[str]
    text: str
    copied: list[str] | None
    """Its call in a shell, and with the public client."""
    rows: list[str]
    hidden: list[str]
    """Titles with characters that are not seen or move others."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from start_server(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def known(server: Server) -> dict[str, str]:
    return write_everywhere(server)


@pytest.fixture(scope="module")
def mark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """File that exists if a shell executed part of a query."""
    return tmp_path_factory.mktemp("mark") / "ran"


@pytest.fixture(scope="module")
def walk(visiting: Visiting, known: dict[str, str], mark: Path) -> dict[str, Shown]:
    """Every screen, by its path."""
    query = f'?q=\'; touch {mark}; $(touch {mark}) `touch {mark}` "x"'
    with visiting() as visit:
        walked = {path: shown_on(visit, path.format(**known)) for path in SCREENS}
        return walked | {f"{path}?q": shown_on(visit, path + query) for path in ASKED}


def shown_on(visit: Visit, path: str) -> Shown:
    page = visit.open(path)
    visit.settle()
    intruders = page.evaluate(INTRUDERS)
    rows = page.locator("tr[data-row]").evaluate_all(ROWS)
    text = page.title() + page.inner_text("body")
    hidden = page.evaluate(TITLES)
    copied = page.evaluate(COPIED)
    page.emulate_media(media="print")
    intruders += page.evaluate(INTRUDERS)
    page.emulate_media(media="screen")
    return Shown(intruders, text, copied, rows, hidden)


def test_every_screen_shows_hostile_names_as_text(walk: dict[str, Shown]) -> None:
    for path, shown in walk.items():
        assert shown.intruders == [], path
        assert SCREENS.get(path, "") in shown.text, path


def ran(*words: str, environ: Mapping[str, str], given: str = "") -> list[Any]:
    """Runs a program and returns its output, one JSON value per line."""
    ended = subprocess.run(
        words, check=False, capture_output=True, text=True, env=environ, input=given
    )
    assert ended.returncode == 0, (words, ended.stderr[-2_000:])
    return [json.loads(line) for line in ended.stdout.strip().split("\n")]


def python_answers(programs: list[str], environ: Mapping[str, str]) -> list[Any]:
    """Returns the results of copied programs."""
    words = (sys.executable, "-W", "ignore", "-c", RUN)
    return ran(*words, environ=environ, given=json.dumps(programs))


def results_of(body: Any) -> list[Any]:
    if isinstance(body, list):
        return body
    found = body.get("results", body.get("findings", body))
    return found if isinstance(found, list) else [one for one in found.values() if one]


def test_each_screen_s_call_asks_for_what_it_shows(
    walk: dict[str, Shown], server: Server, mark: Path
) -> None:
    calls = {path: (*one.copied, one.rows) for path, one in walk.items() if one.copied}
    assert len(calls) > 15
    environ = os.environ | {
        **{"VEDETTE_TOKEN": server.token, "CURL_CA_BUNDLE": str(server.certificate)},
        **{"CBAPI_URL": server.url, "CBAPI_TOKEN": server.token, "CBAPI_SSL_VERIFY": "False"},
    }

    answers = python_answers([python for _, python, _ in calls.values()], environ)
    for (path, (curl, _, rows)), again in zip(calls.items(), answers, strict=True):
        (found,) = ran("bash", "-c", curl, environ=environ)
        assert len(results_of(again)) == len(results_of(found)), (path, curl)
        if not rows or path.startswith(NOT_ROWS):
            continue
        assert len(rows) == len(results_of(found)), (path, curl)
        text = json.dumps(found, ensure_ascii=False)
        named = [json.dumps(one, ensure_ascii=False) for one in rows if not one.isdigit()]
        assert [one for one in named if one not in text] == [], path
    assert not mark.exists()


def shown(text: str) -> str:
    """Returns the text by the rule for untrusted text: unusual characters named, look-alikes
    marked."""
    named = "".join(piece for _, piece in parts(text))
    return f"{named}mixed scripts" if mixes_scripts(text) else named


def test_200_strings_are_shown_by_one_rule_in_list_flyout_tree_and_events(
    visiting: Visiting, known: dict[str, str]
) -> None:
    wanted = {shown(one) for one in STRINGS}
    assert len(wanted) >= 200
    with visiting() as visit:
        page = visit.open("/ui/process?t=all&n=200&q=process_pid:[1000 TO 2000]&sort=start asc")
        visit.settle()
        cells = set(page.locator("td.cmdline").all_text_contents())
        page.goto(page.url + "&p=2")
        page.wait_for_selector("html[data-ready]")
        cells |= set(page.locator("td.cmdline").all_text_contents())
        assert {one for one in wanted if len(one) < 100} <= {one.strip() for one in cells} | cells
        for row in page.locator("tr[data-row]").all()[:3]:
            row.locator("td.time").click()
            page.wait_for_selector("#flyout .facts")
        assert page.evaluate(INTRUDERS) == []
        page = visit.open(f"/ui/process/{known['process']}")
        page.wait_for_selector("[data-loaded]")
        for pane in ("#events", "#tree"):
            page.focus(pane)
            for _ in range(12):
                page.keyboard.press("PageDown")
            assert page.evaluate(INTRUDERS) == []
        assert page.locator(".windowed-row").count() <= 300
        page.click("#copy-tree")
        page.wait_for_selector("#undo > div")


def test_a_hostile_value_is_found_as_text_by_the_omnibox_and_the_completions(
    visiting: Visiting, known: dict[str, str]
) -> None:
    with visiting() as visit:
        visit.expected.append("400")
        page = visit.open("/ui/process?t=all")
        for text in ("<img src=x onerror=alert(1)>", "' onmouseover=alert(1) x='", MARK):
            page.keyboard.press("Control+k")
            page.keyboard.insert_text(text)
            page.wait_for_selector("#omnibox .looked > *")
            assert page.evaluate(INTRUDERS) == []
            page.keyboard.press("Escape")
        page.click("textarea[name=q]")
        with page.expect_response(lambda one: "/query/suggest?" in one.url and "%3C" in one.url):
            page.keyboard.type("username:<")
        visit.settle()
        assert page.evaluate(INTRUDERS) == []
        page.fill("textarea[name=q]", MARK)
        page.keyboard.press("Enter")
        visit.settle()
        assert page.evaluate(INTRUDERS) == []


@pytest.fixture(scope="module")
def programs(
    server: Server, known: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    with server.client() as client, server.analyst() as analyst:
        sensor = enrol(client, "programs.example", sending_secret(server))
        found = send_programs(sensor, tmp_path_factory.mktemp("programs"))
        for md5 in found.values():
            assert "read_problems" in described(analyst, md5, was_read)
    return found


def test_what_a_program_says_of_itself_is_text_on_its_page_in_the_list_and_in_exports(
    visiting: Visiting, server: Server, programs: dict[str, str], tmp_path: Path
) -> None:
    path = f"/ui/binary?q={' OR '.join(f'md5:{one}' for one in programs.values())}"
    with server.analyst() as client:
        bodies = {
            one: client.get(f"/api/v1/binary/{one}/summary").json() for one in programs.values()
        }
    said = bodies[programs["described"]]
    texts = [said[one] for one in ("file_desc", "product_name", "company_name", "file_version")]
    assert all("onerror=alert(1)" in one for one in texts)
    with visiting() as visit:
        for name, md5 in programs.items():
            shown = shown_on(visit, f"/ui/binary/{md5}")
            assert shown.intruders == shown.hidden == []
            wanted = texts if name == "described" else [bodies[md5]["digsig_publisher"]]
            assert all(one in shown.text for one in wanted), name
        shown = shown_on(visit, path)
        assert shown.intruders == shown.hidden == []
        assert "<img src=x onerror=alert(1)>.exe" in shown.text
        assert visit.page.locator("td.firm bdi").count() >= 1
    text = exported(visiting, path, "c", tmp_path / "a.csv").decode()
    rows = {one["md5"].lower(): one for one in csv.DictReader(io.StringIO(text, newline=""))}
    assert rows[programs["described"]]["product_name"] == said["product_name"]
    assert set(programs.values()) <= set(rows)


LONG = (f"{MARK} " * 1_000).ljust(1_000_000, "x")
WHOLE = "(one) => one.textContent"


def test_a_command_line_of_a_megabyte_is_cut_and_whole_behind_a_button(
    visiting: Visiting, server: Server, known: dict[str, str]
) -> None:
    send_long(server, LONG)
    query = f"hostname:{HOST} process_pid:5000"
    with server.analyst() as client:
        (row,) = client.get("/api/v1/process", params={"q": query}).json()["results"]
    kept = row["cmdline"]
    assert len(kept) == TEXT_CHARS_MAX
    assert LONG.startswith(kept)
    most = SHOWN_VALUE_CHARS_MAX
    with visiting() as visit:
        page = visit.open(f"/ui/process?t=all&q={query}")
        visit.settle()
        assert page.inner_text("td.cmdline") == shown(kept[:600])
        page.evaluate(COPYING)
        page.click("td.time")
        page.wait_for_selector("#flyout .facts")
        first, rest = page.locator("#flyout div.mono > bdi"), page.locator("#flyout .rest bdi")
        assert first.evaluate(WHOLE) == f"{shown(kept[:most])}…"
        assert rest.is_hidden()
        page.click("#flyout .rest summary")
        assert rest.is_visible()
        assert rest.evaluate(WHOLE) == shown(kept[most:])
        assert page.evaluate(INTRUDERS) == []
        page = visit.open(f"/ui/process/{row['id']}")
        page.wait_for_selector("[data-loaded]")
        page.evaluate(COPYING)
        whole = page.locator(".about .rest .scroll")
        assert whole.is_hidden()
        page.focus(".about .rest summary")
        page.keyboard.press("Enter")
        assert whole.is_visible()
        assert whole.evaluate(WHOLE) == shown(kept)
        page.keyboard.press("Enter")
        page.click("#tree [role=row]:has-text('long.exe')")
        page.click("#details [aria-label='Copy commandLine']")
        assert page.evaluate("window.copied") == [kept]
        assert page.evaluate(INTRUDERS) == []
        assert page.evaluate("document.querySelectorAll('*').length") < 2_500


def test_titles_of_elements_have_no_hidden_characters(walk: dict[str, Shown]) -> None:
    assert {path: one.hidden for path, one in walk.items() if one.hidden} == {}
