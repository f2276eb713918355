"""Sessions of browsers: signing in, changes, lock-out, the second factor."""

import re
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pyotp
import pytest
from sqlalchemy import select

from tests.support.served import STOP_S, Server, launch, listening, start_server, state_of
from vedette.clock import SystemClock
from vedette.state.accounts import tokens, users
from vedette.state.accounts.sign_in import SIGN_INS_OF_ADDRESS_MAX
from vedette.state.db.schema import USER

PASSWORD = "a quite long password"
COOKIE = "__Host-vedette-session"
PROOF = {"password": PASSWORD}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of its own: attempts from this address are counted."""
    flags = ("--set", "trusted_proxies=127.0.0.1")
    yield from start_server(tmp_path_factory.mktemp("sessions"), *flags)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One that hashes passwords as those of users do."""
    data = tmp_path_factory.mktemp("slow")
    process = launch(data, "--set", "trusted_proxies=127.0.0.1")
    try:
        yield listening(data, process)
    finally:
        process.terminate()
        process.wait(STOP_S)


@pytest.fixture
def name(own: Server) -> str:
    return new_user(own)


def new_user(server: Server) -> str:
    found = f"user-{secrets.token_hex(5)}"
    with state_of(server) as database:
        users.add(database, users.NewUser(found, password=PASSWORD), SystemClock().now_us())
    return found


def browser(server: Server, address: str = "") -> httpx.Client:
    """A client with cookies, from an address of its own."""
    number = secrets.randbelow(2**24)
    own_address = address or f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    return server.client(**{"X-Forwarded-For": own_address})


def sign_in(
    client: httpx.Client, name: str, password: str = PASSWORD, **more: str
) -> httpx.Response:
    body = {"username": name, "password": password, **more}
    return client.post("/api/v1/session", json=body)


def test_a_session_is_a_cookie_that_only_this_host_gets(own: Server, name: str) -> None:
    with browser(own) as client:
        answer = sign_in(client, name)
        assert (answer.status_code, answer.json()["username"]) == (200, name)
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"{COOKIE}=")
        for attribute in ("HttpOnly", "Secure", "Path=/", "SameSite=strict"):
            assert attribute in cookie
        assert "Domain" not in cookie
        assert client.get("/api/v1/session").json()["username"] == name
        assert client.get("/api/info").status_code == 200


def test_changes_need_the_token_of_the_page(own: Server, name: str) -> None:
    with browser(own) as client:
        token = sign_in(client, name).json()["csrf_token"]
        body = {"name": "script"}
        assert client.post("/api/v1/token", json=body).json()["reason"] == "csrf_token_needed"
        wrong = {"X-CSRF-Token": "0" * 64}
        assert client.post("/api/v1/token", json=body, headers=wrong).status_code == 403
        elsewhere = {"X-CSRF-Token": token, "Sec-Fetch-Site": "cross-site"}
        assert client.post("/api/v1/token", json=body, headers=elsewhere).status_code == 403
        right = {"X-CSRF-Token": token}
        assert client.post("/api/v1/token", json=body, headers=right).status_code == 200


def test_the_token_of_a_page_is_masked_anew_for_each_page(own: Server, name: str) -> None:
    with browser(own) as client:
        token = sign_in(client, name).json()["csrf_token"]
        pages = [client.get("/ui/me").text for _ in range(2)]
        masked = [re.search(r'name="csrf-token" content="(.+?)"', page)[1] for page in pages]
        assert masked[0] != masked[1]
        assert not [page for page in pages if token in page]
        for number, sent in enumerate(masked):
            body, headers = {"name": f"masked {number}"}, {"X-CSRF-Token": sent}
            assert client.post("/api/v1/token", json=body, headers=headers).status_code == 200
        damaged = ("0" * 128, masked[0][:-2], f"{masked[0]}00", f"{masked[0][:-1]}x", "é")
        for sent in damaged:
            headers = {"X-CSRF-Token": sent.encode()}
            answer = client.post("/api/v1/token", json={"name": "no"}, headers=headers)
            assert answer.json()["reason"] == "csrf_token_needed"


def test_the_secrets_of_sessions_and_tokens_are_not_exchanged(own: Server, name: str) -> None:
    with browser(own) as client:
        sign_in(client, name)
        secret = client.cookies[COOKIE]
    with own.client(**{"X-Auth-Token": secret}) as client:
        assert client.get("/api/info").status_code == 401
    with own.client(Cookie=f"{COOKIE}={own.token}") as client:
        assert client.get("/api/info").status_code == 401


def test_signing_out_ends_the_session_everywhere(own: Server, name: str) -> None:
    with browser(own) as client:
        token = sign_in(client, name).json()["csrf_token"]
        secret = client.cookies[COOKIE]
        answer = client.delete("/api/v1/session", headers={"X-CSRF-Token": token})
        assert answer.json() == {"result": "success"}
        assert COOKIE not in client.cookies
    with own.client(Cookie=f"{COOKIE}={secret}") as client:
        assert client.get("/api/v1/session").status_code == 401


