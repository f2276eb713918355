"""Every screen by the rules of axe-core, with what opens on it, and as it is when there is nothing,
when it fails, and when its reader may not see it; one of each kind, or all (`make browser`), in the
dark, too. No violation is let through."""

import time
from collections.abc import Sequence
from importlib import resources
from typing import Any

import pytest

from tests.browser.conftest import IS_AT_LENGTH, SHARED, Visiting, until
from tests.support.served import Server, hire
from vedette.model.principal import Role

pytestmark = SHARED

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
COLOURS = ["wcag143"]
"""Contrast: what differs between light and dark."""
RULES = {
    "aria-allowed-role": {"enabled": False},
    "label-content-name-mismatch": {"enabled": True},
}
"""Rules besides those of the tags. A query of several lines with completions is a combobox, also
where HTML knows it as a field. Who speaks to a computer says the words that they see."""
AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text()
QUIET_S = 30.0
SCREENS = (
    "/ui/",
    "/ui/alerts?q=",
    "/ui/process?t=all",
    "/ui/process?t=all&q=nonsense_field:x",
    "/ui/process?t=all&q=process_name:nothing-like-it",
    "/ui/process/{process}",
    "/ui/process/{process}?view=map",
    "/ui/log?t=all",
    "/ui/log?t=all&q=event:x",
    "/ui/binary",
    "/ui/binary/{md5}",
    "/ui/sensors",
    "/ui/sensors?q=no-such-host",
    "/ui/sensors/{sensor}",
    "/ui/bans",
    "/ui/watchlists",
    "/ui/watchlists/new?q=cmd.exe",
    "/ui/sigma",
    "/ui/sigma/coverage",
    "/ui/feeds",
    "/ui/filters",
    "/ui/data",
    "/ui/data?tab=messages",
    "/ui/data?tab=intake",
    "/ui/data?tab=detection",
    "/ui/access",
    "/ui/access?tab=teams",
    "/ui/access?tab=tokens",
    "/ui/audit",
    "/ui/settings",
    "/ui/me",
    "/ui/no-such-page",
    "/ui/groups",
    "/ui/groups/1",
    "/ui/reports",
    "/ui/reports?q=title:(",
    "/ui/jobs",
    "/ui/sensors?silent=1",
    "/ui/data?tab=checks",
    "/ui/filters?path=c:\\\\x.exe",
    "/ui/bans/{ban}",
    "/ui/filters/{filter}",
    "/ui/sigma/{rule}",
    "/ui/sigma/{rule}/versions",
    "/ui/alerts?q=&by=rule&then=host&last=process",
    "/ui/watchlists/{watchlist}",
    "/ui/jobs/none",
    "/ui/alerts?q=title:nothing-like-it",
    "/ui/alerts?q=status:(",
    "/ui/sensors/999999",
)
ALIKE = frozenset(
    {
        "/ui/sensors?q=no-such-host",
        "/ui/sensors?silent=1",
        "/ui/sensors/999999",
        "/ui/reports?q=title:(",
        "/ui/alerts?q=status:(",
        "/ui/alerts?q=title:nothing-like-it",
        "/ui/filters?path=c:\\\\x.exe",
        "/ui/jobs/none",
    }
)
"""Nothing, an error or an address that is none, as others show them, too; `make browser` looks at
all."""


def settled(page: Any) -> None:
    """Nothing is being read any more, for who has no visit but a page: see `Visit.settle`."""
    end = time.monotonic() + QUIET_S
    busy = "document.querySelector('[aria-busy=true], .htmx-request, .skeleton')"
    page.wait_for_load_state("networkidle")
    while page.evaluate(f"Boolean({busy})") and time.monotonic() < end:
        page.wait_for_timeout(100)


