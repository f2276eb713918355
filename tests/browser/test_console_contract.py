"""Rules for every screen: times are correct in every zone, pages can be printed, and nothing
scrolls sideways or is covered by a bar. Takes minutes: `make browser`."""

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tests.browser.conftest import AT_LENGTH, SHARED, Visiting
from tests.browser.test_accessibility import SCREENS

pytestmark = [SHARED, AT_LENGTH]

UNDER = """() => {
  const one = document.activeElement, box = one.getBoundingClientRect();
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  if (one === document.body || !box.width || x < 0 || x > innerWidth) return "";
  const top = document.elementFromPoint(x, y);
  const free = top === null || one === top || one.contains(top) || top.contains(one);
  return free ? "" : one.outerHTML.slice(0, 120);
}"""


def test_nothing_scrolls_sideways_and_no_focus_is_under_a_bar(
    visiting: Visiting, known: dict[str, str]
) -> None:
    """At 320 pixels, as at four times the size, and at twice the size of a usual screen."""
    for width, height in ((320, 640), (720, 450)):
        with visiting(width=width, height=height) as visit:
            visit.expected += ["400", "404"]
            for path in SCREENS:
                page = visit.open(path.format(**known))
                visit.settle()
                wide = page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, (path, width, wide)
            for path in ("/ui/alerts?q=", "/ui/process?t=all", "/ui/sensors"):
                page = visit.open(path)
                visit.settle()
                for _ in range(40):
                    page.keyboard.press("Tab")
                    assert page.evaluate(UNDER) == "", path


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/St_Johns", "Europe/Berlin"])
def test_times_are_alike_in_utc_and_right_in_the_reader_s_zone(
    visiting: Visiting, zone: str
) -> None:
    with visiting(timezone_id=zone) as visit:
        page = visit.open("/ui/process?t=all")
        visit.settle()
        cell = page.locator("td.time time").first
        at = datetime.fromtimestamp(int(cell.get_attribute("data-time")) // 1_000, UTC)
        assert cell.inner_text() == f"{at:%Y-%m-%d %H:%M:%S}Z"
        page.keyboard.press("z")
        assert cell.inner_text() == f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S}"
        assert page.inner_text("[data-zone-label]").startswith(zone.partition("/")[0])
        page.keyboard.press("z")
        assert cell.inner_text() == f"{at:%Y-%m-%d %H:%M:%S}Z"  # a list of many hosts
        page.keyboard.press("z")
        visit.settle()  # the preference is its user's: the next page has it


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/ui/alerts?q=", "why it fired"),
        ("/ui/process/{process}", "powershell.exe -nop"),
        ("/ui/binary/{md5}", "MD5"),
        ("/ui/audit", "sensor"),
    ],
)
def test_a_page_prints_what_it_says_and_who_printed_it(
    visiting: Visiting, known: dict[str, str], path: str, shown: str
) -> None:
    with visiting() as visit:
        page = visit.open(path.format(**known))
        visit.settle()
        page.emulate_media(media="print")
        text = page.inner_text("body")
        assert shown in text
        assert "printed 2" in text
        assert "ada" in text
        assert not page.is_visible(".nav")
        assert not page.is_visible(".top-end")
        assert page.pdf()[:5] == b"%PDF-"


def test_screen_readers_are_told_the_tree_the_facets_and_the_severity(
    visiting: Visiting, known: dict[str, str]
) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/process/{known['process']}")
        page.wait_for_selector("[data-loaded]")
        tree = page.locator("#tree")
        rows = tree.locator("[role=row]:not([hidden])")
        levels = rows.evaluate_all(
            """(all) => all.map((row) => [row.ariaLevel, row.ariaSetSize, row.ariaExpanded,
                 row.querySelector("b").textContent])"""
        )
        assert levels == [
            ["1", "1", "true", "explorer.exe"],
            ["2", "1", "true", "WINWORD.EXE"],
            ["3", "1", "true", "powershell.exe"],
            ["4", "1", None, "whoami.exe"],
        ]
        assert tree.get_attribute("role") == "treegrid"
        page.focus("#tree")
        page.keyboard.press("ArrowDown")
        said = page.inner_text("#said").removesuffix(", with an alert")  # of another module
        assert said == "whoami.exe, pid 1200, level 4, 0 children"
        page = visit.open("/ui/process?t=all")
        visit.settle()
        facet = page.locator("fieldset.facet").first
        assert facet.locator("legend").inner_text() == "Process"
        button = facet.locator("[data-narrow=exclude]").first
        assert button.get_attribute("aria-label").startswith("Exclude ")
        ends = page.locator(".handle[role=slider]")
        assert [one.get_attribute("aria-label") for one in ends.all()] == [
            "Start of the range",
            "End of the range",
        ]
        ends.first.focus()
        page.keyboard.press("ArrowRight")
        assert " to " in str(ends.first.get_attribute("aria-valuetext"))
        page = visit.open("/ui/alerts?q=")
        visit.settle()
        assert re.fullmatch(
            r"\d+\s(critical|high|medium|low|info)", page.locator(".severity").first.inner_text()
        )
        page = visit.open(f"/ui/sensors/{known['sensor']}")
        assert page.inner_text("[aria-current=step]") == "not isolated"


def test_a_mark_under_the_keys_is_the_event_that_is_said(
    visiting: Visiting, known: dict[str, str]
) -> None:
    """Every mark of the timeline, by keys: what is said, what is selected and what is detailed."""
    with visiting() as visit:
        page = visit.open(f"/ui/process/{known['process']}")
        page.wait_for_selector("[data-loaded]")
        page.keyboard.press("2")
        count = int(page.locator("#events").get_attribute("aria-rowcount"))
        for at in range(1, count + 1):
            page.keyboard.press("ArrowRight")
            said = str(page.get_attribute(".timeline-cursor", "aria-valuetext"))
            assert f"mark {at} of {count}" in said
            row = page.locator("#events [aria-selected=true]")
            assert row.get_attribute("aria-rowindex") == str(at)
            assert row.locator(".letter").get_attribute("title") in said
