"""Users set the width of panes beside a list with keys or by dragging, and it persists."""

from typing import Any

import pytest

from tests.browser.conftest import SHARED, Visiting, until

pytestmark = SHARED

EDGE = "[data-split=flyout]"
PAGES = {"/ui/alerts": "#flyout .lineage", "/ui/process?t=all": "tr[data-row]"}


def value(page: Any, name: str = "now", split: str = "flyout") -> int:
    return int(page.get_attribute(f"[data-split={split}]", f"aria-value{name}"))


def width(page: Any) -> float:
    return float(page.locator("#flyout").bounding_box()["width"])


def alongside(page: Any, path: str) -> None:
    """A row of a list is open beside it."""
    page.wait_for_selector(PAGES[path])
    if not page.is_visible("#flyout"):
        page.focus("tr[data-row]")
        page.keyboard.press("Enter")
    page.wait_for_selector("#flyout-title")
    page.wait_for_selector(EDGE)


@pytest.mark.parametrize("path", PAGES)
def test_what_stands_beside_a_list_is_made_wider_and_narrower_by_keys(
    visiting: Visiting, path: str
) -> None:
    with visiting() as visit:
        page = visit.open(path)
        alongside(page, path)
        page.focus(EDGE)
        page.keyboard.press("Home")
        assert value(page) == value(page, "min") == width(page) / 16
        page.keyboard.press("ArrowLeft")
        assert width(page) / 16 == value(page) == value(page, "min") + 2
        page.keyboard.press("ArrowRight")
        assert value(page) == value(page, "min")
        page.keyboard.press("End")
        assert value(page) == value(page, "max") == width(page) / 16
        lists, panel = page.locator("main .grid, main .queue").first, page.locator("#flyout")
        assert right(lists) <= panel.bounding_box()["x"]
        page.keyboard.press("Escape")
        assert not page.is_visible(EDGE)


def right(part: Any) -> float:
    box = part.bounding_box()
    return float(box["x"] + box["width"])


def test_it_is_dragged_too_and_as_wide_in_every_browser_of_its_reader(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/alerts")
        alongside(page, "/ui/alerts")
        page.mouse.move(page.locator(EDGE).bounding_box()["x"] + 12, 400)
        with page.expect_request("**/me/preferences") as kept:
            page.mouse.down()
            page.mouse.move(1440 - 592, 420, steps=4)
            page.mouse.up()
        assert value(page) == 37
        assert '"flyout":37' in kept.value.post_data
        visit.settle()
    with visiting() as visit:
        page = visit.open("/ui/process?t=all")
        alongside(page, "/ui/process?t=all")
        until(page, "document.getElementById('flyout').clientWidth > 580")
        assert value(page) == 37


def test_in_a_small_window_it_leaves_the_list_its_room(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/alerts")
        alongside(page, "/ui/alerts")
        page.focus(EDGE)
        page.keyboard.press("End")
        page.set_viewport_size({"width": 1000, "height": 800})
        until(page, "innerWidth === 1000 && document.getElementById('flyout').clientWidth <= 500")
        until(page, f"document.querySelector('{EDGE}').ariaValueNow === '31'")
        assert value(page, "max") == 31
        page.set_viewport_size({"width": 390, "height": 800})
        until(page, "document.getElementById('flyout').clientWidth === 390")
        assert not page.is_visible(EDGE)


def test_the_tree_of_an_analysis_is_as_wide_as_it_was(
    visiting: Visiting, known: dict[str, str]
) -> None:
    path = f"/ui/process/{known['process']}"
    with visiting() as visit:
        page = visit.open(path)
        page.wait_for_selector("[data-loaded]")
        page.focus("[data-split=tree]")
        page.keyboard.press("End")
        page.keyboard.press("ArrowLeft")
        assert value(page, split="tree") == 68
        visit.settle()
        page.reload()
        page.wait_for_selector("[data-loaded]")
        assert value(page, split="tree") == 68
        tree, whole = page.locator("#tree-pane"), page.locator("#analysis")
        share = tree.bounding_box()["width"] / whole.bounding_box()["width"]
        assert share == pytest.approx(0.68, abs=0.01)


def test_what_is_drawn_has_the_colours_that_are_chosen(
    visiting: Visiting, known: dict[str, str]
) -> None:
    drawn = "document.querySelector('#timeline canvas').toDataURL()"
    with visiting(color_scheme="light") as visit:
        page = visit.open(f"/ui/process/{known['process']}")
        page.wait_for_selector("[data-loaded]")
        visit.settle()
        page.wait_for_timeout(100)
        light = page.evaluate(drawn)
        page.emulate_media(color_scheme="dark")
        until(page, f"(light) => {drawn} !== light", light)
        page.emulate_media(color_scheme="light")
        until(page, f"(light) => {drawn} === light", light)
        page.click("[data-action=user-menu]")
        page.keyboard.press("t")
        page.click("[data-action=user-menu]")
        page.keyboard.press("t")
        until(page, "document.documentElement.dataset.theme === 'dark'")
        until(page, f"(light) => {drawn} !== light", light)
