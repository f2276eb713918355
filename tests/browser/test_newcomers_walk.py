"""The first walk of docs/console-first-walk.md: a demo, the link, six attacks to their root cause,
a host isolated, a program banned, a watchlist, and an empty queue."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import Visiting, until
from vedette.simulate.stories import STORIES

START_S = 180
ROOTS = {
    "parent_name:java": "java",
    "parent_name:winword.exe": "WINWORD.EXE",
    "os_type:osx": "MeetNote",
    "parent_name:w3wp.exe": "w3wp.exe",
    "cmdline:comsvcs.dll": "WmiPrvSE.exe",
    "delete shadows": "haltlock.exe",
}
"""Process that began each attack, by part of the query that finds it."""


class Demo:
    def __init__(self, link: str) -> None:
        self.link = link
        self.url = link.partition("/ui/")[0]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """A small day, whose attacks are those of the large one."""
    data = tmp_path_factory.mktemp("walk") / "demo-data"
    command = [sys.executable, "-m", "vedette", "demo", "--data", str(data), "--port", "0"]
    command += ["--events", "4000"]
    quiet = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=quiet) as process:
        assert process.stdout is not None
        printed = []
        for line in process.stdout:
            printed.append(line)
            if line.startswith("Ctrl-C"):
                break
        found = re.search(r"https://\S+/ui/sign-in\S+", "".join(printed))
        assert found, "".join(printed)
        yield Demo(found[0])
        process.send_signal(signal.SIGINT)
        process.wait(timeout=START_S)


@pytest.fixture(scope="module")
def session(chromium: Any, server: Demo) -> dict[str, Any]:
    """The link is opened, and its button pressed."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(server.link)
    page.click("[data-by-link] button.primary, button.primary")
    page.wait_for_url("**/ui/alerts")
    page.wait_for_selector("#flyout .lineage")
    assert page.locator("tr.group").count() > 10
    (cookie,) = context.cookies()
    context.close()
    return dict(cookie)


def test_each_attack_is_followed_to_what_began_it(visiting: Visiting, server: Demo) -> None:
    with visiting() as visit:
        for story in STORIES:
            wanted = next(root for part, root in ROOTS.items() if part in story.query)
            page = visit.page
            page.goto(f"{server.url}/ui/process?t=all")
            page.wait_for_selector("html[data-ready]")
            page.fill("textarea[name=q]", story.query)
            page.keyboard.press("Enter")
            page.wait_for_selector("tr[data-row]:focus")
            page.keyboard.press("t")
            page.wait_for_selector("[data-loaded]")
            seen = [page.inner_text("h1")]
            for _ in range(6):
                if any(wanted in one for one in seen):
                    break
                before = page.url
                page.keyboard.press("Shift+ArrowUp")
                until(page, "(url) => location.href !== url", before)
                page.wait_for_selector("[data-loaded]")
                seen.append(page.inner_text("h1"))
            assert any(wanted in one for one in seen), (story.query, seen)


def test_a_host_of_the_demo_is_isolated_within_seconds(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/alerts?q=hostname:dc-001")
        page.wait_for_selector("#flyout .lineage")
        page.keyboard.press("i")
        page.wait_for_selector("#isolate[open] [data-known]")
        page.keyboard.type("a copy of the directory database")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("text=Isolation requested")
        host = page.get_attribute("#flyout .facts a", "href")
        for _ in range(30):
            page = visit.open(str(host))
            if page.inner_text("[aria-current=step]") == "isolated":
                break
            page.wait_for_timeout(1_000)
        assert page.inner_text("[aria-current=step]") == "isolated"
        assert "a copy of the directory database" in page.inner_text("main")


def test_a_program_is_banned_and_a_query_watched(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/process?t=all&q=process_name:procdump64.exe")
        visit.settle()
        page.focus("tr[data-row]")
        page.keyboard.press("Enter")
        page.wait_for_selector("#flyout .facts")
        page.keyboard.press("b")
        page.wait_for_selector("#ban[open] [data-known]")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("text=Sensors enforce the ban")
        page = visit.open("/ui/bans")
        assert page.locator("tr[data-row]").count() == 1
        page = visit.open("/ui/process?t=all&q=process_name:procdump64.exe")
        visit.settle()
        page.keyboard.press("w")
        page.wait_for_selector("[data-result] .figures")
        page.keyboard.type("Memory dumps")
        page.keyboard.press("Control+Enter")
        page.wait_for_url("**/ui/watchlists")
        assert "Memory dumps" in page.inner_text("main")


def test_at_the_end_the_queue_is_clear(visiting: Visiting) -> None:
    """Alerts that arrive while others are resolved stay for the next time."""
    with visiting() as visit:
        page = visit.open("/ui/alerts")
        for _ in range(3):
            page.wait_for_selector("#flyout .lineage")
            page.keyboard.press("Control+a")
            page.keyboard.press("Control+a")
            page.keyboard.press("r")
            page.wait_for_selector("#triage[open] [data-submit]:enabled")
            page.keyboard.type("the attacks of the demo")
            page.keyboard.press("Control+Enter")
            page.wait_for_selector("#triage[open]", state="hidden")
            visit.settle()
            page = visit.open("/ui/alerts")
            if page.locator("text=Queue is clear").count():
                return
        pytest.fail(page.inner_text("main"))
