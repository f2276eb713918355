"""`/docs` in a real browser."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import SHARED, Visit, Visiting, until
from tests.support.served import Server

pytestmark = SHARED

VIEWER = "document.querySelector('rapi-doc').shadowRoot"
LIST = "document.querySelector('rapi-doc')?.shadowRoot?.querySelector('.nav-bar-path')"


@pytest.fixture(scope="module")
def asked() -> list[str]:
    """Addresses that the page requests."""
    return []


@pytest.fixture(scope="module")
def visit(visiting: Visiting, asked: list[str]) -> Iterator[Visit]:
    with visiting(cookie=None) as visit:
        visit.page.on("request", lambda request: asked.append(request.url))
        visit.page.goto(f"{visit.url}/docs")
        until(visit.page, f"!!{LIST}", timeout_s=60)
        yield visit


@pytest.fixture(scope="module")
def page(visit: Visit) -> Any:
    return visit.page


def test_every_route_of_the_document_is_listed(page: Any, server: Server) -> None:
    with server.client() as client:
        paths = client.get("/openapi.json").json()["paths"]
    shown = page.evaluate(f"{VIEWER}.querySelector('.nav-bar').textContent")
    assert [path for path in paths if path not in shown] == []


def test_a_route_that_is_chosen_shows_its_parameters_and_its_answer(page: Any) -> None:
    page.evaluate(f"{VIEWER}.querySelector('[id=\"link-get-/api/v1/process\"]').click()")
    main = f"{VIEWER}.querySelector('.main-content')"
    until(page, f"{main}.innerText.includes('Search processes')")
    until(page, f"!!{main}.querySelector('api-request') && !!{main}.querySelector('api-response')")
    asked = f"{main}.querySelector('api-request').shadowRoot.textContent"
    until(page, f"{asked}.includes('svc.comprehensive_search')")
    answered = f"{main}.querySelector('api-response').shadowRoot"
    until(page, f"!!{answered}.querySelector('schema-table, json-tree, schema-tree')")


def test_the_page_keeps_its_security_policy_and_logs_no_error(visit: Visit) -> None:
    assert visit.complaints == []


def test_nothing_is_asked_of_another_server(page: Any, asked: list[str], server: Server) -> None:
    found = {url for url in asked if not url.startswith("data:")}
    assert f"{server.url}/openapi.json" in found
    assert {url for url in found if not url.startswith(server.url)} == set()


def test_a_violation_of_the_policy_would_be_found(visiting: Visiting) -> None:
    with visiting(cookie=None) as visit:
        visit.expected += ["policy", "Policy"]
        visit.page.goto(f"{visit.url}/docs")
        visit.page.evaluate(
            "void document.body.append(Object.assign(document.createElement('script'), "
            "{textContent: 'x = 1'}))"
        )
        visit.page.evaluate("fetch('https://192.0.2.1/').catch(() => 1)")
        assert visit.page.evaluate("typeof x === 'undefined'")
        visit.hear("script-src")
        visit.hear("connect-src")


def test_the_policy_allows_no_evaluation_and_no_inline_script(server: Server) -> None:
    with server.client() as client:
        policy = client.get("/docs").headers["content-security-policy"]
    assert "unsafe-eval" not in policy
    assert "script-src 'self';" in policy
    assert "default-src 'none'" in policy
