"""Formats identity providers and identities, and parses team mappings
(docs/api-identity-providers.md)."""

from typing import Any

from vedette.errors import BadRequestError
from vedette.oidc.code_flow import CALLBACK
from vedette.state.accounts.identities import Identity
from vedette.state.accounts.identity_providers import Provider, TeamPairs
from vedette.web.json.parameters import ID_MAX, bounded_number
from vedette.web.json.wire_values import instant, known_instant


def provider_body(provider: Provider, public_url: str) -> dict[str, Any]:
    """Returns a provider. `redirect_uri` is null without the setting `public_url`."""
    path = CALLBACK.format(provider.name)
    return {
        "id": provider.id,
        "name": provider.name,
        "label": provider.label,
        "issuer": provider.issuer,
        "client_id": provider.client_id,
        "has_secret": bool(provider.sealed_secret),
        "scope": provider.scope,
        "creates_users": provider.creates_users,
        "username_claim": provider.username_claim,
        "team_claim": provider.team_claim,
        "teams": [{"value": value, "team_id": team_id} for value, team_id in provider.teams],
        "enabled": provider.is_enabled,
        "redirect_uri": public_url.rstrip("/") + path if public_url else None,
        "created": instant(provider.created_us),
    }


def identity_body(identity: Identity) -> dict[str, Any]:
    return {
        "id": identity.id,
        "username": identity.username,
        "provider": identity.provider,
        "issuer": identity.issuer,
        "subject": identity.subject,
        "follows_claims": identity.follows_claims,
        "created": instant(identity.created_us),
        "last_used": known_instant(identity.last_used_us),
    }


def team_pairs(given: object) -> TeamPairs | None:
    """Returns pairs of a claim's value and a team id; None if missing. Raises BadRequestError."""
    if given is None:
        return None
    if not isinstance(given, list):
        raise BadRequestError("teams: must be a list of objects with value and team_id")
    return tuple(_pair(one) for one in given)


def _pair(given: object) -> tuple[str, int]:
    value = given.get("value") if isinstance(given, dict) else None
    if not isinstance(given, dict) or not isinstance(value, str):
        raise BadRequestError("teams: each must be an object with value and team_id")
    return value, bounded_number("team_id", given.get("team_id"), least=1, most=ID_MAX)
