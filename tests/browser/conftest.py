"""A browser for the tests of the pages: Debian's Chromium, driven by Playwright, never around the
pages' policy. What a page complains about fails the test."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.browser import CHROMIUM, PLAYWRIGHT_FLAGS
from tests.support.served import Server, start_server, state_of
from vedette.clock import SystemClock
from vedette.state.accounts import users

sync_api = pytest.importorskip("playwright.sync_api")

PATIENCE_MS = float(os.environ.get("VEDETTE_TEST_BROWSER_PATIENCE_MS", "60000"))
PASSWORD = "a long enough passphrase 1"
LISTEN = """addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`))"""


@dataclass
class Visit:
    """A page and what it complained about."""

    page: Any
    url: str
    complaints: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    """Parts of complaints that the test means to cause."""

    def open(self, path: str) -> Any:
        self.page.goto(self.url + path)
        self.page.wait_for_selector("html[data-ready]")
        return self.page

    def unexpected(self) -> list[str]:
        return [one for one in self.complaints if not any(part in one for part in self.expected)]


Visiting = Callable[..., Any]


def until(page: Any, script: str, arg: Any = None, patience_s: float = 20.0) -> None:
    """Waits until a script of the page is true. Playwright's own waiting runs text as script, which
    the pages' policy refuses."""
    end = time.monotonic() + patience_s

    def is_true() -> bool:
        try:
            return bool(page.evaluate(script, arg))
        except sync_api.Error:  # the page is being left
            return False

    while not is_true():
        assert time.monotonic() < end, f"never true: {script}"
        page.wait_for_timeout(50)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Ends with its module: while Playwright stands, its event loop counts as the running one of
    this thread, and no other test of the worker could run one."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=PLAYWRIGHT_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from start_server(tmp_path_factory.mktemp("server"))


@pytest.fixture(scope="module")
def user(server: Server) -> str:
    """A global administrator with `PASSWORD`."""
    with state_of(server) as database:
        new = users.NewUser("ada", password=PASSWORD, is_global_admin=True)
        users.add(database, new, SystemClock().now_us())
    return "ada"


@pytest.fixture(scope="module")
def session(server: Server, user: str) -> dict[str, Any]:
    """The cookie of a signed-in browser."""
    with server.client() as client:
        answer = client.post("/api/v1/session", json={"username": user, "password": PASSWORD})
        assert answer.status_code == 200, answer.text
        (name, value), *_ = client.cookies.items()
    return {"name": name, "value": value, "url": server.url, "secure": True, "sameSite": "Strict"}


@pytest.fixture
def visiting(chromium: Any, server: Server, session: dict[str, Any]) -> Visiting:
    """Opens pages in a browser of its own: `with visiting(width=390) as visit`. `cookie` is a
    session's, None for nobody's."""

    @contextmanager
    def visit(
        *, cookie: Any = session, width: int = 1440, height: int = 900, **options: Any
    ) -> Iterator[Visit]:
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        try:
            if cookie is not None:
                context.add_cookies([cookie])
            page = context.new_page()
            page.set_default_timeout(PATIENCE_MS)
            page.add_init_script(LISTEN)
            made = Visit(page, server.url)
            page.on("pageerror", lambda error: made.complaints.append(str(error)))
            page.on(
                "console",
                lambda said: said.type == "error" and made.complaints.append(said.text),
            )
            page.on("dialog", lambda dialog: made.complaints.append(f"dialog {dialog.message}"))
            page.on(
                "request",
                lambda asked: (
                    asked.url.startswith((server.url, "data:", "blob:"))
                    or made.complaints.append(f"asked {asked.url}")
                ),
            )
            yield made
            assert made.unexpected() == []
        finally:
            context.close()

    return visit
