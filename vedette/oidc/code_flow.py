"""The authorization code flow with PKCE (RFC 7636, S256; OpenID Connect Core 3.1).

An attempt is stored encrypted in a cookie of the browser that began it. So the server keeps nothing
for attempts that are never finished, and no other browser can finish it. It contains the state, the
nonce, the verifier and the provider. It is valid for minutes and can be used once. Each provider
has its own redirect address, which is made from the setting `public_url` and never from a request.
"""

import base64
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from vedette.clock import Clock
from vedette.errors import UnauthorizedError, UnavailableError
from vedette.limits import IDENTITY_SIGN_IN_S, USER_DETAIL_CHARS_MAX, Limit
from vedette.oidc.documents import ProviderDocuments
from vedette.oidc.exchange import fetch_json
from vedette.oidc.id_token import Expected, UnknownKeyError, verify
from vedette.oidc.metadata import Metadata
from vedette.state.accounts import identity_providers, identity_sign_in
from vedette.state.accounts.identity_providers import Provider
from vedette.state.accounts.identity_sign_in import Vouched
from vedette.state.db.database import Database
from vedette.state.db.sealing import Sealing

CLAIM_VALUES_MAX: Limit[int] = 1_000
"""Values that are read from the claim that gives teams. Directories name each group that a user
belongs to."""

PROVIDER_CODE_CHARS_MAX: Limit[int] = 4_000
"""Characters of an authorization code. Providers that keep no state put all of it into the code."""


CALLBACK: Final = "/ui/sign-in/with/{}/callback"
"""Path that a provider redirects browsers to."""

_PURPOSE: Final = "sign-in with an identity"
_SECOND_US: Final = 1_000_000


class FlowError(UnauthorizedError):
    """The sign-in cannot continue and has to begin again."""

    reason = "sign_in_not_begun"


class _Attempt(msgspec.Struct):
    """Content of the cookie."""

    provider: int
    state: str
    nonce: str
    verifier: str
    next: str
    begun_us: int


@dataclass(frozen=True, slots=True)
class Begun:
    """The address to send the browser to, and the value of its cookie."""

    url: str
    cookie: str


@dataclass(frozen=True, slots=True)
class Proved:
    """The user that a provider vouched for, and the page that the browser wanted."""

    vouched: Vouched
    next: str


