"""Whatever opens on any screen: the focus goes in, Tab goes on in order and not behind it, and Esc
leads back to what opened it. Minutes: `make browser`."""

from typing import Any

import pytest

from tests.browser.conftest import AT_LENGTH, SHARED, Visiting, until
from tests.browser.test_accessibility import SCREENS

pytestmark = [SHARED, AT_LENGTH]

OPENERS = (
    "[data-dialog]:not([aria-disabled=true]), [aria-haspopup=menu], [data-action=help], "
    "[data-action=omnibox], [data-deed]:not([data-deed=update]), tr[data-flyout]"
)
PLACES = "dialog[open], #menu:not([hidden]), #flyout:not([hidden])"
INSIDE = f"document.activeElement.closest('{PLACES}') !== null"
WITHIN = f"""() => {{
  const place = document.activeElement.closest("{PLACES}");
  const kinds = "a[href], button, input, select, textarea, summary, [tabindex]";
  const field = (one) => one.matches(kinds);
  const all = [...place.querySelectorAll("*")].filter(
    (one) => field(one) && one.tabIndex >= 0 && !one.disabled && one.checkVisibility());
  return [place.localName, all.length, all.indexOf(document.activeElement)];
}}"""
WHERE = f"""() => {{
  const one = document.activeElement, place = one.closest("{PLACES}");
  return place ? "inside" : one === document.body ? "browser" : "behind";
}}"""


def openers(page: Any) -> list[Any]:
    """All that are seen; of the rows of a list one, for they are alike."""
    found = [one for one in page.locator(OPENERS).element_handles() if one.is_visible()]
    rows = [one for one in found if one.evaluate("(one) => one.localName") == "tr"]
    return [one for one in found if one not in rows[1:]]


def goes_on(page: Any) -> None:
    """Tab, until the end of what is open and beyond, once all of it is there."""
    until(page, "!document.getElementById('flyout')?.innerText.includes('Loading…')")
    kind, count, at = page.evaluate(WITHIN)
    if page.locator("#menu:not([hidden])").count():
        page.keyboard.press("Tab")
        assert page.evaluate(WHERE) != "inside"  # a menu is left as a whole
        return
    if kind == "dialog":
        for _ in range(count + 2):
            page.keyboard.press("Tab")
            assert page.evaluate(WHERE) in ("inside", "browser")
        return
    for wanted in range(at + 1, count):
        page.keyboard.press("Tab")
        assert page.evaluate(WITHIN)[2] == wanted
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(WHERE) == "inside" or count <= 1


@pytest.mark.parametrize("path", SCREENS)
def test_what_opens_takes_the_focus_and_gives_it_back(
    visiting: Visiting, known: dict[str, str], path: str
) -> None:
    with visiting() as visit:
        visit.expected += ["400", "404"]
        page = visit.open(path.format(**known))
        visit.settle()
        if page.locator("dialog[open]").count():  # the address asked for it
            page.keyboard.press("Escape")
        assert len(openers(page)) >= 3
        for opener in openers(page):
            if not opener.is_visible():
                continue  # of what was open beside the list and is closed now
            opener.focus()
            name = opener.evaluate("(one) => one.outerHTML.slice(0, 100)")
            page.keyboard.press("Enter")
            until(page, INSIDE, timeout_s=10)
            goes_on(page)
            if page.evaluate(WHERE) == "browser":
                page.keyboard.press("Tab")
            page.keyboard.press("Escape")
            until(page, f"!({INSIDE})", timeout_s=10)
            assert opener.evaluate("(one) => document.activeElement === one"), name
