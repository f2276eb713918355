"""Verifies ID tokens (OpenID Connect Core 3.1.3.7).

Only algorithms with a public key are accepted: a token that is unsigned, or signed with the public
key as if it were a shared secret, is refused whatever its header says. Keys come only from the
provider's own document, never from the token.
"""

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

from vedette.errors import UnauthorizedError
from vedette.limits import PROVIDER_DOCUMENT_BYTES_MAX, SUBJECT_CHARS_MAX, Limit

PROVIDER_KEYS_MAX: Limit[int] = 100
"""Keys of a provider that are read."""

PROVIDER_CLOCK_S: Limit[int] = 60
"""Seconds by which the clock of a provider may differ from the clock of the server."""

ID_TOKEN_AGE_S: Limit[int] = 15 * 60
"""Seconds after which an ID token is too old to begin a session, whatever its own expiry."""

RSA_KEY_BITS_MIN: Limit[int] = 2048
"""Bits that an RSA key must have at least. Shorter keys prove nothing any more."""


_ALGORITHMS: Final[Mapping[str, type[RSAKey] | type[ECKey] | type[OKPKey]]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), RSAKey),
    **dict.fromkeys(("ES256", "ES384", "ES512"), ECKey),
    **dict.fromkeys(("Ed25519", "EdDSA"), OKPKey),
}
_IMPORTED: Final[Mapping[str, type[RSAKey] | type[ECKey] | type[OKPKey]]] = {
    "RSA": RSAKey,
    "EC": ECKey,
    "OKP": OKPKey,
}
_SECONDS_MAX: Final = 2**53
"""Upper bound for times in claims. The JSON parser of Python also accepts infinities and NaN."""

_REGISTRY: Final = JWSRegistry(algorithms=list(_ALGORITHMS), strict_check_header=False)

PublicKey = RSAKey | ECKey | OKPKey


class IdTokenError(UnauthorizedError):
    """The token proves nothing. The message says why, for the log."""

    reason = "id_token_refused"


class UnknownKeyError(IdTokenError):
    """None of the known keys is the key of the token. The provider may have a new one."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Values that a token must contain."""

    issuer: str
    client_id: str
    nonce: str
    now_s: int


def public_keys(document: Mapping[str, Any]) -> tuple[PublicKey, ...]:
    """Returns the signature keys of a JWK Set. Other keys, and keys that cannot be read, are left
    out."""
    listed = document.get("keys")
    found = listed[:PROVIDER_KEYS_MAX] if isinstance(listed, list) else []
    keys = (_key(one) for one in found if isinstance(one, dict))
    return tuple(key for key in keys if key is not None)


def verify(text: object, keys: Iterable[PublicKey], expected: Expected) -> dict[str, Any]:
    """Returns the claims of a token. Raises IdTokenError, UnknownKeyError."""
    if not isinstance(text, str) or len(text) > PROVIDER_DOCUMENT_BYTES_MAX:
        raise IdTokenError("the ID token is missing")
    try:
        header = jws.extract_compact(text.encode(), registry=_REGISTRY).headers()
    except (JoseError, ValueError) as error:
        raise IdTokenError(f"the ID token cannot be read: {type(error).__name__}") from None
    algorithm = header.get("alg")
    wanted = _ALGORITHMS.get(algorithm) if isinstance(algorithm, str) else None
    if wanted is None:
        raise IdTokenError(f"the ID token is signed with {str(algorithm)[:20]!r}")
    key = _chosen(header, [key for key in keys if isinstance(key, wanted)])
    try:
        claims = jwt.decode(text, key, algorithms=[str(algorithm)], registry=_REGISTRY).claims
    except (JoseError, ValueError, RecursionError) as error:
        raise IdTokenError(f"the ID token's signature is wrong: {type(error).__name__}") from None
    _check(claims, expected)
    return claims


def _key(jwk: Mapping[str, Any]) -> PublicKey | None:
    kind = _IMPORTED.get(str(jwk.get("kty")))
    modulus = jwk.get("n", "")
    if kind is None or jwk.get("use", "sig") != "sig" or not isinstance(modulus, str):
        return None
    if kind is RSAKey and len(modulus) * 6 < RSA_KEY_BITS_MIN:  # base64
        return None
    try:
        key = kind.import_key(dict(jwk))
        is_short = isinstance(key, RSAKey) and key.raw_value.key_size < RSA_KEY_BITS_MIN
    except (JoseError, ValueError, TypeError, KeyError):
        return None
    return None if is_short else key


def _chosen(header: Mapping[str, Any], keys: list[PublicKey]) -> PublicKey:
    """Returns the key that a token names; if it names none, the only key that fits its
    algorithm."""
    name = header.get("kid")
    fitting = [key for key in keys if key.get("alg") in (None, header["alg"])]
    if name is not None:
        fitting = [key for key in fitting if key.get("kid") == name]
    if len(fitting) != 1:
        raise UnknownKeyError(f"no key of the provider is {str(name)[:60]!r}")
    return fitting[0]


def _check(claims: Mapping[str, Any], expected: Expected) -> None:
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if claims.get("iss") != expected.issuer:
        raise IdTokenError("the ID token is of another issuer")
    if expected.client_id not in audiences:
        raise IdTokenError("the ID token is for another client")
    if claims.get("azp", expected.client_id) != expected.client_id or (
        len(audiences) > 1 and "azp" not in claims
    ):
        raise IdTokenError("the ID token was issued to another client")
    _check_times(claims, expected.now_s)
    nonce = claims.get("nonce")
    if not isinstance(nonce, str) or not hmac.compare_digest(
        nonce.encode("utf-8", "replace"), expected.nonce.encode()
    ):
        raise IdTokenError("the ID token belongs to another sign-in")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= SUBJECT_CHARS_MAX:
        raise IdTokenError("the ID token has no subject")
    if not subject.isprintable():
        raise IdTokenError("the ID token's subject has characters that cannot be printed")


def _check_times(claims: Mapping[str, Any], now_s: int) -> None:
    ends_s, issued_s = _seconds(claims, "exp"), _seconds(claims, "iat")
    begins_s = _seconds(claims, "nbf") if "nbf" in claims else issued_s
    if now_s >= ends_s + PROVIDER_CLOCK_S or now_s - issued_s > ID_TOKEN_AGE_S:
        raise IdTokenError("the ID token has expired")
    if max(issued_s, begins_s) > now_s + PROVIDER_CLOCK_S:
        raise IdTokenError("the ID token is of the future: check both clocks")


def _seconds(claims: Mapping[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise IdTokenError(f"the ID token does not say {name}")
    if not 0 <= value < _SECONDS_MAX:  # also NaN, which is in no order
        raise IdTokenError(f"the ID token does not say {name}")
    return value