def test_another_session_of_mine_can_be_ended_not_one_of_others(own: Server, name: str) -> None:
    with browser(own) as first, browser(own) as second, browser(own) as other:
        sign_in(first, name)
        token = sign_in(second, name).json()["csrf_token"]
        listed = second.get("/api/v1/session/list").json()
        assert [one["is_current"] for one in listed].count(True) == 1
        (older,) = [one["id"] for one in listed if not one["is_current"]]
        headers = {"X-CSRF-Token": token}
        assert second.delete(f"/api/v1/session/{older}", headers=headers).status_code == 200
        assert first.get("/api/v1/session").status_code == 401
        stranger = f"user-{secrets.token_hex(5)}"
        with state_of(own) as database:
            new = users.NewUser(stranger, password=PASSWORD)
            users.add(database, new, SystemClock().now_us())
        theirs = sign_in(other, stranger).json()["csrf_token"]
        mine = next(one["id"] for one in listed if one["is_current"])
        gone = other.delete(f"/api/v1/session/{mine}", headers={"X-CSRF-Token": theirs})
        assert gone.status_code == 404


def test_nobody_is_told_whether_a_user_exists(own: Server, name: str) -> None:
    with browser(own) as client:
        wrong = sign_in(client, name, "another password")
        unknown = sign_in(client, "nobody-of-that-name", "another password")
    assert (wrong.status_code, wrong.json()) == (unknown.status_code, unknown.json())
    assert wrong.status_code == 401


def test_a_disabled_user_and_one_without_a_password_stay_out(own: Server, name: str) -> None:
    with state_of(own) as database:
        users.change(database, name, users.UserChanges(is_enabled=False))
        bare = f"bare-{secrets.token_hex(5)}"
        users.add(database, users.NewUser(bare), SystemClock().now_us())
    with browser(own) as client:
        assert sign_in(client, name).status_code == 401
        assert sign_in(client, bare, "").status_code == 401


