"""A browser for the tests of the pages: Debian's Chromium, driven by Playwright, never around the
pages' policy. What a page complains about fails the test."""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import pytest

from tests.support.browser import CHROMIUM, PLAYWRIGHT_FLAGS
from tests.support.one_of_each import named, server_with_alerts
from tests.support.served import Server, state_of
from vedette.clock import SystemClock
from vedette.state.accounts import users

sync_api = pytest.importorskip("playwright.sync_api")

TIMEOUT_MS = float(os.environ.get("VEDETTE_TEST_BROWSER_TIMEOUT_MS", "60000"))
EMPTY_MS = 5_000.0
"""After which a page that does not go away by itself is sent away."""
STILL_MS = 40.0
"""Three times as long, nothing happens on a page that is said to have settled."""
SHARED = pytest.mark.xdist_group("browser")
IS_AT_LENGTH = "VEDETTE_TEST_BROWSER" in os.environ
AT_LENGTH = pytest.mark.skipif(not IS_AT_LENGTH, reason="takes minutes: make browser")
PASSWORD = "a long enough passphrase 1"
LISTEN = """addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`))"""
BUSY = "Boolean(document.querySelector('[aria-busy=true], .htmx-request, .skeleton'))"


@dataclass
class Visit:
    """A page and what it complained about."""

    page: Any
    url: str
    complaints: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    """Parts of complaints that the test means to cause."""
    unanswered: set[Any] = field(default_factory=set)
    """Requests of the page that are under way."""

    def __post_init__(self) -> None:
        for event, received in self._listeners().items():
            self.page.on(event, received)

    def leave(self) -> None:
        """The page is another visit's."""
        for event, received in self._listeners().items():
            self.page.remove_listener(event, received)

    def _listeners(self) -> dict[str, Callable[[Any], None]]:
        return {
            "pageerror": self._fails,
            "console": self._says,
            "dialog": self._interrupts,
            "request": self._asks,
            "requestfinished": self._is_answered,
            "requestfailed": self._is_answered,
        }

    def _fails(self, error: Any) -> None:
        self.complaints.append(str(error))

    def _says(self, line: Any) -> None:
        if line.type == "error":
            self.complaints.append(line.text)

    def _interrupts(self, dialog: Any) -> None:
        self.complaints.append(f"dialog {dialog.message}")

    def _asks(self, request: Any) -> None:
        self.unanswered.add(request)
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.complaints.append(f"asked {request.url}")

    def _is_answered(self, request: Any) -> None:
        self.unanswered.discard(request)

    def open(self, path: str) -> Any:
        self.page.goto(self.url + path)
        self.page.wait_for_selector("html[data-ready]")
        return self.page

    def text(self) -> str:
        """Returns the text of a screen, without durations and times."""
        self.settle()
        shown = self.page.inner_text("main") + self.page.inner_text("#flyout")
        return re.sub(r"\d[\d\u2009]* ms|\d+ (?:[smhd]|min)\b|\d\d:\d\d:\S+", "", shown)

    def settle(self) -> None:
        """Waits until the page has shown the answers to all that it asked for."""
        end = time.monotonic() + TIMEOUT_MS / 1_000
        still = 0
        while still < 3:
            assert time.monotonic() < end, [one.url for one in self.unanswered] or "busy"
            self.page.wait_for_timeout(STILL_MS)
            is_still = not self.unanswered and evaluated(self.page, BUSY) is False
            still = still + 1 if is_still else 0

    def hear(self, part: str) -> None:
        """Waits for a complaint."""
        end = time.monotonic() + TIMEOUT_MS / 1_000
        while not any(part in one for one in self.complaints):
            assert time.monotonic() < end, self.complaints
            self.page.wait_for_timeout(STILL_MS)

    def unexpected(self) -> list[str]:
        return [one for one in self.complaints if not any(part in one for part in self.expected)]


Visiting = Callable[..., Any]


def evaluated(page: Any, script: str, arg: Any = None) -> Any:
    """The value of a script; None while the page is being left."""
    try:
        return page.evaluate(script, arg)
    except sync_api.Error:
        return None


