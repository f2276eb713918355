"""Who may do what, and who did what: users, teams, tokens, the audit log, one's own settings."""

from ipaddress import ip_network
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl, urlencode

import orjson
from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from vedette import limits
from vedette.api.http.access import principal_of
from vedette.api.http.client_address import client_address
from vedette.api.http.pages import PAGE_TAG
from vedette.api.schemas.parameters import ID_MAX, bounded_number, whole_number
from vedette.api.services import Services, services
from vedette.console.render import render
from vedette.model.principal import ROLE_NAMES, Principal
from vedette.respond.approved_reach import ApprovingReach, approving_reach
from vedette.settings import catalogue, shown
from vedette.state.accounts import audit_trail, kept_views, teams, tokens, users
from vedette.state.accounts import license as licenses
from vedette.state.accounts.audit_trail import Search
from vedette.state.accounts.kept_views import Permalink
from vedette.state.accounts.user_rights import effective_rights
from vedette.state.policy import app_control, approved_addresses, groups
from vedette.state.policy.approved_addresses import is_in

router = APIRouter(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]

TABS: Final = ("users", "teams", "tokens")
ACTIONS: Final = ("create", "change", "delete", "read", "run")


@router.get("/ui/access", summary="Users, teams, tokens")
async def access(request: Request, here: Here) -> Response:
    """For global administrators."""
    tab = request.query_params.get("tab", "")
    tab = tab if tab in TABS else TABS[0]

    def work() -> dict[str, Any]:
        now_us = here.clock.now_us()
        return {
            "users": users.all_users(here.database),
            "teams": teams.all_teams(here.database),
            "tokens": [
                (one, one.is_good(now_us))
                for one in sorted(
                    tokens.all_tokens(here.database),
                    key=lambda one: (not one.is_good(now_us), -one.created_us),
                )
                if one.kind not in ("session", "link")
            ],
            "sensor_groups": groups.all_groups(here.database),
        }

    values = await to_thread.run_sync(work)
    return render(request, "screens/access.html", tab=tab, tabs=TABS, roles=ROLE_NAMES, **values)


@router.get("/ui/_/access/effective", summary="What a user may see and do")
async def effective(request: Request, here: Here) -> Response:
    """Beside the list of users; `name` is one of them."""
    name = request.query_params.get("name") or principal_of(request).name
    found = await to_thread.run_sync(effective_rights, here.database, name)
    return render(request, "fragments/effective.html", found=found)


@router.get("/ui/_/audit/chain", summary="Whether the audit log is whole")
async def chain(request: Request, here: Here) -> Response:
    """Reads all of it, which is why it is asked for."""
    verdict = await to_thread.run_sync(audit_trail.verify, here.database)
    return render(request, "fragments/audit_chain.html", verdict=verdict)


@router.get("/ui/audit", summary="The audit log")
async def audit(request: Request, here: Here) -> Response:
    """For global administrators."""
    params = request.query_params
    wanted = Search(
        author=params.get("author", ""),
        action=params.get("action", "") if params.get("action", "") in ACTIONS else "",
        kind=params.get("kind", ""),
        target=params.get("target", ""),
        start=whole_number(params, "start", 0),
        rows=limits.PAGE_ROWS,
    )

    def work() -> dict[str, Any]:
        total, entries = audit_trail.search(here.database, wanted)
        return {"total": total, "found": entries, "head": audit_trail.head(here.database)}

    return render(
        request, "screens/audit.html", wanted=wanted, actions=ACTIONS,
        page_rows=limits.PAGE_ROWS, **await to_thread.run_sync(work),
    )  # fmt: skip


@router.get("/ui/settings", summary="What the server runs with")
async def settings(request: Request, here: Here) -> Response:
    """For global administrators. Secrets are only said to be set."""
    address = client_address(request, here.settings.trusted_proxies)

    def work() -> dict[str, Any]:
        approved = approved_addresses.entries(here.database)
        covering = [one.id for one in approved if is_in(address, [ip_network(one.network)])]
        with here.database.reading() as connection:
            control = app_control.load(connection)
        license_key = here.settings.license_provider_key
        return {
            "approved": approved,
            "covering": covering,
            "is_approving": approved_addresses.is_enabled(here.database),
            "control": control,
            "license": licenses.status(here.database, license_key, here.clock.now_us()),
        }

    return render(
        request, "screens/settings.html", address=address,
        shown=_shown(here), **await to_thread.run_sync(work),
    )  # fmt: skip


@router.get("/ui/_/settings/approved/{without}", summary="Whom approving would lock out")
async def approving(without: str, request: Request, here: Here) -> Response:
    """Read before it is switched on (`without` 0), or an entry removed while it is on."""
    number = bounded_number("without", without, most=ID_MAX)
    address = client_address(request, here.settings.trusted_proxies)

    def work() -> ApprovingReach:
        return approving_reach(
            here.database, address, number, here.clock.now_us(), here.approved_addresses.own_tokens
        )

    reach = await to_thread.run_sync(work)
    return render(request, "fragments/approving.html", reach=reach, address=address)


@router.get("/ui/me", summary="One's preferences")
async def me(request: Request, here: Here, caller: Caller) -> Response:
    def work() -> dict[str, Any]:
        now_us = here.clock.now_us()
        user_id = users.id_of(here.database, caller.name)
        with here.database.reading() as connection:
            body = orjson.loads(kept_views.preferences(connection, user_id))
            searches = kept_views.searches(connection, user_id)
        own = [
            one
            for one in tokens.all_tokens(here.database, caller.name)
            if one.is_good(now_us) and one.kind != "link"
        ]
        has_password = bool(user_id) and users.get(here.database, caller.name).has_password
        return {
            "preferences": body,
            "searches": searches,
            "own_tokens": own,
            "has_password": has_password,
        }

    return render(request, "screens/me.html", roles=ROLE_NAMES, **await to_thread.run_sync(work))


@router.get("/ui/s/{link_id}", summary="The view of a short link")
async def linked(link_id: str, here: Here) -> Response:
    """Leads to the view, which shows what its reader may see. Raises NotFoundError."""

    def work() -> Permalink:
        with here.database.reading() as connection:
            return kept_views.permalink(connection, link_id, here.clock.now_us())

    found = await to_thread.run_sync(work)
    params = urlencode(parse_qsl(found.params, keep_blank_values=True))
    return RedirectResponse(f"/ui/{found.view.replace('_', '/')}?{params}", status_code=303)


def _shown(here: Services) -> list[tuple[str, Any, Any, str]]:
    """Settings with their values, their defaults and meanings; of secrets only whether they are
    set."""
    return [
        (
            name,
            shown(setting, getattr(here.settings, name)),
            shown(setting, setting.default),
            setting.about.text,
        )
        for name, setting in sorted(catalogue().items())
    ]
