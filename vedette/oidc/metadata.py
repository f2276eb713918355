"""The metadata of a provider (OpenID Connect Discovery 1.0), as far as a sign-in needs it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vedette.errors import BadRequestError
from vedette.oidc.exchange import ProviderError
from vedette.oidc.provider_url import checked_provider_url


@dataclass(frozen=True, slots=True)
class Metadata:
    """Addresses of a provider."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    takes_secret_in_body: bool
    """Whether the provider takes the client secret only in the form, not as Basic
    authentication."""
    names_issuer: bool
    """Whether the answers of the provider name it (`iss`, RFC 9207)."""


def metadata_url(issuer: str) -> str:
    return f"{issuer.rstrip('/')}/.well-known/openid-configuration"


def parse_metadata(body: Mapping[str, Any], issuer: str) -> Metadata:
    """Parses the metadata of a provider. Raises ProviderError for metadata of another issuer, or
    with bad addresses."""
    if body.get("issuer") != issuer:
        raise ProviderError(f"{issuer}: its metadata is of another issuer")
    try:
        authorization, token, keys = (
            checked_provider_url(body.get(name), name)
            for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")
        )
    except BadRequestError as error:
        raise ProviderError(f"{issuer}: {error.message}") from None
    methods = body.get("token_endpoint_auth_methods_supported")
    known = methods if isinstance(methods, list) else []
    return Metadata(
        issuer,
        authorization,
        token,
        keys,
        takes_secret_in_body="client_secret_post" in known and "client_secret_basic" not in known,
        names_issuer=body.get("authorization_response_iss_parameter_supported") is True,
    )
