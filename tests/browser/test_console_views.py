"""Every view is its address; what is copied from it asks for the same; and it prints."""

import json
import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.browser.conftest import SHARED, Visit, Visiting
from tests.support.served import Server, wait_for
from tests.support.sysmon import story

pytestmark = SHARED

HOST = "views.example"
ROWS = "(all) => all.map((one) => one.dataset.row)"
SCREENS = (
    "/ui/alerts?q=",
    "/ui/process?t=all",
    "/ui/process?t=all&q=-process_name:cmd.exe&group=none",
    "/ui/sensors",
    "/ui/binary",
    "/ui/bans",
    "/ui/watchlists",
    "/ui/sigma?q=powershell",
    "/ui/sigma/coverage",
    "/ui/feeds",
    "/ui/filters",
)


@pytest.fixture(scope="module", autouse=True)
def reported(server: Server) -> None:
    """Its addresses are written some seconds after its events: a list of sensors is compared."""
    with server.sender() as client:
        assert client.post("/api/v1/ingest", json=story(HOST).records).status_code == 200
    with server.analyst() as analyst:

        def address() -> str:
            (sensor,) = analyst.get("/api/v1/sensor", params={"hostname": HOST}).json()
            return str(sensor["network_adapters"]).partition(",")[0]

        assert wait_for(address, "10.0.0.5") == "10.0.0.5"


def text_of(visit: Visit) -> str:
    """Returns the text of a screen, without durations and times."""
    visit.settle()
    measured = r"\d[\d\u2009]* ms|\d+ (?:[smhd]|min)\b|T\d\S+Z| \d\d:\d\d:\S+"
    return re.sub(measured, "", visit.page.inner_text("main"))


def test_a_copied_link_shows_the_same_to_somebody_else(visiting: Visiting) -> None:
    script = """async () => {
      const url = new URL("copy.js", document.querySelector("script[type=module]").src);
      return (await import(url)).absoluteLink();
    }"""
    with visiting() as mine, visiting() as theirs:
        for path in SCREENS:
            page = mine.open(path)
            shown, link = text_of(mine), page.evaluate(script)
            assert "seen=" in link
            theirs.open(link.removeprefix(theirs.url))
            assert text_of(theirs) == shown, path


@pytest.mark.parametrize("path", ["/ui/process?t=-24h", "/ui/process", "/ui/alerts?q=&t=-7d"])
def test_a_relative_time_is_absolute_in_a_copied_link(visiting: Visiting, path: str) -> None:
    with visiting() as visit:
        page = visit.open(path)
        visit.settle()
        shown = page.locator("tr[data-row]").evaluate_all(ROWS)
        link = page.evaluate(
            """async () => (await import(new URL("copy.js",
              document.querySelector("script[type=module]").src))).absoluteLink()"""
        )
        assert re.search(r"[?&]t=\d{4}-\d\d-\d\dT[^&]*\.\.\d{4}", link.replace("%3A", ":"))
        page.goto(link)
        visit.settle()
        assert page.locator("tr[data-row]").evaluate_all(ROWS) == shown
        assert page.input_value("select[name=t]") in link.replace("%3A", ":")


def test_a_link_of_a_long_query_is_short_and_shows_the_same(visiting: Visiting) -> None:
    script = """async () => (await import(new URL("copy.js",
      document.querySelector("script[type=module]").src))).absoluteLink()"""
    others = " ".join(f"-process_name:no-such-program-{number}.exe" for number in range(200))
    with visiting() as mine, visiting() as theirs:
        page = mine.open(f"/ui/process?{urlencode({'t': 'all', 'q': f'hostname:{HOST} {others}'})}")
        shown, link = text_of(mine), page.evaluate(script)
        assert re.fullmatch(re.escape(mine.url) + r"/ui/s/[\w-]{10,20}", link)
        theirs.open(link.removeprefix(theirs.url))
        assert text_of(theirs) == shown
        assert len(theirs.page.input_value("textarea[name=q]")) > 2_000
        theirs.expected.append("404")
        theirs.open("/ui/s/forgotten")
        assert "Not found" in theirs.page.inner_text("main")