def test_a_burst_of_guesses_gets_no_more_than_the_limit(slow: Server) -> None:
    name, statuses = new_user(slow), list[int]()

    def guess() -> None:
        with browser(slow, "10.9.9.9") as client:
            statuses.append(sign_in(client, name, secrets.token_hex(8)).status_code)

    threads = [threading.Thread(target=guess) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses.count(401) == 8
    assert statuses.count(429) == 16
    with browser(slow, "10.9.9.9") as client:
        refused = sign_in(client, name)
        assert refused.json()["reason"] == "locked_out"
        assert refused.headers["Retry-After"] == "900"
    with browser(slow) as client:
        assert sign_in(client, name).status_code == 200


def test_one_address_cannot_try_many_users(own: Server) -> None:
    with browser(own, "10.8.8.8") as client:
        statuses = [sign_in(client, f"someone-{n}", "x" * 12).status_code for n in range(42)]
    assert statuses == [401] * 40 + [429] * 2


def test_an_office_signs_in_from_one_address_and_nobody_guesses_more_by_that(
    own: Server, name: str
) -> None:
    with browser(own, "10.8.8.9") as client:
        for _ in range(SIGN_INS_OF_ADDRESS_MAX + 5):
            assert sign_in(client, name).status_code == 200
        for number in range(SIGN_INS_OF_ADDRESS_MAX):
            assert sign_in(client, f"anyone-{number}", "x" * 12).status_code == 401
            if number < SIGN_INS_OF_ADDRESS_MAX - 1:
                assert sign_in(client, name).status_code == 200
        assert sign_in(client, name).status_code == 429


def test_a_second_factor_is_needed_once_it_is_confirmed(own: Server, name: str) -> None:
    with browser(own) as client:
        headers = {"X-CSRF-Token": sign_in(client, name).json()["csrf_token"]}
        uri = client.post("/api/v1/secondfactor", json=PROOF, headers=headers).json()["uri"]
        totp = pyotp.TOTP(parse_qs(urlsplit(uri).query)["secret"][0])
        with browser(own) as other:
            assert sign_in(other, name).status_code == 200
        refused = client.put("/api/v1/secondfactor", json={"code": "000000"}, headers=headers)
        assert refused.status_code == 400
        code = totp.at(time.time() - 30)
        client.put("/api/v1/secondfactor", json={"code": code}, headers=headers).raise_for_status()
        with browser(own) as other:
            assert sign_in(other, name).json()["reason"] == "second_factor_needed"
            assert sign_in(other, name, code="123456").json()["reason"] == "second_factor_wrong"
            used = sign_in(other, name, code=code)
            assert used.json()["reason"] == "second_factor_wrong"
            code = totp.now()
            assert sign_in(other, name, code=code).status_code == 200
            assert sign_in(other, name, code=code).status_code == 401
        stays = client.request(
            "DELETE", "/api/v1/secondfactor", json={"password": "wrong"}, headers=headers
        )
        assert stays.status_code == 400
        gone = client.request(
            "DELETE", "/api/v1/secondfactor", json={"password": PASSWORD}, headers=headers
        )
        assert gone.status_code == 200
    with browser(own) as other:
        assert sign_in(other, name).status_code == 200


def test_one_network_of_ipv6_is_one_address(own: Server) -> None:
    statuses = []
    for n in range(42):
        with browser(own, f"2001:db8:0:1::{n:x}") as client:
            statuses.append(sign_in(client, f"someone-{n}", "x" * 12).status_code)
    assert statuses == [401] * 40 + [429] * 2
    with browser(own, "2001:db8:0:2::1") as client:
        assert sign_in(client, "someone", "x" * 12).status_code == 401


def with_second_factor(client: httpx.Client, name: str) -> tuple[dict[str, str], pyotp.TOTP]:
    """The header of changes, and the authenticator; the code of the step before is used up."""
    headers = {"X-CSRF-Token": sign_in(client, name).json()["csrf_token"]}
    uri = client.post("/api/v1/secondfactor", json=PROOF, headers=headers).json()["uri"]
    totp = pyotp.TOTP(parse_qs(urlsplit(uri).query)["secret"][0])
    code = totp.at(time.time() - 30)
    client.put("/api/v1/secondfactor", json={"code": code}, headers=headers).raise_for_status()
    return headers, totp


def test_a_session_or_a_token_is_not_enough_to_shut_its_user_out(own: Server, name: str) -> None:
    with state_of(own) as database:
        new = tokens.NewToken("api", user_id=users.get(database, name).id)
        token = tokens.issue(database, new, SystemClock().now_us()).secret
    with browser(own) as client, own.client(**{"X-Auth-Token": token}) as program:
        headers = {"X-CSRF-Token": sign_in(client, name).json()["csrf_token"]}
        for caller in (client, program):
            for body in (None, {}, {"password": "wrong"}):
                answer = caller.post("/api/v1/secondfactor", json=body, headers=headers)
                assert (answer.status_code, "uri" in answer.text) == (400, False)
        found = client.post("/api/v1/secondfactor", json=PROOF, headers=headers).json()
        assert parse_qs(urlsplit(found["uri"]).query)["secret"] == [found["secret"]]
        assert {len(row) for row in found["qr"]} == {len(found["qr"])}
        assert set("".join(found["qr"])) == {"0", "1"}


def test_a_session_is_not_enough_to_replace_a_second_factor(own: Server, name: str) -> None:
    with browser(own) as client:
        headers, totp = with_second_factor(client, name)
        for body in (None, {}, {"password": "wrong"}):
            answer = client.post("/api/v1/secondfactor", json=body, headers=headers)
            assert answer.status_code == 400, answer.text
        answer = client.post("/api/v1/secondfactor", json=PROOF, headers=headers)
        assert answer.status_code == 200
        with browser(own) as other:
            assert sign_in(other, name, code=totp.now()).status_code == 200


def test_who_lost_the_second_factor_is_let_in_by_the_operator(own: Server, name: str) -> None:
    with browser(own) as client:
        with_second_factor(client, name)
    words = ("user", "change", name.upper(), "--no-second-factor", "--data", str(own.data))
    subprocess.run([sys.executable, "-m", "vedette", *words], check=True, capture_output=True)
    with browser(own) as client:
        assert sign_in(client, name).status_code == 200


def test_a_session_does_not_guess_its_users_password(own: Server, name: str) -> None:
    with browser(own) as client:
        headers, _ = with_second_factor(client, name)
        statuses = [
            client.request(
                method, "/api/v1/secondfactor", json={"password": f"guess {n}"}, headers=headers
            ).status_code
            for n in range(5)
            for method in ("DELETE", "POST")
        ]
        assert statuses == [400] * 8 + [429] * 2
        right = {"password": PASSWORD}
        answer = client.request("DELETE", "/api/v1/secondfactor", json=right, headers=headers)
        assert answer.json()["reason"] == "locked_out"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_signs_nobody_in(own: Server, name: str, site: str) -> None:
    with browser(own) as client:
        client.headers["Sec-Fetch-Site"] = site
        answer = sign_in(client, name)
        assert (answer.status_code, answer.json()["reason"]) == (403, "other_site")
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b'{"username": 7}', b'{"user": "x"}', b"x" * 70_000]
)
def test_a_bad_sign_in_is_refused(own: Server, content: bytes) -> None:
    with browser(own) as client:
        assert client.post("/api/v1/session", content=content).status_code in (400, 401, 413)


