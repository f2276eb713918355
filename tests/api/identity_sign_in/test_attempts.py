"""Sign-in with identities: answers that are replayed, foreign, late or from elsewhere. The
flow with a real provider is in tests/flow/test_oidc.py."""

import base64
import threading
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.hostile_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    HostileProvider,
)
from tests.support.identity_sign_in import (
    ATTEMPT,
    PUBLIC_URL,
    SESSION,
    aged,
    begin,
    browser,
    entries,
    finish,
    known,
    linked,
    refused,
    sign_in,
)
from tests.support.served import Server, start_server
from vedette.state.accounts import identity_providers
from vedette.state.db.sealing import open_sealing

pytestmark = pytest.mark.xdist_group("identity sign-in")


def test_a_linked_identity_signs_in(own: Server, hostile: HostileProvider) -> None:
    provider = known(own, hostile)
    name = linked(own, provider)
    with browser(own) as client:
        asked = begin(client, provider)
        assert asked["redirect_uri"] == (
            f"https://edr.example:8443/ui/sign-in/with/{provider.name}/callback"
        )
        assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT_ID)
        assert (asked["code_challenge_method"], asked["realm"]) == ("S256", "all")
        assert "openid" in asked["scope"].split(" ")
        hostile.nonce = asked["nonce"]
        answer = finish(client, provider, asked["state"])
        assert answer.status_code == 200, answer.text
        cookie = next(one for one in answer.headers.get_list("set-cookie") if SESSION in one)
        for attribute in ("HttpOnly", "Secure", "Path=/", "SameSite=strict"):
            assert attribute in cookie
        assert "Domain" not in cookie
        assert client.get("/api/v1/session").json()["username"] == name
        assert ATTEMPT not in client.cookies
    (form,) = hostile.codes
    pair = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
    assert form["authorization"] == f"Basic {pair}"
    assert "client_secret" not in form
    assert form["redirect_uri"] == asked["redirect_uri"]
    assert len(form["code_verifier"]) >= 43
    (link,) = entries(own, kind="identity", target=f"{provider.id}/person")
    assert link["action"] == "create"
    begun = [one for one in entries(own, kind="token", author=name) if one["action"] == "create"]
    assert begun[0]["after"]["kind"] == "session"


def test_the_cookie_of_an_attempt_is_this_hosts_and_tells_nothing(
    own: Server, hostile: HostileProvider
) -> None:
    provider = known(own, hostile)
    with browser(own) as client:
        answer = client.get(f"/ui/sign-in/with/{provider.name}")
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"{ATTEMPT}=v1:") or f'{ATTEMPT}="v1:' in cookie
        for attribute in ("HttpOnly", "Secure", "Path=/", "SameSite=lax", "Max-Age=600"):
            assert attribute in cookie
        query = parse_qs(urlsplit(answer.headers["location"]).query)
        for name in ("state", "nonce"):
            assert query[name][0] not in cookie
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"


