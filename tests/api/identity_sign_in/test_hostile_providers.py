"""Sign-in with identities: providers that lie, hang, are down or lead elsewhere."""

import threading
from typing import Any

import pytest

from tests.support.hostile_provider import (
    HostileProvider,
)
from tests.support.identity_sign_in import browser, known, linked, refused, sign_in
from tests.support.receivers import hanging_server
from tests.support.served import Server

pytestmark = pytest.mark.xdist_group("identity sign-in")

LIES: dict[str, dict[str, Any]] = {
    "another issuer": {"issuer": "https://accounts.example"},
    "no token endpoint": {"token_endpoint": None},
    "plain HTTP": {"jwks_uri": "http://keys.example/keys"},
    "a script": {"authorization_endpoint": "javascript:alert(1)"},
    "a file": {"jwks_uri": "file:///etc/passwd"},
    "a line end": {"authorization_endpoint": "https://a.example/\r\nX: y"},
}


@pytest.mark.parametrize("lie", LIES)
def test_metadata_that_cannot_be_is_not_followed(
    own: Server, hostile: HostileProvider, lie: str
) -> None:
    provider = known(own, hostile)
    hostile.metadata = LIES[lie]
    with browser(own) as client:
        for _ in range(3):
            refused(client.get(f"/ui/sign-in/with/{provider.name}"), "is unreachable", 503)
    assert len(hostile.asked) == 1, "who has no credential makes no traffic to the provider"


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://169.254.169.254/latest/token",
        "https://[::ffff:169.254.169.254]/",
        "https://0.0.0.0/",
    ],
)
def test_a_provider_does_not_lead_this_server_inside(
    own: Server, hostile: HostileProvider, endpoint: str
) -> None:
    provider = known(own, hostile)
    linked(own, provider)
    hostile.metadata = {"token_endpoint": endpoint}
    with browser(own) as client:
        refused(sign_in(client, hostile, provider), "is unreachable", 503)
    assert hostile.codes == []


def test_a_redirect_of_the_token_endpoint_is_not_followed(
    own: Server, hostile: HostileProvider
) -> None:
    provider = known(own, hostile)
    linked(own, provider)
    hostile.answer = 307, b"", {"Location": f"{hostile.issuer}/elsewhere"}
    with browser(own) as client:
        refused(sign_in(client, hostile, provider), "is unreachable", 503)
    assert "/elsewhere" not in hostile.asked


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b"{" * 10_000, b"x" * 600_000])
def test_an_answer_that_is_none_is_refused(
    own: Server, hostile: HostileProvider, body: bytes
) -> None:
    provider = known(own, hostile)
    linked(own, provider)
    hostile.answer = 200, body, {}
    with browser(own) as client:
        refused(sign_in(client, hostile, provider), "is unreachable", 503)


def test_a_provider_on_loopback_is_not_reached_unless_the_settings_allow_it(
    guarded: Server, hostile: HostileProvider
) -> None:
    provider = known(guarded, hostile)
    with guarded.client() as client:
        refused(client.get(f"/ui/sign-in/with/{provider.name}"), "is unreachable", 503)
    assert hostile.asked == []


def test_a_provider_that_hangs_or_is_down_holds_nobody_up(own: Server) -> None:
    with hanging_server() as port:
        hanging = known(own, HostileProvider(port))
        with browser(own) as client:
            statuses: list[int] = []

            def ask() -> None:
                with browser(own) as other:
                    path = f"/ui/sign-in/with/{hanging.name}"
                    statuses.append(other.get(path).status_code)

            threads = [threading.Thread(target=ask) for _ in range(6)]
            for thread in threads:
                thread.start()
            assert client.get("/healthz").status_code == 200
            wrong = {"username": "nobody", "password": "a wrong password"}
            assert client.post("/api/v1/session", json=wrong).status_code == 401
            assert client.get("/ui/sign-in").status_code == 200
            for thread in threads:
                thread.join()
            assert statuses == [503] * 6
    with browser(own) as client:
        down = client.get(f"/ui/sign-in/with/{hanging.name}")
        refused(down, "is unreachable", 503)
