"""Process search and process analysis in a real browser, over telemetry that is hostile."""

import json
from typing import Any

import pytest

from tests.browser.conftest import SHARED, Visiting
from tests.support.page_budget import PAGE_GZIP_BYTES_MAX
from tests.support.served import Server
from tests.support.sysmon import Host

pytestmark = SHARED

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    '"><svg onload=alert(3)>',
    "' onmouseover=alert(4) x='",
    "javascript:alert(5)",
    "{{ 7*7 }}{% raw %}${8*8}",
    "<a hx-get=/ui/_/home/alerts hx-trigger=load>x</a>",
    "PREPREPRE<b>POSTPOSTPOST",
    "</textarea></title></template><b>",
    "&lt;b&gt;&#60;",
    '{"a":"b"}\\u003cb\\u003e',
    "expression(alert(6)) url(//x.example/)",
)
BIDI = "photo_\u202egnp.exe"


@pytest.fixture(scope="module")
def reported(server: Server) -> dict[str, Any]:
    """A host whose processes have hostile command lines and users, below one that is called like
    a picture."""
    host = Host("hostile.example")
    parent = host.process(900, f"C:\\Users\\{BIDI}", f"C:\\Users\\{BIDI}")
    children = [
        host.process(1_000 + at, f"C:\\t{at}.exe", text, 10 + at) for at, text in enumerate(HOSTILE)
    ]
    shell = host.process(880, "C:\\Windows\\explorer.exe")
    records = [host.created(parent, shell), *(host.created(one, parent) for one in children)]
    records += [
        host.of(parent, 11, 30 + at, TargetFilename=f"C:\\x\\{text}", CreationUtcTime="")
        for at, text in enumerate(HOSTILE)
    ]
    body = "".join(f'{{"create":{{}}}}\n{json.dumps(one)}\n' for one in records)
    with server.sender() as sender:
        answer = sender.post(
            "/_bulk", content=body, headers={"Content-Type": "application/x-ndjson"}
        )
        assert not answer.json()["errors"], answer.text
    with server.analyst() as analyst:
        query = {"q": "process_pid:900 hostname:hostile.example", "rows": 1}
        found = analyst.get("/api/v1/process", params=query).json()["results"]
    return dict(found[0])


def test_hostile_telemetry_is_text_in_the_list_and_beside_it(
    visiting: Visiting, reported: dict[str, Any]
) -> None:
    with visiting() as visit:
        page = visit.open("/ui/process?t=all&q=hostname:hostile.example")
        visit.settle()
        shown = page.locator("td.cmdline").all_inner_texts()
        assert set(HOSTILE) <= set(shown)
        assert page.locator("#results svg[onload], #results img, #results script").count() == 0
        for row in page.locator("tr[data-row]").all()[:4]:
            row.locator("td.time").click()
            page.wait_for_selector("#flyout-title")


def test_a_name_that_reads_backwards_shows_what_turns_it(
    visiting: Visiting, reported: dict[str, Any]
) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/process/{reported['id']}")
        page.wait_for_selector("[data-loaded]")
        assert "photo_U+202Egnp.exe" in page.title()
        assert "photo_U+202Egnp.exe" in page.inner_text("h1")
        assert "photo_U+202Egnp.exe" in page.inner_text("#tree")
        assert page.locator("#tree .windowed-row").count() <= 150


def test_a_value_is_excluded_included_and_alone_by_keys(
    visiting: Visiting, reported: dict[str, Any]
) -> None:
    with visiting() as visit:
        page = visit.open("/ui/process?t=all&q=hostname:hostile.example")
        visit.settle()
        total = page.locator("tr[data-row]").count()
        page.locator("tr[data-row]").first.focus()
        for _ in range(4):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("-")
        page.wait_for_url("**-process_name**")
        visit.settle()
        assert page.locator("tr[data-row]").count() == total - 1
        page.go_back()
        page.wait_for_selector("html[data-ready]")
        assert page.locator("tr[data-row]").count() == total


def test_a_query_that_cannot_be_read_says_where(
    visiting: Visiting, reported: dict[str, Any]
) -> None:
    with visiting() as visit:
        visit.expected.append("400")
        page = visit.open("/ui/process?t=all&q=process_name:a%20AND%20(")
        assert "Invalid query" in page.inner_text("#results")


def test_an_event_that_is_selected_is_selected_in_all_panes(
    visiting: Visiting, reported: dict[str, Any]
) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/process/{reported['id']}")
        page.wait_for_selector("[data-loaded]")
        page.keyboard.press("2")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        said = page.get_attribute(".timeline-cursor", "aria-valuetext")
        assert "mark 2 of" in said
        assert page.locator("#events [aria-selected=true]").count() == 1
        assert page.inner_text("#details h2") != ""
        assert "sel=" in page.url
        page.keyboard.press("v")
        assert page.locator("#map canvas").count() == 1


def test_a_search_page_is_light(visiting: Visiting, reported: dict[str, Any]) -> None:
    with visiting() as visit:
        page = visit.open("/ui/process?t=all")
        visit.settle()
        assert page.evaluate("document.querySelectorAll('*').length") <= 2_500
        sent, decoded = page.evaluate(
            """() => {
              const [page] = performance.getEntriesByType("navigation");
              return [page.encodedBodySize, page.decodedBodySize];
            }"""
        )
        assert sent < decoded
        assert sent <= PAGE_GZIP_BYTES_MAX