def test_neither_passwords_nor_cookies_reach_the_log_or_the_audit(own: Server, name: str) -> None:
    marked = "marked-" + secrets.token_hex(12)
    with browser(own) as client:
        sign_in(client, name, marked)
        sign_in(client, name)
        secret = client.cookies[COOKIE]
    log = (own.data / "server.log").read_text()
    with own.analyst() as client:
        audit = client.get("/api/v1/audit", params={"format": "ndjson"}).text
    for text in (marked, secret, PASSWORD):
        assert text not in log
        assert text not in audit


def test_a_guess_costs_who_has_the_hash_of_a_password_64_mib_thrice(slow: Server) -> None:
    with state_of(slow) as database, database.reading() as connection:
        asked = select(USER.c.password_hash).where(USER.c.username == "admin")
        kept = str(connection.scalar(asked))
    assert kept.startswith("$argon2id$v=19$m=65536,t=3,p=4$")


def test_who_guesses_passwords_keeps_nobody_with_a_token_waiting(slow: Server) -> None:
    attempts = 16
    with state_of(slow) as database:
        new = tokens.NewToken("unknown yet", user_id=users.id_of(database, new_user(slow)))
        issued = tokens.issue(database, new, SystemClock().now_us())
    connected = threading.Barrier(attempts + 1)
    answered: list[int] = []
    first = threading.Event()

    def guess() -> None:
        with browser(slow) as client:
            client.get("/healthz")
            connected.wait()
            answered.append(sign_in(client, secrets.token_hex(8), "a wrong password").status_code)
            first.set()

    guessing = [threading.Thread(target=guess) for _ in range(attempts)]
    for thread in guessing:
        thread.start()
    with slow.client(**{"X-Auth-Token": issued.secret}) as client:
        client.get("/healthz")
        connected.wait()
        first.wait(60)
        assert client.get("/api/v1/session").status_code == 200
        before = len(answered)
    for thread in guessing:
        thread.join()
    assert answered == [401] * attempts
    assert before < attempts / 2, "the token was checked after the passwords"


def test_a_password_is_changed_by_who_knows_the_present_one(own: Server, name: str) -> None:
    other_password = "another long password"
    path, proof = "/api/v1/me/password", {"password": PASSWORD, "new_password": other_password}
    with browser(own) as client, browser(own) as other, browser(own) as stranger:
        headers = {"X-CSRF-Token": sign_in(client, name).json()["csrf_token"]}
        sign_in(other, name)
        assert client.put(path, json=proof).json()["reason"] == "csrf_token_needed"
        for wrong in ({"password": "wrong"}, {"new_password": "short"}, {"new_password": PASSWORD}):
            assert client.put(path, json=proof | wrong, headers=headers).status_code == 400
        assert other.get("/api/v1/session").status_code == 200
        assert client.put(path, json=proof, headers=headers).json() == {"result": "success"}
        assert client.get("/api/v1/session").status_code == 200
        assert other.get("/api/v1/session").status_code == 401
        assert client.put(path, json=proof, headers=headers).status_code == 400
        assert sign_in(stranger, name).status_code == 401
        assert sign_in(stranger, name, other_password).status_code == 200
    with own.analyst() as analyst:
        listed = analyst.get("/api/v1/audit", params={"object": f"user:{name}"})
        newest = listed.json()["results"][0]
    assert (newest["author"], newest["action"]) == (name, "change")
    assert PASSWORD not in listed.text
    assert other_password not in listed.text


def test_a_session_does_not_guess_a_password_by_changing_it(own: Server, name: str) -> None:
    with browser(own) as client:
        headers = {"X-CSRF-Token": sign_in(client, name).json()["csrf_token"]}
        body = {"password": "guess", "new_password": "another long password"}
        answers = [client.put("/api/v1/me/password", json=body, headers=headers) for _ in range(9)]
        assert [one.status_code for one in answers] == [400] * 8 + [429]
        right = client.put(
            "/api/v1/me/password", json=body | {"password": PASSWORD}, headers=headers
        )
        assert right.json()["reason"] == "locked_out"


def test_who_has_no_password_sets_none(own: Server) -> None:
    bare = f"bare-{secrets.token_hex(5)}"
    with state_of(own) as database:
        user = users.add(database, users.NewUser(bare), SystemClock().now_us())
        new = tokens.NewToken("api", user_id=user.id)
        secret = tokens.issue(database, new, SystemClock().now_us()).secret
    with own.client(**{"X-Auth-Token": secret}) as client:
        for present in ("", "of nobody"):
            body = {"password": present, "new_password": "another long password"}
            assert client.put("/api/v1/me/password", json=body).status_code == 400
        assert client.get(f"/api/v1/user/{bare}").json()["has_password"] is False
