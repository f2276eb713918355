"""Sign-in with an identity in a real browser: the cookies of both ways, and the page afterwards."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import Visiting
from tests.support.oidc_provider import CLIENT_ID, CLIENT_SECRET, Provider, oidc_provider
from tests.support.ports import free_port
from tests.support.served import Server, start_server, state_of
from vedette.clock import SystemClock
from vedette.model.principal import Role
from vedette.state.accounts import identity_providers, teams
from vedette.state.accounts.identity_providers import Change
from vedette.state.db.sealing import open_sealing


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("provider")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that people know by its address."""
    port = free_port()
    yield from start_server(
        tmp_path_factory.mktemp("server"),
        "--port",
        str(port),
        "--set",
        f"public_url=https://127.0.0.1:{port}",
        "--set",
        "egress_allow=127.0.0.1",
    )


@pytest.fixture(scope="module")
def provider(server: Server, folder: Path) -> Iterator[Provider]:
    """A provider whose people become users in a team of viewers."""
    port = free_port()
    with state_of(server) as database:
        team = teams.add(database, "Readers", {1: Role.VIEWER})
        new = Change(
            client_id=CLIENT_ID,
            secret=CLIENT_SECRET,
            label="Company account",
            creates_users=True,
            teams=(("*", team.id),),
        )
        identity_providers.add(
            database,
            open_sealing(server.data),
            "company",
            f"http://127.0.0.1:{port}",
            new,
            SystemClock().now_us(),
        )
    redirect = f"{server.url}/ui/sign-in/with/company/callback"
    with oidc_provider(folder, port, redirect, {"ann": {"preferred_username": "ann"}}) as found:
        yield found


def test_a_click_signs_in_and_leads_to_the_page_that_was_wanted(
    visiting: Visiting, provider: Provider
) -> None:
    with visiting(cookie=None) as visit:
        page = visit.page
        visit.expected.append(f"asked {provider.issuer}/authorize")
        page.context.add_cookies([{"name": "person", "value": "ann", "url": provider.issuer}])
        page.goto(visit.url + "/ui/sensors?q=x")
        assert "/ui/sign-in?next=" in page.url
        page.click("text=Sign in with Company account")
        page.wait_for_url("**/ui/sensors?q=x")
        page.wait_for_selector("html[data-ready]")
        cookies = {one["name"]: one for one in page.context.cookies()}
        session = cookies["__Host-vedette-session"]
        assert (session["httpOnly"], session["secure"], session["sameSite"]) == (
            True,
            True,
            "Strict",
        )
        assert "__Host-vedette-sign-in" not in cookies
        assert page.evaluate("fetch('/api/v1/session').then(a => a.json())")["username"] == "ann"


def test_going_back_to_the_answer_says_that_it_was_used(
    visiting: Visiting, provider: Provider
) -> None:
    with visiting(cookie=None) as visit:
        page = visit.page
        visit.expected += [f"asked {provider.issuer}/authorize", "401"]
        page.context.add_cookies([{"name": "person", "value": "ann", "url": provider.issuer}])
        answers: list[str] = []
        page.on("request", lambda asked: "/callback?" in asked.url and answers.append(asked.url))
        page.goto(visit.url + "/ui/sign-in")
        page.click("text=Sign in with Company account")
        page.wait_for_url("**/ui/")
        page.goto(answers[0])
        assert "was started in another browser" in page.inner_text("[role=alert]")