class CodeFlow:
    """Begins and finishes sign-ins. Safe to share between threads; blocks."""

    def __init__(
        self,
        database: Database,
        sealing: Sealing,
        clock: Clock,
        documents: ProviderDocuments,
        public_url: str,
    ) -> None:
        self.documents = documents
        self._database = database
        self._sealing = sealing
        self._clock = clock
        self._public_url = public_url.rstrip("/")

    def redirect_uri(self, provider: Provider) -> str:
        """Returns the address to register at the provider. Raises UnavailableError without
        `public_url`."""
        if not urlsplit(self._public_url).netloc:
            raise UnavailableError(
                "the setting public_url is required for sign-in with an identity provider",
                reason="public_url_needed",
            )
        return self._public_url + CALLBACK.format(provider.name)

    def begin(self, provider: Provider, next_path: str) -> Begun:
        """Begins a sign-in. Raises ProviderError, UnavailableError."""
        redirect_uri = self.redirect_uri(provider)
        metadata = self.documents.metadata(provider.issuer)
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        params = {
            "response_type": "code",
            "client_id": provider.client_id,
            "redirect_uri": redirect_uri,
            "scope": provider.scope,
            "state": state,
            "nonce": nonce,
            "code_challenge": _challenge(verifier),
            "code_challenge_method": "S256",
        }
        begun_us = self._clock.now_us()
        attempt = _Attempt(provider.id, state, nonce, verifier, next_path, begun_us)
        address = metadata.authorization_endpoint
        mark = "&" if urlsplit(address).query else "?"
        return Begun(
            f"{address}{mark}{urlencode(params)}",
            self._sealing.seal(msgspec.json.encode(attempt).decode(), _PURPOSE),
        )

    def finish(self, provider: Provider, answer: Mapping[str, str], cookie: str) -> Proved:
        """Finishes a sign-in. `answer` is the query of the redirect. Raises FlowError if this
        browser did not begin the sign-in, UnauthorizedError if it was finished before or the
        provider vouched for nobody, and ProviderError if the provider does not answer."""
        attempt = self._attempt(provider, answer.get("state", ""), cookie)
        identity_sign_in.spend(self._database, attempt.state, self._clock.now_us())
        metadata = self.documents.metadata(provider.issuer)
        if answer.get("iss", provider.issuer) != provider.issuer or (
            metadata.names_issuer and "iss" not in answer
        ):
            raise UnauthorizedError("the answer is another provider's", reason="issuer_mixed_up")
        code = answer.get("code", "")
        if "error" in answer or not 0 < len(code) <= PROVIDER_CODE_CHARS_MAX:
            raise UnauthorizedError(
                f"the provider answers {answer.get('error', 'nothing')[:60]!r}",
                reason="provider_refuses",
            )
        tokens = self._redeemed(provider, metadata, code, attempt.verifier)
        claims = self._verified(provider, tokens.get("id_token"), attempt.nonce)
        return Proved(_vouched(provider, claims), attempt.next)

    def _attempt(self, provider: Provider, state: str, cookie: str) -> _Attempt:
        try:
            opened = self._sealing.open(cookie, _PURPOSE)
            attempt = msgspec.json.decode(opened, type=_Attempt)
        except (UnavailableError, msgspec.DecodeError):
            raise FlowError("this browser did not begin a sign-in") from None
        age_us = self._clock.now_us() - attempt.begun_us
        is_own = hmac.compare_digest(attempt.state.encode(), state.encode("utf-8", "surrogatepass"))
        if attempt.provider != provider.id or not is_own:
            raise FlowError("this browser began another sign-in")
        if abs(age_us) > IDENTITY_SIGN_IN_S * _SECOND_US:
            raise UnauthorizedError("the sign-in took too long", reason="sign_in_expired")
        return attempt

    def _redeemed(
        self, provider: Provider, metadata: Metadata, code: str, verifier: str
    ) -> dict[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri(provider),
            "code_verifier": verifier,
        }
        secret, headers = identity_providers.secret_of(self._sealing, provider), {}
        if secret and not metadata.takes_secret_in_body:
            headers = {"Authorization": _basic(provider.client_id, secret)}
        else:
            form |= {
                "client_id": provider.client_id,
                **({"client_secret": secret} if secret else {}),
            }
        rules = self.documents.rules
        return fetch_json(metadata.token_endpoint, rules, form=form, headers=headers)

    def _verified(self, provider: Provider, token: object, nonce: str) -> dict[str, Any]:
        now_s = self._clock.now_us() // _SECOND_US
        expected = Expected(provider.issuer, provider.client_id, nonce, now_s)
        try:
            return verify(token, self.documents.keys(provider.issuer), expected)
        except UnknownKeyError:
            keys = self.documents.keys(provider.issuer, reread=True)
            return verify(token, keys, expected)


def _challenge(verifier: str) -> str:
    digest = sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _basic(client_id: str, secret: str) -> str:
    """Returns the header value for Basic authentication. Both parts are form-encoded first (RFC
    6749 2.3.1)."""
    pair = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _vouched(provider: Provider, claims: Mapping[str, Any]) -> Vouched:
    values = claims.get(provider.team_claim) if provider.team_claim else None
    listed = values if isinstance(values, list) else [values]
    return Vouched(
        subject=str(claims["sub"]),
        username=_text(claims, provider.username_claim),
        first_name=_text(claims, "given_name"),
        last_name=_text(claims, "family_name"),
        email=_text(claims, "email"),
        teams=frozenset(one for one in listed[:CLAIM_VALUES_MAX] if isinstance(one, str)),
    )


def _text(claims: Mapping[str, Any], name: str) -> str:
    """Returns the printable characters of a claim."""
    value = claims.get(name)
    text = value if isinstance(value, str) else ""
    return "".join(one for one in text if one.isprintable())[:USER_DETAIL_CHARS_MAX]
