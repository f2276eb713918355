"""ID tokens: what proves who somebody is, and what an attacker sends in its place."""

import base64
import hmac
import json
from collections.abc import Mapping
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from joserfc import jws, jwt
from joserfc.jwk import ECKey, OKPKey, RSAKey

from tests.support.hostile_provider import rs256, segment
from vedette.oidc.id_token import Expected, IdTokenError, UnknownKeyError, public_keys, verify

NOW_S = 1_800_000_000
EXPECTED = Expected("https://id.example", "console", "the nonce", NOW_S)
CLAIMS: Mapping[str, Any] = {
    "iss": "https://id.example",
    "aud": "console",
    "sub": "person-1",
    "nonce": "the nonce",
    "iat": NOW_S - 5,
    "exp": NOW_S + 300,
}
RSA = RSAKey.generate_key(2048, {"kid": "rsa", "use": "sig"})
EC = ECKey.generate_key("P-256", {"kid": "ec", "use": "sig"})
OKP = OKPKey.generate_key("Ed25519", {"kid": "okp", "use": "sig"})
PAIRS = {"RS256": RSA, "PS256": RSA, "ES256": EC, "Ed25519": OKP}
KEYS = public_keys({"keys": [one.as_dict(private=False) for one in (RSA, EC, OKP)]})


def signed(
    claims: Mapping[str, Any] = CLAIMS,
    algorithm: str = "RS256",
    key: Any = None,
    **header: Any,
) -> str:
    pair = key or PAIRS[algorithm]
    full = {"alg": algorithm, "kid": pair.kid, **header}
    registry = jws.JWSRegistry(algorithms=[algorithm], strict_check_header=False)
    return jwt.encode(full, dict(claims), pair, algorithms=[algorithm], registry=registry)


@pytest.mark.parametrize("algorithm", PAIRS)
def test_a_token_of_the_provider_is_believed(algorithm: str) -> None:
    assert verify(signed(algorithm=algorithm), KEYS, EXPECTED)["sub"] == "person-1"


def test_audiences_may_be_several_where_we_are_the_authorized_party() -> None:
    several = CLAIMS | {"aud": ["console", "other"], "azp": "console"}
    assert verify(signed(several), KEYS, EXPECTED)["sub"] == "person-1"


@pytest.mark.parametrize(
    "change",
    [
        {"iss": "https://id.example/"},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"aud": "another"},
        {"aud": []},
        {"aud": ["console", "other"]},
        {"aud": ["console", "other"], "azp": "other"},
        {"azp": "other"},
        {"aud": {"console": 1}},
        {"nonce": "another"},
        {"nonce": None},
        {"nonce": 5},
        {"nonce": ""},
        {"exp": NOW_S - 61},
        {"exp": None},
        {"exp": "9999999999"},
        {"exp": True},
        {"exp": float("inf")},
        {"exp": float("nan")},
        {"exp": 10**400},
        {"iat": -(10**400)},
        {"iat": float("nan")},
        {"nbf": float("nan")},
        {"iat": NOW_S - 5_000},
        {"iat": NOW_S + 3_600},
        {"iat": None},
        {"nbf": NOW_S + 3_600},
        {"nbf": "soon"},
        {"sub": ""},
        {"sub": None},
        {"sub": 7},
        {"sub": "x" * 256},
        {"sub": "person\x00"},
        {"sub": "person\n1"},
    ],
)
def test_claims_that_do_not_fit_are_refused(change: dict[str, Any]) -> None:
    claims = {name: value for name, value in (CLAIMS | change).items() if value is not None}
    with pytest.raises(IdTokenError):
        verify(signed(claims), KEYS, EXPECTED)


def test_a_subject_that_no_database_takes_is_refused() -> None:
    plain = {"alg": "RS256", "kid": "rsa"}
    with pytest.raises(IdTokenError):
        verify(rs256(RSA, plain, CLAIMS | {"sub": "person \ud800"}), KEYS, EXPECTED)


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "", None, 7, "HS256", "dir"])
def test_an_algorithm_without_a_public_key_is_refused(algorithm: object) -> None:
    for signature in ("", "AAAA"):
        text = f"{segment({'alg': algorithm, 'kid': 'rsa'})}.{segment(dict(CLAIMS))}.{signature}"
        with pytest.raises(IdTokenError):
            verify(text, KEYS, EXPECTED)


@pytest.mark.parametrize("name", ["sha256", "sha512"])
def test_the_public_key_is_no_shared_secret(name: str) -> None:
    algorithm = {"sha256": "HS256", "sha512": "HS512"}[name]
    for secret in (RSA.as_pem(private=False), json.dumps(RSA.as_dict(private=False)).encode()):
        content = f"{segment({'alg': algorithm, 'kid': 'rsa'})}.{segment(dict(CLAIMS))}"
        made = hmac.digest(secret, content.encode(), name)
        text = f"{content}.{base64.urlsafe_b64encode(made).rstrip(b'=').decode()}"
        with pytest.raises(IdTokenError):
            verify(text, KEYS, EXPECTED)


