"""Identity providers, and whom their subjects are here. For global administrators."""

from typing import Annotated, Any

from fastapi import Depends
from starlette.responses import Response

from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.schemas.body_members import Members
from vedette.api.schemas.identities import identity_body, provider_body, team_pairs
from vedette.api.schemas.parameters import ID_MAX, bounded_number
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, NotFoundError
from vedette.oidc.provider_url import checked_provider_url
from vedette.state.accounts import identities, identity_providers
from vedette.state.accounts.identity_providers import Change

router = Router(tags=["users"])

Here = Annotated[Services, Depends(services)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_PROVIDERS = "/api/v1/identity_provider"
_IDENTITIES = "/api/v1/identity"


@router.get(_PROVIDERS, summary="All identity providers")
def providers(here: Here) -> Response:
    """By name, without their secrets."""
    known = identity_providers.all_providers(here.database)
    return json_answer([provider_body(one, here.settings.public_url) for one in known])


@router.post(_PROVIDERS, summary="Add an identity provider")
def add_provider(here: Here, body: Body) -> Response:
    """Takes `name` (it stands in addresses), `issuer`, `client_id`, `client_secret`, `label`,
    `scope`, and what the console may make users of: `creates_users` (false), `username_claim`,
    `team_claim`, and `teams`, pairs of a `value` of that claim (`*` for everybody) and a
    `team_id`. The answer's `redirect_uri` is to be registered at the provider. 409 for a name or
    an issuer that is taken."""
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


@router.get(f"{_PROVIDERS}/{{provider_id}}", summary="One identity provider")
def provider(provider_id: str, here: Here) -> Response:
    found = identity_providers.get(here.database, _id(provider_id))
    return json_answer(provider_body(found, here.settings.public_url))


@router.put(f"{_PROVIDERS}/{{provider_id}}", summary="Change an identity provider")
def change_provider(provider_id: str, here: Here, body: Body) -> Response:
    """Takes what adding takes, but neither `name` nor `issuer`, and `enabled`: one that is switched
    off ends the sessions that were begun with it. What is not given stays."""
    found = identity_providers.get(here.database, _id(provider_id))
    if (body.get("name", found.name), body.get("issuer", found.issuer)) != (
        found.name,
        found.issuer,
    ):
        raise BadRequestError("name, issuer: cannot be changed; add another provider")
    change = _change(_members(body, "name", "issuer"), body)
    changed = identity_providers.change(
        here.database, here.sealing, found.id, change, here.clock.now_us()
    )
    here.tokens.clear_cache()
    return json_answer(provider_body(changed, here.settings.public_url))


@router.delete(f"{_PROVIDERS}/{{provider_id}}", summary="Delete an identity provider")
def delete_provider(provider_id: str, here: Here) -> Response:
    """With its identities and the sessions that were begun with them; users stay."""
    identity_providers.remove(here.database, _id(provider_id), here.clock.now_us())
    here.tokens.clear_cache()
    return json_answer({"result": "success"})


@router.get(_IDENTITIES, summary="Who may sign in with which identity")
def listed(here: Here) -> Response:
    """By user."""
    return json_answer([identity_body(one) for one in identities.all_identities(here.database)])


@router.post(_IDENTITIES, summary="Link an identity to a user")
def link(here: Here, body: Body) -> Response:
    """Takes `username`, `provider` (its name) and `subject`, as the provider calls the person: a
    sign-in that was refused has it in the audit log. 409 for a subject that is linked."""
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


@router.delete(f"{_IDENTITIES}/{{identity_id}}", summary="Unlink an identity")
def unlink(identity_id: str, here: Here) -> Response:
    """The sessions that were begun with it end at once."""
    identities.unlink(here.database, _id(identity_id), here.clock.now_us())
    here.tokens.clear_cache()
    return json_answer({"result": "success"})


def _members(body: dict[str, Any], *further: str) -> Members:
    return Members(
        body,
        known=(
            *further,
            *("client_id", "client_secret", "label", "scope", "creates_users"),
            *("username_claim", "team_claim", "teams", "enabled"),
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
        raise NotFoundError(f"there is nothing with the id {text[:40]!r}") from None