def violations(page: Any, tags: Sequence[str] = TAGS) -> list[str]:
    """Returns the violations that axe finds, as rule and element. The browser's debugger runs axe,
    because the policy forbids a script in the page."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate(
        "([tags, rules]) => axe.run(document, {runOnly: tags, rules, resultTypes: ['violations']})",
        [tags, RULES],
    )
    return [
        f"{rule['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


def violations_in_the_dark(page: Any) -> list[str]:
    """Returns the violations that only the dark mode can have: colors."""
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    return violations(page, COLOURS)


DARK = frozenset(
    {
        "/ui/",
        "/ui/alerts?q=",
        "/ui/process?t=all",
        "/ui/process?t=all&q=nonsense_field:x",
        "/ui/process/{process}",
        "/ui/process/{process}?view=map",
        "/ui/binary/{md5}",
        "/ui/sensors/{sensor}",
        "/ui/sigma/coverage",
        "/ui/data",
        "/ui/me",
        "/ui/no-such-page",
        "/ui/sigma/{rule}/versions",
        "/ui/process?t=all&q=process_name:nothing-like-it",
    }
)
"""Screens that `make all` looks at in the dark, too: one of each kind, since all colours are of
one sheet. `make browser` looks at all of them."""

assert set(SCREENS) >= ALIKE | DARK


@pytest.mark.parametrize("path", [one for one in SCREENS if IS_AT_LENGTH or one not in ALIKE])
def test_a_screen_has_no_violation(visiting: Visiting, known: dict[str, str], path: str) -> None:
    with visiting(color_scheme="light") as visit:
        visit.expected += ["400", "404"]
        page = visit.open(path.format(**known))
        visit.settle()
        assert "Request failed" not in page.inner_text("main")
        assert violations(page) == []
        if IS_AT_LENGTH or path in DARK:
            assert violations_in_the_dark(page) == []


SIZES: dict[str, dict[str, Any]] = {
    "390x844": {"width": 390, "height": 844},
    "1280x720": {"width": 1280, "height": 720},
    "200%": {"width": 720, "height": 450, "device_scale_factor": 2},
}
FEW = (
    *(("390x844", one) for one in ("/ui/", "/ui/alerts?q=", "/ui/process?t=all", "/ui/sensors")),
    *(("1280x720", one) for one in ("/ui/alerts?q=", "/ui/process/{process}")),
    *(("200%", one) for one in ("/ui/process?t=all", "/ui/process/{process}")),
)
ALL = tuple((size, path) for size in SIZES for path in SCREENS)


@pytest.mark.parametrize(("size", "path"), ALL if IS_AT_LENGTH else FEW)
def test_a_screen_has_no_violation_at_other_sizes(
    visiting: Visiting, known: dict[str, str], size: str, path: str
) -> None:
    with visiting(**SIZES[size]) as visit:
        visit.expected += ["400", "404"]
        page = visit.open(path.format(**known))
        visit.settle()
        assert violations(page) == []


OPENED = {
    "help": ("/ui/alerts?q=", "?", "#help[open]"),
    "triage": ("/ui/alerts?q=", "r", "#triage[open] [data-submit]:enabled"),
    "ban": ("/ui/alerts?q=md5:{md5}", "b", "#ban[open]"),
    "a change of hosts": ("/ui/sensors", "N", "#fleet[open] [data-submit]:enabled"),
    "a new feed": ("/ui/feeds", "n", "#add[open]"),
    "new rules": ("/ui/sigma", "n", "#import[open]"),
    "a new filter": ("/ui/filters", "n", "#filter[open]"),
    "an isolation": ("/ui/sensors", "i", "#fleet[open]"),
    "columns": ("/ui/process?t=all", "K", "#columns[open]"),
    "an export": ("/ui/process?t=all", "E", "#menu:not([hidden])"),
    "folded groups": ("/ui/alerts?q=&then=host", "F", "[data-fold-all][aria-pressed=true]"),
    "a menu": ("/ui/process?t=all", "y", "#menu:not([hidden])"),
    "the omnibox": ("/ui/", "Control+k", "#omnibox[open]"),
    "a process beside the list": ("/ui/process?t=all", "Enter", "#flyout-title"),
}


@pytest.mark.parametrize("name", OPENED)
def test_what_opens_has_no_violation(visiting: Visiting, known: dict[str, str], name: str) -> None:
    path, key, opened = OPENED[name]
    with visiting(color_scheme="light") as visit:
        page = visit.open(path.format(**known))
        visit.settle()
        if key == "Enter":
            page.focus("tr[data-row]")
        if path.startswith("/ui/alerts"):
            page.wait_for_selector("#flyout-title")
        page.keyboard.press(key)
        page.wait_for_selector(opened)
        visit.settle()
        assert violations(page) == []
        assert violations_in_the_dark(page) == []


def test_the_sign_in_has_no_violation(visiting: Visiting) -> None:
    with visiting(cookie=None) as visit:
        for fragment in ("", "#link=x"):
            visit.page.goto(visit.url + "/ui/sign-in" + fragment)
            visit.page.wait_for_selector("button.primary:enabled")
            assert violations(visit.page) == []


def test_a_reader_without_rights_gets_pages_without_violations(
    visiting: Visiting, server: Server
) -> None:
    token = hire(server, "reach-reader", {1: Role.VIEWER})
    headers = {"X-Auth-Token": token}
    with visiting(cookie=None, extra_http_headers=headers) as visit:
        visit.expected += ["403"]
        for path in ("/ui/", "/ui/alerts?q=", "/ui/data", "/ui/access", "/ui/bans"):
            page = visit.open(path)
            visit.settle()
            assert violations(page) == [], path


@pytest.mark.parametrize("path", ["/ui/", "/ui/process?t=all", "/ui/process/{process}"])
def test_what_is_still_read_or_fails_has_no_violation(
    visiting: Visiting, known: dict[str, str], path: str
) -> None:
    """Parts that are not there yet, and the same parts when they do not come."""
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    with visiting() as visit:
        visit.expected += ["ERR_FAILED", "Failed to fetch", "htmx"]
        visit.page.route("**/ui/_/**", hold)
        visit.page.route("**/api/v1/process/*/timeline*", hold)
        page = visit.open(path.format(**known))
        until(page, "document.querySelector('.skeleton, [aria-busy=true], .htmx-request')")
        assert violations(page) == []
        for route in held:
            route.abort("failed")
        page.wait_for_selector("[role=alert], .failed")
        assert violations(page) == []


def test_a_violation_would_be_found(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/me")
        page.evaluate("document.querySelector('main').append(document.createElement('button'))")
        assert any(one.startswith("button-name") for one in violations(page))
