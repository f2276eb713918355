"""A narrow window shows all content of a wide one, at once or on request, and truncated text can be
read."""

import re
from collections import Counter
from typing import Any

import pytest

from tests.browser.conftest import IS_AT_LENGTH, SHARED, Visit, Visiting, until
from tests.browser.test_accessibility import SCREENS

pytestmark = SHARED

SIZES = {"320 px": (320, 640), "200 %": (720, 450)}
FEW = (
    *(("320 px", one) for one in ("/ui/alerts?q=", "/ui/process?t=all", "/ui/process/{process}")),
    *(("320 px", one) for one in ("/ui/", "/ui/sensors", "/ui/binary")),
    *(("200 %", one) for one in ("/ui/alerts?q=", "/ui/sigma/coverage")),
)
ALL = tuple((size, path) for size in SIZES for path in SCREENS)
ROWS = "tr[data-flyout], .windowed-row:not([hidden])"
TIMES = r"\d[\d ]* ms|\d+ (?:[smhd]|min)\b|[\d-]+ \d\d:\d\d\S*|\d\d:\d\d:\S+"
VARIES = rf"{TIMES}|[\d.]+ [kMGT]?B\b|\b[0-9a-f]{{16}}\b|[\d.]+(?= records/s)"
"""Matches values that differ between two reads of a page: times, disk space, request number, and
ingest rate."""
LATER = r"(?<=Alerts), [\d ]+ open"
"""Matches content that a page requests seconds after loading."""
CONTENT = r"""(within) => {
  const root = document.querySelector(within);
  const seen = (one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    && !one.closest(".visually-hidden, .skip, .brand, script, template, option");
  const place = (node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    return range.getBoundingClientRect();
  };
  const isShown = (node) => {
    const one = node.parentElement, box = place(node);
    return /[\p{L}\p{N}]/u.test(node.nodeValue) && seen(one) && box.width > 1 && box.height > 1
      && parseFloat(getComputedStyle(one).fontSize) > 4;
  };
  const isCut = (node) => {
    const box = place(node);
    for (let one = node.parentElement; one !== document.body; one = one.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(one), edge = one.getBoundingClientRect();
      const hides = (how) => how === "hidden" || how === "clip";
      if (hides(overflowX) && (box.right > edge.right + 2 || box.left < edge.left - 2)) return true;
      if (hides(overflowY) && (box.bottom > edge.bottom + 2 || box.top < edge.top - 2)) return true;
      if ([overflowX, overflowY].some((how) => how === "auto" || how === "scroll")) return false;
    }
    return box.right > innerWidth + 1 || box.left < -1;
  };
  const words = (node) => node.nodeValue.trim().replace(/\s+/g, " ");
  const texts = [], walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) if (isShown(walk.currentNode)) texts.push(walk.currentNode);
  const kinds = "a[href], button, summary, input, select, textarea";
  const plain = texts.filter((node) => !node.parentElement.closest(`${kinds}, kbd`));
  const own = (one) => texts.filter(
    (node) => one.contains(node) && !node.parentElement.closest("kbd")).map(words).join(" ");
  const label = (one) => one.labels?.[0]?.textContent.trim().replace(/\s+/g, " ");
  const name = (one) => one.ariaLabel || label(one) || own(one);
  const fields = [...root.querySelectorAll(kinds)].filter(
    (one) => seen(one) && one.getBoundingClientRect().width > 1);
  return {
    all: [...plain.map(words), ...fields.map((one) => `${one.localName} ${name(one)}`)],
    cut: texts.filter(isCut).map(words),
    whole: texts.filter((node) => !isCut(node)).map(words),
  };
}"""
"""The words outside of controls and the names of controls; what of all words lies beyond an edge
that nothing scrolls, and what does not. Without the mark, which leads where "Home" does."""

OVER = r"""() => {
  const clipped = (box, node) => {
    let { left, right, top, bottom } = box;
    for (let one = node.parentElement; one !== document.body; one = one.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(one), edge = one.getBoundingClientRect();
      if (overflowX !== "visible") {
        left = Math.max(left, edge.left);
        right = Math.min(right, edge.right);
      }
      if (overflowY !== "visible") {
        top = Math.max(top, edge.top);
        bottom = Math.min(bottom, edge.bottom);
      }
    }
    return { node, left, right, top, bottom };
  };
  const main = document.querySelector("main"), boxes = [];
  const walk = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, one = node.parentElement;
    if (!node.nodeValue.trim() || !one.checkVisibility({ visibilityProperty: true })) continue;
    if (one.closest(".visually-hidden, option, textarea, .query-back, .form-end")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) boxes.push(clipped(box, node));
  }
  const seen = boxes.filter((one) => one.right - one.left > 2 && one.bottom - one.top > 4);
  seen.sort((a, b) => a.top - b.top);
  const words = ({ node }) => node.nodeValue.trim().slice(0, 40), found = new Set();
  seen.forEach((a, at) => {
    for (let next = at + 1; next < seen.length && seen[next].top < a.bottom - 6; next += 1) {
      const b = seen[next], wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - b.top;
      if (a.node !== b.node && wide > 2 && high > 6)
        found.add(`${words(a)} lies over ${words(b)}`);
    }
  });
  return [...found];
}"""
"""Words that lie over other words."""
SIDEWAYS = """() => [...document.querySelectorAll("main .scroll")]
  .filter((one) => !one.closest(".twin") && !one.querySelector(".week")
    && one.scrollWidth > one.clientWidth + 1)
  .map((one) => `${one.ariaLabel}: ${one.scrollWidth} in ${one.clientWidth}`)"""