def test_a_key_that_the_token_brings_along_is_not_used() -> None:
    own = RSAKey.generate_key(2048, {"kid": "rsa"})
    public = own.as_dict(private=False)
    for header in ({}, {"jwk": public}, {"jku": "https://evil.example/keys"}, {"kid": "own"}):
        with pytest.raises(IdTokenError):
            verify(signed(key=own, **header), KEYS, EXPECTED)


def test_a_key_is_used_for_its_own_kind_of_signature_only() -> None:
    token = signed(algorithm="ES256", kid="rsa")
    with pytest.raises(UnknownKeyError):
        verify(token, KEYS, EXPECTED)
    pinned = public_keys({"keys": [RSA.as_dict(private=False) | {"alg": "PS256"}]})
    assert verify(signed(algorithm="PS256"), pinned, EXPECTED)
    with pytest.raises(UnknownKeyError):
        verify(signed(algorithm="RS256"), pinned, EXPECTED)


def test_an_unknown_key_is_said_to_be_one_so_that_keys_are_read_again() -> None:
    with pytest.raises(UnknownKeyError):
        verify(signed(kid="new"), KEYS, EXPECTED)


def test_a_token_without_a_key_id_needs_the_only_key_of_its_kind() -> None:
    text = signed()
    header = segment({"alg": "RS256"})
    bare = jws.serialize_compact({"alg": "RS256"}, json.dumps(dict(CLAIMS)), RSA)
    assert text.split(".")[0] != header
    assert verify(bare, KEYS, EXPECTED)["sub"] == "person-1"
    second = RSAKey.generate_key(2048, {"kid": "second"})
    both = public_keys({"keys": [one.as_dict(private=False) for one in (RSA, second)]})
    with pytest.raises(UnknownKeyError):
        verify(bare, both, EXPECTED)


@pytest.mark.parametrize(
    "jwk",
    [
        {},
        {"kty": "oct", "k": "c2VjcmV0", "kid": "rsa"},
        {"kty": "RSA", "kid": "rsa"},
        {"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "rsa"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": ["RSA"]},
        RSA.as_dict(private=False) | {"use": "enc"},
    ],
)
def test_keys_that_are_none_for_signatures_are_left_out(jwk: dict[str, Any]) -> None:
    assert public_keys({"keys": [jwk, EC.as_dict(private=False), 7, None]}) == public_keys(
        {"keys": [EC.as_dict(private=False)]}
    )


def test_short_keys_prove_nothing() -> None:
    number = rsa.generate_private_key(65_537, 1024).public_key().public_numbers().n
    modulus = base64.urlsafe_b64encode(number.to_bytes(128)).rstrip(b"=").decode()
    jwk = {"kty": "RSA", "kid": "rsa", "e": "AQAB", "n": modulus}
    assert public_keys({"keys": [jwk]}) == ()


@pytest.mark.parametrize("document", [{}, {"keys": None}, {"keys": {"kid": "rsa"}}, {"keys": "x"}])
def test_a_document_without_keys_has_none(document: dict[str, Any]) -> None:
    assert public_keys(document) == ()


@pytest.mark.parametrize(
    "text",
    [
        None,
        7,
        "",
        "a.b",
        "a.b.c.d.e",
        "...",
        "é.é.é",
        "\ud800.a.b",
        "x" * 600_000,
        segment({"alg": "RS256", "kid": "rsa", "crit": ["exp"], "exp": 1}) + ".e30.AAAA",
        segment({"alg": "RS256", "kid": "rsa", "b64": False, "crit": ["b64"]}) + ".e30.AAAA",
        segment([1]) + ".e30.AAAA",
        base64.urlsafe_b64encode(b"[" * 100_000).decode() + ".e30.AAAA",
        segment({"alg": "RS256", "kid": "rsa"}) + "." + "W" * 100_000 + ".AAAA",
    ],
)
def test_what_is_no_token_is_refused(text: object) -> None:
    with pytest.raises(IdTokenError):
        verify(text, KEYS, EXPECTED)


@pytest.mark.parametrize(
    "header",
    [{"crit": ["exp"], "exp": 1}, {"crit": ["odd"], "odd": 1}, {"crit": ["b64"], "b64": False}],
)
def test_an_extension_that_must_be_understood_is_not(header: dict[str, Any]) -> None:
    plain = {"alg": "RS256", "kid": "rsa"}
    assert verify(rs256(RSA, plain, dict(CLAIMS)), KEYS, EXPECTED)
    with pytest.raises(IdTokenError):
        verify(rs256(RSA, plain | header, dict(CLAIMS)), KEYS, EXPECTED)


def test_a_changed_payload_or_signature_is_refused() -> None:
    header, payload, signature = signed().split(".")
    other = segment(dict(CLAIMS) | {"sub": "person-2"})
    for text in (f"{header}.{other}.{signature}", f"{header}.{payload}.{signature[::-1]}"):
        with pytest.raises(IdTokenError):
            verify(text, KEYS, EXPECTED)


def test_a_payload_that_is_no_object_is_refused() -> None:
    nested = "[" * 50_000 + "]" * 50_000
    for payload in ("[]", "7", "null", "{", nested):
        text = jws.serialize_compact({"alg": "RS256", "kid": "rsa"}, payload, RSA)
        with pytest.raises(IdTokenError):
            verify(text, KEYS, EXPECTED)