def until(page: Any, script: str, arg: Any = None, timeout_s: float = 20.0) -> None:
    """Waits until a script of the page is true. Playwright's own waiting runs text as script, which
    the pages' policy refuses."""
    end = time.monotonic() + timeout_s
    while not evaluated(page, script, arg):
        assert time.monotonic() < end, f"never true: {script}"
        page.wait_for_timeout(50)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """Ends with its package: while Playwright stands, its event loop counts as the running one of
    this thread, and no other test of the worker could run one."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=PLAYWRIGHT_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """For modules that neither count what others leave nor leave what others would stumble over.
    They are one group of pytest-xdist, `SHARED`."""
    yield from server_with_alerts(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="package")
def known(shared_server: Server) -> dict[str, str]:
    """Ids in the addresses of pages, by kind."""
    return named(shared_server)


@pytest.fixture(scope="module")
def server(shared_server: Server) -> Server:
    return shared_server


@pytest.fixture(scope="module")
def user(server: Server) -> str:
    """A global administrator with `PASSWORD`, of this module: no other has its preferences."""
    with state_of(server) as database:
        known = {one.username for one in users.all_users(database)}
        name = f"ada-{len(known)}" if "ada" in known else "ada"
        new = users.NewUser(name, password=PASSWORD, is_global_admin=True)
        users.add(database, new, SystemClock().now_us())
    return name


@pytest.fixture(scope="module")
def session(server: Server, user: str) -> dict[str, Any]:
    """The cookie of a signed-in browser."""
    with server.client() as client:
        answer = client.post("/api/v1/session", json={"username": user, "password": PASSWORD})
        assert answer.status_code == 200, answer.text
        (name, value), *_ = client.cookies.items()
    return {"name": name, "value": value, "url": server.url, "secure": True, "sameSite": "Strict"}


@dataclass
class Pages:
    """Pages that are used again, each in a context of its own: a new one costs two processes, which
    is three times as much as a visit. The files of pages stay in their caches, and compiled scripts
    in their processes; nothing else does."""

    browser: Any
    free: dict[str, list[Any]] = field(default_factory=dict)

    @contextmanager
    def page(self, url: str, size: dict[str, int], **options: Any) -> Iterator[Any]:
        free = self.free.setdefault(repr(sorted(options.items())), [])
        page = free.pop() if free else self._new(options)
        page.set_viewport_size(size)
        try:
            yield page
        except BaseException:
            page.context.close()
            raise
        clean(page, url, options.get("color_scheme", "light"))
        free.append(page)

    def _new(self, options: dict[str, Any]) -> Any:
        page = self.browser.new_context(**options).new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.add_init_script(LISTEN)
        return page


def clean(page: Any, url: str, scheme: str) -> None:
    """Leaves a page nothing of a visit but its cache and its process. A browser that is told to go
    to an empty page begins a process for it, and one more for the next visit; a page that goes
    there by itself stays in its own."""
    page.unroute_all(behavior="ignoreErrors")
    evaluated(page, "sessionStorage.clear()")
    with suppress(sync_api.Error):
        page.evaluate("location.replace('about:blank')")
        page.wait_for_url("about:blank", wait_until="commit", timeout=EMPTY_MS)
    while page.url != "about:blank":
        evaluated(page, "sessionStorage.clear()")
        with suppress(sync_api.Error):  # the page goes somewhere else by itself
            page.goto("about:blank")
    page.emulate_media(media="null", color_scheme=scheme, reduced_motion="no-preference")
    devtools = page.context.new_cdp_session(page)
    devtools.send("Page.resetNavigationHistory")
    devtools.send("Storage.clearDataForOrigin", {"origin": url, "storageTypes": "all"})
    devtools.detach()
    page.context.clear_cookies()


@pytest.fixture(scope="package")
def pages(chromium: Any) -> Iterator[Pages]:
    made = Pages(chromium)
    yield made
    for page in chain.from_iterable(made.free.values()):
        page.context.close()


@pytest.fixture(scope="module")
def visiting(pages: Pages, server: Server, session: dict[str, Any]) -> Visiting:
    """Opens pages as in a browser of their own: `with visiting(width=390) as visit`. `cookie` is a
    session's, None for nobody's."""

    @contextmanager
    def visit(
        *, cookie: Any = session, width: int = 1440, height: int = 900, **options: Any
    ) -> Iterator[Visit]:
        size = {"width": width, "height": height}
        with pages.page(server.url, size, **options) as page:
            if cookie is not None:
                page.context.add_cookies([cookie])
            made = Visit(page, server.url)
            yield made
            assert made.unexpected() == []
            made.leave()

    return visit
