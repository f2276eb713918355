"""Sign-in with identities: tokens that prove nothing, and keys that change."""

import base64
import hmac
import time
from collections.abc import Callable
from typing import Any

import pytest
from joserfc.jwk import RSAKey

from tests.support.hostile_provider import (
    HostileProvider,
    segment,
)
from tests.support.identity_sign_in import (
    begin,
    browser,
    entries,
    finish,
    known,
    linked,
    refused,
    sign_in,
)
from tests.support.served import Server

pytestmark = pytest.mark.xdist_group("identity sign-in")


def forged(part: str, change: dict[str, Any]) -> Callable[[HostileProvider], None]:
    def apply(hostile: HostileProvider) -> None:
        setattr(hostile, part, change)

    return apply


def unsigned(hostile: HostileProvider) -> None:
    header = segment({"alg": "none", "kid": "first"})
    hostile.token = lambda: f"{header}.{segment(hostile.good_claims())}."


def signed_with_the_public_key(hostile: HostileProvider) -> None:
    def token() -> str:
        content = f"{segment({'alg': 'HS256', 'kid': 'first'})}.{segment(hostile.good_claims())}"
        made = hmac.digest(hostile.key.as_pem(private=False), content.encode(), "sha256")
        return f"{content}.{base64.urlsafe_b64encode(made).rstrip(b'=').decode()}"

    hostile.token = token


def signed_with_another_key(hostile: HostileProvider) -> None:
    def token() -> str:
        forger = HostileProvider(hostile.port, nonce=hostile.nonce)
        forger.header = {"jwk": forger.key.as_dict(private=False)}
        return forger.signed()

    hostile.token = token


def without_a_token(hostile: HostileProvider) -> None:
    hostile.token = lambda: ""


FORGERIES: dict[str, Callable[[HostileProvider], None]] = {
    "another nonce": forged("claims", {"nonce": "of another sign-in"}),
    "no nonce": forged("claims", {"nonce": None}),
    "another issuer": forged("claims", {"iss": "https://accounts.example"}),
    "another audience": forged("claims", {"aud": "another client"}),
    "issued to another": forged("claims", {"azp": "another client"}),
    "expired": forged("claims", {"exp": int(time.time()) - 600}),
    "no subject": forged("claims", {"sub": None}),
    "unknown key": forged("header", {"kid": "unknown"}),
    "critical extension": forged("header", {"crit": ["odd"], "odd": 1}),
    "unsigned": unsigned,
    "the public key as a secret": signed_with_the_public_key,
    "a key of its own": signed_with_another_key,
    "no ID token": without_a_token,
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_token_that_proves_nothing_signs_nobody_in(
    own: Server, hostile: HostileProvider, forgery: str
) -> None:
    provider = known(own, hostile)
    linked(own, provider)
    FORGERIES[forgery](hostile)
    with browser(own) as client:
        refused(sign_in(client, hostile, provider))
        assert client.get("/api/v1/session").status_code == 401
    (entry,) = entries(own, kind="sign-in", target=f"{provider.name}/")
    assert entry["after"]["refused"] == "id_token_refused"
    assert entry["address"].startswith("10.")


def test_a_code_that_the_provider_refuses_signs_nobody_in(
    own: Server, hostile: HostileProvider
) -> None:
    """Sends a refused code, such as a code that was already redeemed."""
    provider = known(own, hostile)
    linked(own, provider)
    hostile.answer = 400, b'{"error": "invalid_grant"}', {}
    with browser(own) as client:
        refused(sign_in(client, hostile, provider), "denied the sign-in")
    (entry,) = entries(own, kind="sign-in", target=f"{provider.name}/")
    assert entry["after"]["refused"] == "provider_refuses"


def test_an_error_of_the_provider_is_told_without_its_words(
    own: Server, hostile: HostileProvider
) -> None:
    provider = known(own, hostile)
    words = "<script>alert(1)</script>"
    with browser(own) as client:
        asked = begin(client, provider)
        answer = finish(client, provider, asked["state"], error=words, error_description=words)
        refused(answer, "denied the sign-in")
        assert "alert(1)" not in answer.text


def test_new_keys_of_the_provider_are_read_when_a_token_names_one(
    own: Server, hostile: HostileProvider
) -> None:
    provider = known(own, hostile)
    linked(own, provider)
    with browser(own) as client:
        assert sign_in(client, hostile, provider).status_code == 200
        assert sign_in(client, hostile, provider).status_code == 200
        assert hostile.asked.count("/keys") == 1
        hostile.key = RSAKey.generate_key(2048, {"kid": "second"})
        assert sign_in(client, hostile, provider).status_code == 200
        assert hostile.asked.count("/keys") == 2
        # Tokens that name unknown keys do not make this server ask for ever.
        hostile.header = {"kid": "unknown"}
        for _ in range(4):
            refused(sign_in(client, hostile, provider))
        assert hostile.asked.count("/keys") <= 4
