"""Names of hosts, users, programs, rules and lists, as long as they may be and without a place to
break: on no screen does anything lie beyond the edge or over something else."""

from collections.abc import Iterator

import pytest

from tests.browser.conftest import IS_AT_LENGTH, PASSWORD, Visiting
from tests.browser.test_accessibility import SCREENS
from tests.browser.test_narrow_pages import OVER, SIDEWAYS
from tests.support.long_names import HOST, LABEL, TITLE, USERNAME, long_server, write_long
from tests.support.served import Server, state_of
from vedette.clock import SystemClock
from vedette.state.accounts import users

SIZES = {"320 px": (320, 640)} | ({"wide": (1440, 900)} if IS_AT_LENGTH else {})
FEW = (
    "/ui/",
    "/ui/alerts?q=&by=rule&then=host",
    "/ui/process?t=all",
    "/ui/process/{process}",
    "/ui/sensors",
    "/ui/sensors/{host}",
    "/ui/sigma/{rule}",
    "/ui/watchlists",
    "/ui/access",
    "/ui/bans/{ban}",
    "/ui/groups/{group}",
    "/ui/feeds/{feed}",
    "/ui/me",
)
PATHS = tuple(dict.fromkeys((*FEW, *SCREENS))) if IS_AT_LENGTH else FEW
NAMES = (HOST, LABEL, TITLE, USERNAME)
BEYOND = r"""() => {
  const isIn = (box) => box.left >= -1 && box.right <= innerWidth + 1;
  const scrolls = (one) => /auto|scroll/.test(getComputedStyle(one).overflowX);
  const cuts = (one) => getComputedStyle(one).textOverflow === "ellipsis"
    || getComputedStyle(one).webkitLineClamp !== "none";
  const isReached = (one) => {
    for (let up = one.parentElement; up && up !== document.body; up = up.parentElement)
      if ((scrolls(up) || cuts(up)) && isIn(up.getBoundingClientRect())) return true;
    return false;
  };
  const own = ".visually-hidden, .skip, script, template, svg *";
  const found = [...document.querySelectorAll("body *")].filter((one) =>
    one.checkVisibility({ visibilityProperty: true }) && !one.closest(own)
    && one.getBoundingClientRect().width > 1 && !isIn(one.getBoundingClientRect())
    && !isReached(one));
  const wide = document.documentElement.scrollWidth;
  return [...(wide > innerWidth ? [`the page is ${wide} wide`] : []),
    ...found.map((one) => one.outerHTML.slice(0, 90))];
}"""
"""Script that finds content beyond an edge without scrolling and without an ellipsis."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from long_server(tmp_path_factory.mktemp("long"))


@pytest.fixture(scope="module")
def user(server: Server) -> str:
    with state_of(server) as database:
        new = users.NewUser(USERNAME, password=PASSWORD, is_global_admin=True)
        users.add(database, new, SystemClock().now_us())
    return USERNAME


@pytest.fixture(scope="module")
def known(server: Server) -> dict[str, str]:
    return write_long(server)


@pytest.mark.parametrize("size", SIZES)
def test_nothing_with_a_long_name_lies_beyond_the_edge(
    visiting: Visiting, known: dict[str, str], size: str
) -> None:
    width, height = SIZES[size]
    found, shown = {}, ""
    with visiting(width=width, height=height) as visit:
        visit.expected += ["400", "404"]
        for path in PATHS:
            page = visit.open(path.format(**known))
            visit.settle()
            found[path] = page.evaluate(BEYOND) + page.evaluate(OVER)
            found[path] += page.evaluate(SIDEWAYS) if width < 900 else []
            shown += page.inner_text("body")
    assert {path: some for path, some in found.items() if some} == {}
    assert all(name in shown for name in NAMES)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("path", ["/ui/alerts?q=", "/ui/process?t=all"])
def test_nothing_of_what_opens_beside_a_list_lies_beyond_the_edge(
    visiting: Visiting, known: dict[str, str], path: str, size: str
) -> None:
    width, height = SIZES[size]
    with visiting(width=width, height=height) as visit:
        page = visit.open(path)
        visit.settle()
        page.locator("tr[data-flyout]").first.locator("td:not(.pick)").first.click()
        page.wait_for_selector("#flyout-title")
        visit.settle()
        assert page.evaluate(BEYOND) == []
        flyout = "document.querySelector('#flyout')"
        assert page.evaluate(f"{flyout}.scrollWidth <= {flyout}.clientWidth + 1")
        page.keyboard.press("b")
        page.wait_for_selector("#ban[open]")
        visit.settle()
        assert page.evaluate(BEYOND) == []
