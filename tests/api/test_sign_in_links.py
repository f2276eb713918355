"""Links that sign in once: whatever is done with one, it begins at most one session."""

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.api.test_sessions import COOKIE, PASSWORD, browser, with_second_factor
from tests.support.served import Server, start_server, state_of
from vedette.clock import SystemClock
from vedette.state.accounts import sign_in as sign_ins
from vedette.state.accounts import users
from vedette.state.accounts.sign_in import (
    SIGN_IN_LINK_S,
    SIGN_INS_OF_ADDRESS_MAX,
    SIGN_INS_OF_LINK_MAX,
)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of its own: attempts from this address are counted."""
    flags = ("--set", "trusted_proxies=127.0.0.1")
    yield from start_server(tmp_path_factory.mktemp("links"), *flags)


@pytest.fixture
def name(own: Server) -> str:
    found = f"user-{secrets.token_hex(5)}"
    with state_of(own) as database:
        users.add(database, users.NewUser(found, password=PASSWORD), SystemClock().now_us())
    return found


def link_of(server: Server, name: str, age_s: int = 0) -> str:
    with state_of(server) as database:
        now_us = SystemClock().now_us() - age_s * 1_000_000
        return sign_ins.issue_link(database, name, now_us)


def follow(server: Server, link: str, **more: str) -> httpx.Response:
    with browser(server) as client:
        return client.post("/api/v1/session", json={"link": link, **more})


def test_a_link_begins_one_session_of_its_user(own: Server, name: str) -> None:
    link = link_of(own, name)
    with browser(own) as client:
        answer = client.post("/api/v1/session", json={"link": link})
        assert (answer.status_code, answer.json()["username"]) == (200, name)
        assert client.get("/api/v1/session").json()["username"] == name
    again = follow(own, link)
    assert (again.status_code, again.json()["reason"]) == (401, "link_ended")


def test_of_many_who_follow_a_link_at_once_one_gets_in(own: Server, name: str) -> None:
    link = link_of(own, name)
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda _: follow(own, link).status_code, range(12)))
    assert sorted(answers) == [200] + [401] * 11


def test_a_link_ends_with_its_time_and_when_another_is_made(own: Server, name: str) -> None:
    late = link_of(own, name, age_s=SIGN_IN_LINK_S + 1)
    assert follow(own, late).json()["reason"] == "link_ended"
    first, second = link_of(own, name), link_of(own, name)
    assert follow(own, first).status_code == 401
    assert follow(own, second).status_code == 200


def test_a_link_of_a_disabled_user_lets_nobody_in(own: Server, name: str) -> None:
    link = link_of(own, name)
    with state_of(own) as database:
        users.change(database, name, users.UserChanges(is_enabled=False))
    assert follow(own, link).status_code == 401


def test_a_link_is_neither_a_token_nor_a_cookie(own: Server, name: str) -> None:
    link = link_of(own, name)
    for headers in (
        {"X-Auth-Token": link},
        {"Authorization": f"Bearer {link}"},
        {"Cookie": f"{COOKIE}={link}"},
    ):
        with own.client(**headers) as client:
            assert client.get("/api/info").status_code == 401
            assert client.post("/_bulk", content=b"").status_code in (401, 403)
    assert follow(own, link).status_code == 200


def test_a_token_is_no_link(own: Server) -> None:
    assert follow(own, own.token).status_code == 401
    assert follow(own, own.ingest_token).status_code == 401
    assert follow(own, "").status_code == 401


def test_the_page_itself_uses_no_link_up(own: Server, name: str) -> None:
    link = link_of(own, name)
    with browser(own) as client:
        for _ in range(3):
            assert client.get(f"/ui/sign-in?next=/ui/alerts&link={link}").status_code == 200
            assert client.get(f"/ui/sign-in#link={link}").status_code == 200
        assert COOKIE not in client.cookies
    assert follow(own, link).status_code == 200


def test_a_second_factor_is_asked_for_all_the_same(own: Server, name: str) -> None:
    with browser(own) as client:
        _, totp = with_second_factor(client, name)
    link = link_of(own, name)
    assert follow(own, link).json()["reason"] == "second_factor_needed"
    assert follow(own, link, code="000000").json()["reason"] == "second_factor_wrong"
    assert follow(own, link, code=totp.now()).status_code == 200


def test_who_has_the_link_does_not_guess_the_second_factor_from_many_addresses(
    own: Server, name: str
) -> None:
    with browser(own) as client:
        _, totp = with_second_factor(client, name)
    link = link_of(own, name)
    answers = [follow(own, link, code="000000") for _ in range(SIGN_INS_OF_LINK_MAX + 1)]
    statuses = [one.status_code for one in answers]
    assert statuses == [401] * SIGN_INS_OF_LINK_MAX + [429]
    assert follow(own, link, code=totp.now()).status_code == 429


def test_guesses_of_links_are_counted_by_address(own: Server) -> None:
    with browser(own, "10.7.7.7") as client:
        answers = [
            client.post("/api/v1/session", json={"link": secrets.token_hex(20)}).status_code
            for _ in range(SIGN_INS_OF_ADDRESS_MAX + 1)
        ]
    assert answers == [401] * SIGN_INS_OF_ADDRESS_MAX + [429]


def test_a_link_with_a_password_is_refused(own: Server, name: str) -> None:
    answer = follow(own, link_of(own, name), username=name, password=PASSWORD)
    assert (answer.status_code, answer.json()["message"][:5]) == (400, "link:")


def test_who_followed_a_link_is_in_the_audit_log_and_its_secret_nowhere(
    own: Server, name: str
) -> None:
    link = link_of(own, name)
    assert follow(own, link).status_code == 200
    with own.analyst() as client:
        audit = client.get("/api/v1/audit", params={"format": "ndjson"}).text
        listed = client.get("/api/v1/token").text
    used = [line for line in audit.splitlines() if '"link"' in line or f'"{name}"' in line]
    assert any("revoked_us" in line and f'"{name}"' in line for line in used)
    log = (own.data / "server.log").read_text()
    assert not [text for text in (audit, listed, log) if link in text]
