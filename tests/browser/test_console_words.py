"""Words as other languages have them, longer by two fifths and from right to left; and a browser in
which hundreds of views are open one after another. Minutes: `make browser`."""

from typing import Any

import pytest

from tests.browser.conftest import AT_LENGTH, SHARED, Visiting, until

pytestmark = [SHARED, AT_LENGTH]

SCREENS = (
    "/ui/",
    "/ui/alerts?q=&then=host",
    "/ui/process?t=all",
    "/ui/binary",
    "/ui/binary/{md5}",
    "/ui/sensors",
    "/ui/sensors/{sensor}",
    "/ui/bans",
    "/ui/bans/{ban}",
    "/ui/filters/{filter}",
    "/ui/watchlists/new?q=cmd.exe",
    "/ui/sigma",
    "/ui/sigma/{rule}",
    "/ui/feeds",
    "/ui/data",
    "/ui/access",
    "/ui/audit",
    "/ui/settings",
    "/ui/me",
    "/ui/groups/1",
    "/ui/jobs",
)
LONGER = r"""() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const values = "bdi, code, pre, time, kbd, .mono, [data-value], .num";
  const own = `${values}, textarea, select, script, template, .visually-hidden`;
  while (texts.nextNode()) {
    const node = texts.currentNode, words = node.nodeValue.trim();
    if (!/\p{L}{2}/u.test(words) || node.parentElement.closest(own)) continue;
    node.nodeValue = `[${words} ${"éáíóú ".repeat(Math.ceil(words.length / 15))}]`;
  }
}"""
CUT = """() => {
  const bars = ".toolbar, .actions, .status, .dialog-end, .facet-line";
  const words = ":is(main, .toolbar) :is(button, a.button), label, legend, .chip, h2";
  const name = (one) => one.outerHTML.slice(0, 100);
  const isCut = (one) => one.checkVisibility() && !one.closest(".visually-hidden, .fold")
    && getComputedStyle(one).overflowX !== "visible" && one.scrollWidth > one.clientWidth + 1;
  const found = [...document.querySelectorAll(words)].filter(isCut).map(name);
  for (const bar of document.querySelectorAll(bars)) {
    const there = [...bar.children].filter((one) => one.checkVisibility());
    there.forEach((one, at) => there.slice(at + 1).forEach((other) => {
      const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1 && high > 1) found.push(`${name(one)} lies over ${name(other)}`);
    }));
  }
  return found;
}"""


@pytest.mark.parametrize("width", [1440, 390])
def test_longer_words_are_whole_and_beside_each_other(
    visiting: Visiting, known: dict[str, str], width: int
) -> None:
    with visiting(width=width) as visit:
        for path in SCREENS:
            page = visit.open(path.format(**known))
            visit.settle()
            page.evaluate(LONGER)
            assert page.evaluate(CUT) == [], path
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_a_page_from_right_to_left_has_all_of_it(visiting: Visiting, known: dict[str, str]) -> None:
    """Values stay from left to right: each is an isolated run."""
    with visiting() as visit:
        for path in SCREENS:
            page = visit.open(path.format(**known))
            visit.settle()
            page.evaluate("document.documentElement.dir = 'rtl'")
            assert page.evaluate(CUT) == [], path
            assert page.evaluate("document.documentElement.scrollWidth") <= 1440, path
            turned = "[...document.querySelectorAll('main bdi')].every((one) => one.dir === 'ltr')"
            assert page.evaluate(turned), path


def heap(page: Any) -> int:
    """Bytes that scripts hold, after what is free was collected."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    size = int(session.send("Runtime.getHeapUsage")["usedSize"])
    session.detach()
    return size


def test_two_hundred_views_one_after_another_keep_no_memory(visiting: Visiting) -> None:
    """Memory of one document: searches that replace the results, and panes that open beside
    them."""
    with visiting() as visit:
        page = visit.open("/ui/process?t=all")
        before = 0
        for at in range(205):
            shown = page.get_attribute("#results", "data-as-of")
            page.fill("textarea[name=q]", f"-process_name:none{at}")
            page.click(".query-line .primary")
            until(page, "(was) => document.getElementById('results')?.dataset.asOf !== was", shown)
            visit.settle()
            page.locator("tr[data-row] td.time").first.click()  # no link
            page.wait_for_selector("#flyout .facts")
            if at == 5:
                before = heap(page)
        assert heap(page) - before <= 20_000_000


def test_two_hundred_pages_one_after_another_keep_no_memory(
    visiting: Visiting, known: dict[str, str]
) -> None:
    """Memory of the browser's page process, in which each document is created."""
    with visiting() as visit:
        before = 0
        for at in range(200):
            page = visit.open(SCREENS[at % len(SCREENS)].format(**known))
            if at == len(SCREENS):
                before = heap(page)
        page = visit.open(SCREENS[0].format(**known))
        assert heap(page) - before <= 20_000_000
