"""`/docs` in a real browser."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.browser import CHROMIUM, Page, browser_page
from tests.support.served import Server, start_server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")

VIEWER = "document.querySelector('rapi-doc').shadowRoot"
LIST = "document.querySelector('rapi-doc')?.shadowRoot?.querySelector('.nav-bar-path')"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from start_server(tmp_path_factory.mktemp("server"))


@contextmanager
def docs_page(server: Server, factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser_page(factory.mktemp("profile")) as page:
        page.call("Page.navigate", url=f"{server.url}/docs")
        page.until(f"!!{LIST}")
        yield page


@pytest.fixture(scope="module")
def page(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with docs_page(server, tmp_path_factory) as page:
        yield page


def test_every_route_of_the_document_is_listed(page: Page, server: Server) -> None:
    with server.client() as client:
        paths = client.get("/openapi.json").json()["paths"]
    shown = page.evaluate(f"{VIEWER}.querySelector('.nav-bar').textContent")
    assert [path for path in paths if path not in shown] == []


def test_a_route_that_is_chosen_shows_its_parameters_and_its_answer(page: Page) -> None:
    page.evaluate(f"{VIEWER}.querySelector('[id=\"link-get-/api/v1/process\"]').click()")
    main = f"{VIEWER}.querySelector('.main-content')"
    page.until(f"{main}.innerText.includes('Search processes')")
    page.until(f"!!{main}.querySelector('api-request') && !!{main}.querySelector('api-response')")
    asked = f"{main}.querySelector('api-request').shadowRoot.textContent"
    page.until(f"{asked}.includes('svc.comprehensive_search')")
    answered = f"{main}.querySelector('api-response').shadowRoot"
    page.until(f"!!{answered}.querySelector('schema-table, json-tree, schema-tree')")


def test_the_page_keeps_its_security_policy_and_logs_no_error(page: Page) -> None:
    assert page.faults() == []


def test_nothing_is_asked_of_another_server(page: Page, server: Server) -> None:
    asked = {url for url in page.urls() if not url.startswith("data:")}
    assert f"{server.url}/openapi.json" in asked
    assert {url for url in asked if not url.startswith(server.url)} == set()


def test_a_violation_of_the_policy_would_be_found(
    server: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with docs_page(server, tmp_path_factory) as page:
        page.evaluate(
            "document.body.appendChild(document.createElement('script')).textContent = 'x = 1'"
        )
        page.evaluate("void fetch('https://192.0.2.1/').catch(() => 1)")
        page.until("typeof x === 'undefined'")
        assert any("script-src" in fault for fault in page.faults())
        assert any("connect-src" in fault for fault in page.faults())


def test_the_policy_allows_no_evaluation_and_no_inline_script(server: Server) -> None:
    with server.client() as client:
        policy = client.get("/docs").headers["content-security-policy"]
    assert "unsafe-eval" not in policy
    assert "script-src 'self';" in policy
    assert "default-src 'none'" in policy
