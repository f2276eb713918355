"""Identity providers, and the links of their subjects to users. For global administrators."""

from typing import Annotated, Any

from fastapi import Depends
from starlette.responses import Response

from vedette.errors import BadRequestError, NotFoundError
from vedette.model.rights.authorization import Deed
from vedette.oidc.provider_url import checked_provider_url
from vedette.state.accounts import identities, identity_providers
from vedette.state.accounts.identity_providers import Change
from vedette.web.accounts.identity_providers_json import identity_body, provider_body, team_pairs
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.body_members import Members
from vedette.web.json.parameters import ID_MAX, bounded_number

router = Router(tags=["users"])

Here = Annotated[Services, Depends(services)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_PROVIDERS = "/api/v1/identity_provider"
_IDENTITIES = "/api/v1/identity"


@router.get(_PROVIDERS, right=Right.ADMINISTER, summary="List identity providers")
def providers(here: Here) -> Response:
    """Returns providers by name, without their secrets."""
    known = identity_providers.all_providers(here.database)
    return json_answer([provider_body(one, here.settings.public_url) for one in known])


@router.post(_PROVIDERS, right=Deed.CHANGE_IDENTITIES, summary="Add an identity provider")
def add_provider(here: Here, body: Body) -> Response:
    """Body: `name` (part of URLs), `issuer`, `client_id`, `client_secret`, `label`, `scope`, and
    the settings for creating users: `creates_users` (default false), `username_claim`,
    `team_claim`, and `teams`, pairs of a `value` of that claim (`*` for everybody) and a `team_id`.
    Register the returned `redirect_uri` at the provider. Returns 409 if the name or issuer is
    taken."""
    members = _members(body, "name", "issuer")
    issuer = checked_provider_url(members.text("issuer"), "issuer", is_issuer=True)
    made = identity_providers.add(
        here.database,
        here.sealing,
        members.text("name") or "",
        issuer,
        _change(members, body),
        here.clock.now_us(),
    )
    return json_answer(provider_body(made, here.settings.public_url))


@router.get(
    f"{_PROVIDERS}/{{provider_id}}", right=Right.ADMINISTER, summary="Get an identity provider"
)
def provider(provider_id: str, here: Here) -> Response:
    found = identity_providers.get(here.database, _id(provider_id))
    return json_answer(provider_body(found, here.settings.public_url))


@router.put(
    f"{_PROVIDERS}/{{provider_id}}",
    right=Deed.CHANGE_IDENTITIES,
    summary="Change an identity provider",
)
def change_provider(provider_id: str, here: Here, body: Body) -> Response:
    """Changes the given members: those of a new provider except `name` and `issuer`, and `enabled`.
    Disabling a provider ends the sessions that were started with it."""
    found = identity_providers.get(here.database, _id(provider_id))
    if (body.get("name", found.name), body.get("issuer", found.issuer)) != (
        found.name,
        found.issuer,
    ):
        raise BadRequestError("name, issuer: are read-only; add another provider")
    change = _change(_members(body, "name", "issuer"), body)
    changed = identity_providers.change(
        here.database, here.sealing, found.id, change, here.clock.now_us()
    )
    here.tokens.clear_cache()
    return json_answer(provider_body(changed, here.settings.public_url))


@router.delete(
    f"{_PROVIDERS}/{{provider_id}}",
    right=Deed.CHANGE_IDENTITIES,
    summary="Delete an identity provider",
)
def delete_provider(provider_id: str, here: Here) -> Response:
    """Deletes a provider with its identities, and ends the sessions started with them. Users
    remain."""
    identity_providers.remove(here.database, _id(provider_id), here.clock.now_us())
    here.tokens.clear_cache()
    return json_answer({"result": "success"})


@router.get(_IDENTITIES, right=Right.ADMINISTER, summary="List identities")
def listed(here: Here) -> Response:
    """Returns identities by user."""
    return json_answer([identity_body(one) for one in identities.all_identities(here.database)])


@router.post(_IDENTITIES, right=Deed.CHANGE_IDENTITIES, summary="Link an identity to a user")
def link(here: Here, body: Body) -> Response:
    """Body: `username`, `provider` (its name) and `subject`, the provider's id of the person. The
    audit log has the subject of a refused sign-in. Returns 409 if the subject is already linked."""
    known = ("username", "provider", "subject")
    members = Members(body, known=known, of="an identity")
    name = members.text("provider") or ""
    linked = identities.link(
        here.database,
        identity_providers.named(here.database, name).id,
        members.text("subject") or "",
        members.text("username") or "",
        here.clock.now_us(),
    )
    return json_answer(identity_body(linked))


@router.delete(
    f"{_IDENTITIES}/{{identity_id}}", right=Deed.CHANGE_IDENTITIES, summary="Unlink an identity"
)
def unlink(identity_id: str, here: Here) -> Response:
    """Ends the sessions that were started with the identity."""
    identities.unlink(here.database, _id(identity_id), here.clock.now_us())
    here.tokens.clear_cache()
    return json_answer({"result": "success"})


def _members(body: dict[str, Any], *further: str) -> Members:
    return Members(
        body,
        known=(
            *further,
            "client_id",
            "client_secret",
            "label",
            "scope",
            "creates_users",
            "username_claim",
            "team_claim",
            "teams",
            "enabled",
        ),
        ignored=("id", "has_secret", "redirect_uri", "created"),
        of="an identity provider",
    )


def _change(members: Members, body: dict[str, Any]) -> Change:
    return Change(
        label=members.text("label"),
        client_id=members.text("client_id"),
        secret=members.text("client_secret"),
        scope=members.text("scope"),
        creates_users=members.flag("creates_users"),
        username_claim=members.text("username_claim"),
        team_claim=members.text("team_claim"),
        teams=team_pairs(body.get("teams")),
        is_enabled=members.flag("enabled"),
    )


def _id(text: str) -> int:
    try:
        return bounded_number("id", text, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"{text[:40]!r} not found") from None