def test_an_answer_is_good_once_also_in_the_same_moment(
    own: Server, hostile: HostileProvider
) -> None:
    provider = known(own, hostile)
    linked(own, provider)
    with browser(own) as client:
        asked = begin(client, provider)
        hostile.nonce = asked["nonce"]
        cookie = client.cookies[ATTEMPT]
        statuses: list[int] = []

        def answer() -> None:
            with browser(own) as copy:
                copy.headers["Cookie"] = f"{ATTEMPT}={cookie}"
                statuses.append(finish(copy, provider, asked["state"]).status_code)

        threads = [threading.Thread(target=answer) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(statuses) == [200] + [401] * 7
        assert len(hostile.codes) == 1
        refused(finish(client, provider, asked["state"]), "already used")


def test_an_answer_of_another_browser_signs_nobody_in(
    own: Server, hostile: HostileProvider
) -> None:
    """Login CSRF: a victim is led to the answer that the attacker's provider session gave."""
    provider = known(own, hostile)
    linked(own, provider)
    with browser(own) as attacker, browser(own) as victim:
        asked = begin(attacker, provider)
        hostile.nonce = asked["nonce"]
        refused(finish(victim, provider, asked["state"]), "in another browser")
        begin(victim, provider)
        refused(finish(victim, provider, asked["state"]), "in another browser")
        refused(finish(victim, provider, ""), "in another browser")
    assert hostile.codes == []


def test_a_cookie_that_was_made_or_changed_elsewhere_is_none(
    own: Server, hostile: HostileProvider
) -> None:
    provider = known(own, hostile)
    with browser(own) as client:
        asked = begin(client, provider)
        cookie = client.cookies[ATTEMPT].strip('"')
        other = open_sealing(own.data).seal("{}", "second factor of user 1")
        stored = identity_providers.Provider.__name__  # any text that is no sealed one
        for bad in (cookie[:-4] + "AAAA", other, stored, "", "v1:"):
            with browser(own) as forger:
                forger.headers["Cookie"] = f"{ATTEMPT}={bad}"
                refused(finish(forger, provider, asked["state"]), "in another browser")
    assert hostile.codes == []


@pytest.mark.parametrize(("seconds", "status"), [(590, 200), (620, 401), (-3_600, 401)])
def test_an_attempt_ends_after_ten_minutes(
    own: Server, hostile: HostileProvider, seconds: int, status: int
) -> None:
    provider = known(own, hostile)
    linked(own, provider)
    with browser(own) as client, browser(own) as later:
        asked = begin(client, provider)
        hostile.nonce = asked["nonce"]
        later.headers["Cookie"] = f"{ATTEMPT}={aged(own, client.cookies[ATTEMPT], seconds)}"
        assert finish(later, provider, asked["state"]).status_code == status


@pytest.mark.parametrize(
    ("given", "leads_to"),
    [
        ("/ui/alerts?q=a&b=c", "/ui/alerts?q=a&amp;b=c"),
        ("https://evil.example/", "/ui"),
        ("//evil.example/ui/", "/ui"),
        ("/\\evil.example", "/ui"),
        ("/ui/\\..\\evil", "/ui"),
        ("/ui/\r\nSet-Cookie: a=b", "/ui"),
        ("javascript:alert(1)", "/ui"),
        ("/ui/sign-in/with/x", "/ui"),
        ("/api/v1/session", "/ui"),
        ("/ui/" + "a" * 10_000, "/ui"),
        ('/ui/"><script>', "/ui/&#34;&gt;&lt;script&gt;"),
    ],
)
def test_a_sign_in_leads_to_a_page_of_our_own(
    own: Server, hostile: HostileProvider, given: str, leads_to: str
) -> None:
    provider = known(own, hostile)
    linked(own, provider)
    with browser(own) as client:
        answer = sign_in(client, hostile, provider, given)
        assert f'http-equiv="refresh" content="0; url={leads_to}"' in answer.text
        assert "script" not in answer.text.replace("&lt;script&gt;", "")


def test_another_site_cannot_begin_a_sign_in(own: Server, hostile: HostileProvider) -> None:
    provider = known(own, hostile)
    with browser(own) as client:
        for site in ("cross-site", "same-site"):
            answer = client.get(
                f"/ui/sign-in/with/{provider.name}", headers={"Sec-Fetch-Site": site}
            )
            assert answer.headers["location"].startswith("/ui/sign-in?next=")
            assert "set-cookie" not in answer.headers


def test_an_address_that_is_not_approved_signs_nobody_in(
    hostile: HostileProvider, tmp_path: Any
) -> None:
    for server in start_server(
        tmp_path,
        "--set",
        "trusted_proxies=127.0.0.1",
        "--set",
        "egress_allow=127.0.0.1",
        "--set",
        f"public_url={PUBLIC_URL}",
    ):
        provider = known(server, hostile)
        linked(server, provider)
        with server.analyst() as admin, browser(server, "10.1.1.1") as client:
            asked = begin(client, provider)
            for one in ("127.0.0.1", "10.2.2.2"):
                admin.post("/approvedlist/entries", json={"ipaddr": one}).raise_for_status()
            admin.patch("/approvedlist/enabled", json={"state": True}).raise_for_status()
            hostile.nonce = asked["nonce"]
            answer = finish(client, provider, asked["state"])
            assert answer.status_code == 403
            assert client.get(f"/ui/sign-in/with/{provider.name}").status_code == 403
            sent = {"username": "nobody", "password": "a wrong password"}
            assert client.post("/api/v1/session", json=sent).status_code == 403
            assert hostile.codes == []
            with browser(server, "10.2.2.2") as approved:
                assert sign_in(approved, hostile, provider).status_code == 200


def test_one_address_cannot_finish_any_number_of_sign_ins(
    own: Server, hostile: HostileProvider
) -> None:
    provider = known(own, hostile)
    with browser(own, "10.77.77.77") as client:
        statuses = [finish(client, provider, "x").status_code for _ in range(203)]
    assert statuses == [401] * 200 + [429] * 3