def test_a_copied_call_asks_for_the_same_and_runs_nothing(
    visiting: Visiting, server: Server, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    hostile = f"hostname:{HOST} -cmdline:\"'; touch {mark}; $(touch {mark}) `touch {mark}` '\""
    with visiting() as visit:
        page = visit.page
        page.goto(visit.url + "/ui/process?t=all")
        page.wait_for_selector("html[data-ready]")
        page.fill("textarea[name=q]", hostile)
        page.click("button.primary")
        page.wait_for_url("**touch**")
        visit.settle()
        shown = page.locator("tr[data-row]").evaluate_all("(all) => all.map((r) => r.dataset.row)")
        copied = page.evaluate(
            """async () => {
              const copy = await import(new URL("copy.js",
                document.querySelector("script[type=module]").src));
              return [copy.asCurl(copy.pageCall()), copy.asPython(copy.pageCall())];
            }"""
        )
    known = os.environ | {
        "VEDETTE_TOKEN": server.token,
        "CURL_CA_BUNDLE": str(server.certificate),
    }
    ended = subprocess.run(
        ["bash", "-c", copied[0]], check=True, capture_output=True, text=True, env=known
    )
    found = json.loads(ended.stdout)["results"]
    assert [one["id"] for one in found] == shown != []
    assert not mark.exists()
    compile(copied[1], "copied", "exec")


def test_an_analysis_prints_without_what_only_a_screen_needs(
    visiting: Visiting, server: Server
) -> None:
    with server.analyst() as client:
        query = {"q": f"hostname:{HOST}", "rows": 1}
        row = client.get("/api/v1/process", params=query).json()["results"][0]
    with visiting() as visit:
        page = visit.open(f"/ui/process/{row['id']}")
        page.wait_for_selector("[data-loaded]")
        assert page.is_visible(".nav")
        page.emulate_media(media="print")
        assert not page.is_visible(".nav")
        assert page.is_visible(".print-head")
        assert "UTC" in page.inner_text("body") or "Z" in page.inner_text(".print-head")
        assert page.pdf()[:5] == b"%PDF-"


def test_going_back_and_forward_restores_each_view(visiting: Visiting) -> None:
    with visiting() as visit:
        seen = []
        for path in SCREENS[:6]:
            page = visit.open(path)
            seen.append((text_of(visit), page.url))  # the first alert opens, and is in the address
        for shown, url in reversed(seen[:-1]):
            page.go_back()
            page.wait_for_selector("html[data-ready]")
            assert (text_of(visit), page.url) == (shown, url)
        for shown, url in seen[1:]:
            page.go_forward()
            page.wait_for_selector("html[data-ready]")
            assert (text_of(visit), page.url) == (shown, url)


def test_what_is_folded_or_filtered_is_in_the_address(visiting: Visiting, server: Server) -> None:
    with server.analyst() as client:
        query = {"q": f"hostname:{HOST} process_name:powershell.exe", "rows": 1}
        row = client.get("/api/v1/process", params=query).json()["results"][0]
    with visiting() as visit:
        page = visit.open("/ui/process?t=all")
        page.keyboard.press("Escape")
        page.click("[data-action=toggle-facets]")
        assert "rail=off" in page.url
        page.reload()
        page.wait_for_selector("html[data-ready]")
        assert not page.is_visible("#facets")
        page.fill("textarea[name=q]", f"hostname:{HOST}")
        page.click(".query-line .primary")  # a new search leaves it so
        page.wait_for_url("**hostname**")
        visit.settle()
        assert not page.is_visible("#facets")
        page = visit.open(f"/ui/process/{row['id']}")
        page.wait_for_selector("[data-loaded]")
        page.click("#kinds button:enabled >> nth=0")
        page.fill("#event-filter", "evil")
        shown = page.inner_text("#event-status")
        page.goto(page.url)
        page.wait_for_selector("[data-loaded]")
        assert page.inner_text("#event-status") == shown
        assert page.input_value("#event-filter") == "evil"
        assert page.locator("#kinds button[aria-pressed=false]").count() == 1