"""Lists that have to be scrolled sideways."""


def content(visit: Visit, within: str = "body") -> dict[str, list[str]]:
    visit.settle()
    found: dict[str, list[str]] = visit.page.evaluate(CONTENT, within)
    return found


def steady(words: list[str]) -> Counter[str]:
    return Counter(re.sub(VARIES, "~", re.sub(LATER, "", one)) for one in words)


def opened(visit: Visit, path: str) -> Any:
    """Without what a wide window opens beside a list by itself."""
    page = visit.open(path)
    visit.settle()
    if page.is_visible("#flyout"):
        page.keyboard.press("Escape")
        until(page, "document.querySelector('#flyout').hidden")
    return page


@pytest.mark.parametrize(("size", "path"), ALL if IS_AT_LENGTH else FEW)
def test_all_of_a_wide_window_is_in_a_narrow_one_and_can_be_read(
    visiting: Visiting, known: dict[str, str], size: str, path: str
) -> None:
    address = path.format(**known)
    with visiting() as visit:
        visit.expected += ["400", "404"]
        opened(visit, address)
        wide = content(visit)
    width, height = SIZES[size]
    with visiting(width=width, height=height) as visit:
        visit.expected += ["400", "404"]
        page = opened(visit, address)
        for facets in page.locator("[data-action=toggle-facets]").all():
            facets.click()
        narrow = content(visit)
        assert list((steady(wide["all"]) - steady(narrow["all"])).elements()) == []
        assert page.evaluate(OVER) == []
        assert page.evaluate(SIDEWAYS) == []
        for words in narrow["cut"]:
            row = page.locator(ROWS).filter(has_text=words)
            assert row.count(), f"nothing opens what is cut: {words}"
            row.first.click()
            assert any(words in one for one in content(visit)["whole"]), words
            if page.is_visible("#flyout"):  # it covers the list, with the next row
                page.keyboard.press("Escape")
                until(page, "document.querySelector('#flyout').hidden")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("path", ["/ui/alerts?q=", "/ui/process?t=all"])
def test_what_opens_beside_a_list_is_whole_over_a_narrow_one(
    visiting: Visiting, path: str, size: str
) -> None:
    found = []
    for width, height in ((1440, 900), SIZES[size]):
        with visiting(width=width, height=height) as visit:
            page = opened(visit, path)
            page.locator("tr[data-flyout]").first.locator("td:not(.pick)").first.click()
            page.wait_for_selector("#flyout-title")
            found.append(content(visit, "#flyout"))
            assert page.evaluate("document.querySelector('#flyout').scrollWidth") <= width
    wide, narrow = found
    assert steady(wide["all"]) == steady(narrow["all"])
    assert narrow["cut"] == []


def test_facets_can_be_opened_on_a_phone(visiting: Visiting) -> None:
    with visiting(width=390, height=844) as visit:
        page = visit.open("/ui/process?t=all")
        visit.settle()
        button = page.locator("[data-action=toggle-facets]")
        assert not page.is_visible("#facets")
        assert button.get_attribute("aria-pressed") == "false"
        button.click()
        assert page.is_visible("#facets .facet >> nth=0")
        assert button.get_attribute("aria-pressed") == "true"
        page.locator("#facets [data-narrow=include]").first.click()
        page.wait_for_url("**q=**")
        visit.settle()
        assert page.locator("tr[data-row]").count() > 0
        assert button.get_attribute("aria-pressed") == "false"


def test_a_list_is_sorted_and_selected_as_a_whole_on_a_phone(visiting: Visiting) -> None:
    """Uses the controls in the head of a wide table."""
    with visiting(width=390, height=844) as visit:
        page = visit.open("/ui/process?t=all")
        visit.settle()
        page.locator("[data-sort='process_name desc']").click()
        page.wait_for_url("**sort=process_name**")
        visit.settle()
        assert page.locator("th[aria-sort=descending]").inner_text() == "Process"
        page = visit.open("/ui/alerts?q=")
        page.locator("[data-select-all]").click()
        rows = page.locator("tr[data-row]:not(.group)")
        assert rows.count() == page.locator("tr[data-row][aria-selected=true]:not(.group)").count()