@pytest.mark.parametrize("path", ["/ui/", "/ui/process?t=all", "/ui/process/ID"])
def test_nothing_scrolls_sideways_on_a_narrow_screen(
    visiting: Visiting, reported: dict[str, Any], path: str
) -> None:
    with visiting(width=320, height=700) as visit:
        page = visit.open(path.replace("ID", reported["id"]))
        visit.settle()
        assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_a_process_is_watched_banned_and_its_host_isolated_from_the_analysis(
    visiting: Visiting, reported: dict[str, Any], server: Server
) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/process/{reported['id']}")
        page.wait_for_selector("[data-loaded]")
        isolate = page.locator("[data-dialog=isolate]")
        assert isolate.get_attribute("aria-disabled") == "true"  # only a log shipper is there
        assert "no Vedette sensor" in isolate.get_attribute("title")
        page.keyboard.press("i")
        assert page.locator("#isolate[open]").count() == 0
        page.keyboard.press("b")
        page.wait_for_selector("#ban[open] [data-known]")
        assert page.input_value("#ban [name=md5hashes]") == reported["process_md5"]
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#ban:not([open])", state="attached")
    with server.analyst() as client:
        bans = client.get("/api/v1/banning/blacklist").json()
        assert reported["process_md5"] in {one["md5hash"] for one in bans}
    with visiting() as visit:
        page = visit.open(f"/ui/process/{reported['id']}")
        page.wait_for_selector("[data-loaded]")
        page.keyboard.press("w")
        page.wait_for_url("**/ui/watchlists/new**")
        assert page.input_value("[name=search_query]").startswith('process_name:"photo_')
        page.wait_for_selector("[data-result] table")


def test_starts_are_counted_by_weekday_and_hour(
    visiting: Visiting, reported: dict[str, Any]
) -> None:
    with visiting() as visit:
        page = visit.open("/ui/process?t=all&q=hostname:hostile.example")
        page.wait_for_selector("summary:text('By weekday and hour')")
        page.click("summary:text('By weekday and hour')")
        page.wait_for_selector("table.week")
        cells = page.locator("table.week td.num").all_inner_texts()
        rows = page.locator("tr[data-row]").count()
        assert len(cells) == 7 * 24
        assert sum(int(cell) for cell in cells if cell != "·") <= rows
        assert any(cell != "·" for cell in cells)


def test_the_bars_have_a_table_that_says_the_same(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/process?t=all&q=hostname:hostile.example")
        page.wait_for_selector("figure.over-time path")
        bars = page.locator("figure.over-time path").get_attribute("d").count("M")
        page.click("summary:text('Show as table')")
        page.wait_for_selector(".over-time table")
        counts = page.locator(".over-time table td.num").all_inner_texts()
        assert len(counts) == bars
        assert sum(map(int, counts)) == page.locator("tr[data-row]").count()


def test_the_bars_are_made_of_the_values_of_a_facet(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/process?t=all&q=hostname:hostile.example")
        page.wait_for_selector("figure.over-time path")
        page.select_option("[name=by]", "process_name")
        page.wait_for_selector("figure.over-time .legend li")
        assert "by=process_name" in page.url
        counted = page.locator(".over-time .legend b").all_inner_texts()
        assert len(counted) == page.locator(".over-time path:not([d=''])").count() <= 6
        assert sum(map(int, counted)) == page.locator("tr[data-row]").count()
        assert "record" in page.inner_text(".status")
        page.click("summary:text('Show as table')")
        page.wait_for_selector(".over-time table")
        parts = page.locator(".over-time table td.part").all_inner_texts()
        assert sum(map(int, parts)) == page.locator("tr[data-row]").count()
        page.reload()
        page.wait_for_selector("figure.over-time .legend li")


def test_saved_and_recent_searches_are_a_key_away(visiting: Visiting, server: Server) -> None:
    with server.analyst() as client:
        kept = {"view": "process", "params": "q=hostname%3Ahostile.example&t=all", "shared": True}
        for name in ("Kept <b>here</b>", "Another screen's"):
            body = kept | {"name": name, "view": "process" if name[0] == "K" else "binary"}
            assert client.post("/api/v1/saved_search", json=body).status_code == 200
    with visiting() as visit:
        page = visit.open("/ui/process?t=all")
        page.fill("[name=q]", "hostname:hostile.example path:<i>")
        page.keyboard.press("Enter")
        page.wait_for_url("**path**")
        page.focus("tr[data-row], [data-action=kept]")
        page.keyboard.press("S")
        page.wait_for_selector("#menu [role=menuitem]")
        items = page.locator("#menu [role=menuitem]").all_inner_texts()
        assert items[0] == "Kept <b>here</b>"
        assert "hostname:hostile.example path:<i>" in items
        assert "Another screen's" not in items
        page.keyboard.press("Enter")
        page.wait_for_url("**q=hostname%3Ahostile.example&t=all")
        page.wait_for_selector("tr[data-row]")
