"""Pages show values as they are: numbers are never cut, long values do not stretch rows, a timeline
is where its process is, and nothing of the console's own markup or code is shown as text."""

from collections.abc import Iterator

import pytest

from tests.browser.conftest import Visiting
from tests.support.served import Server, hire, open_group, start_server
from tests.support.sysmon import Host
from vedette.model.principal import Role

FILES = 1_362
LONG = "a name that goes on " * 12
CUT_NUMBERS = r"""() => [...document.querySelectorAll("td, dd, b, span, a")]
  .filter((one) => !one.childElementCount && /^[\d\u2009.,]+[kMG]?$/.test(one.textContent.trim()))
  .filter((one) => {
    for (let box = one; box && box !== document.body; box = box.parentElement) {
      const style = getComputedStyle(box);
      if (style.textOverflow === "ellipsis" && style.overflowX !== "visible"
          && box.scrollWidth > box.clientWidth) return true;
    }
    return false;
  }).map((one) => one.textContent)"""


ROW_HEIGHTS = """() => [...document.querySelectorAll("[data-grid] tbody tr")]
  .map((row) => row.getBoundingClientRect().height)"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    for server in start_server(tmp_path_factory.mktemp("exact")):
        group_id, secret = open_group(server, "Exact <i>")
        hire(server, "wanda", {1: Role.VIEWER})
        assert group_id != 1
        host = Host("exact-1.example")
        shell = host.process(4_242, "C:\\Windows\\System32\\cmd.exe")
        idle = host.process(4_243, "C:\\Windows\\System32\\idle.exe")
        one = host.process(4_244, "C:\\Windows\\System32\\one.exe")
        other = host.process(4_245, "C:\\Windows\\System32\\other.exe")
        # Records may claim that a process is its own ancestor.
        records = [host.created(shell, shell), host.created(idle, shell)]
        records += [host.created(one, other), host.created(other, one)]
        records += [
            host.record(
                11,
                shell.started_s + 1,
                ProcessGuid=shell.guid,
                ProcessId=shell.pid,
                Image=shell.image,
                TargetFilename=f"C:\\Temp\\{number}.txt",
            )
            for number in range(FILES)
        ]
        with server.client(Authorization=f"Bearer {secret}") as client:
            client.post("/api/v1/ingest", json=records).raise_for_status()
        with server.analyst() as client:
            for name in (LONG, "short"):
                watchlist = {
                    "name": name,
                    "search_query": "q=cmdline:never",
                    "index_type": "events",
                }
                client.post("/api/v1/watchlist", json=watchlist).raise_for_status()
        yield server


@pytest.mark.parametrize("width", [1_024, 1_280, 1_700])
def test_a_number_is_never_cut(visiting: Visiting, width: int) -> None:
    with visiting(width=width) as visit:
        page = visit.open("/ui/process?t=all&q=process_name:cmd.exe")
        visit.settle()
        assert page.evaluate(CUT_NUMBERS) == []
        counts = page.locator("tr[data-row] td.count")
        assert counts.first.inner_text() == "1.4k"
        assert counts.first.get_attribute("title") == "1\u2009362"


def test_one_long_value_does_not_stretch_its_row(visiting: Visiting) -> None:
    with visiting(width=1_280) as visit:
        for path in ("/ui/watchlists", "/ui/audit"):
            page = visit.open(path)
            visit.settle()
            page.evaluate("document.activeElement.blur()")  # the row in focus shows all of it
            heights = page.evaluate(ROW_HEIGHTS)
            assert max(heights) <= 4 * min(heights), path


def test_the_timeline_of_a_process_without_events_is_where_the_process_is(
    visiting: Visiting, server: Server
) -> None:
    with server.analyst() as client:
        query = {"q": "process_name:idle.exe"}
        (row,) = client.get("/api/v1/process", params=query).json()["results"]
    with visiting() as visit:
        page = visit.open(f"/ui/process/{row['id']}")
        page.wait_for_selector("#timeline-twin", state="attached")
        page.evaluate("document.getElementById('timeline-twin').open = true")
        since, until = page.evaluate(
            "(({since, until}) => [since, until])(document.getElementById('analysis').dataset)"
        )
        assert int(since) > 1_600_000_000_000
        assert int(until) >= int(since)
        assert "1970" not in page.inner_text("main")


@pytest.mark.parametrize("name", ["cmd.exe", "one.exe", "other.exe"])
def test_the_tree_of_a_process_that_claims_to_be_its_own_ancestor_is_shown(
    visiting: Visiting, server: Server, name: str
) -> None:
    with server.analyst() as client:
        query = {"q": f"process_name:{name} hostname:exact-1.example"}
        (row,) = client.get("/api/v1/process", params=query).json()["results"]
    with visiting() as visit:
        page = visit.open(f"/ui/process/{row['id']}")
        visit.settle()
        assert name in page.inner_text("#tree")


def test_names_of_groups_beside_a_user_are_text(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/access")
        page.click("tr[aria-label=wanda] td")
        page.wait_for_selector("#flyout-title")
        visit.settle()
        assert "No access: Exact <i>" in page.inner_text("#flyout")
        assert "<bdi" not in page.inner_text("body")


def test_of_rules_that_are_tried_only_results_are_shown(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/sigma")
        page.click("[data-dialog=import]")
        page.fill("#import textarea", "title: tried\nlogsource: {category: process_creation}\n")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#import [data-tried] li")
        assert "false" not in page.inner_text("#import [data-tried]")


def test_at_twice_the_size_nothing_lies_beside_the_page(visiting: Visiting) -> None:
    with visiting(width=640, height=400) as visit:
        page = visit.open("/ui/process?t=all&q=process_name:cmd.exe")
        visit.settle()
        page.click("tr[data-row] td:first-child")
        page.wait_for_selector("#flyout-title")
        sides = page.evaluate(
            """() => [document.documentElement.clientWidth,
                      document.getElementById("flyout").getBoundingClientRect().right,
                      document.documentElement.scrollWidth]"""
        )
        assert sides[1] <= sides[0]
        assert sides[2] <= sides[0]
