"""Who may do what, and who did what: users, teams, tokens, the audit log, one's own preferences."""

from typing import Annotated, Any, Final
from urllib.parse import parse_qsl, urlencode

import orjson
from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import RedirectResponse, Response

from vedette import limits
from vedette.api.http.access import principal_of
from vedette.api.http.pages import PAGE_TAG
from vedette.api.http.router import Router
from vedette.api.routes.accounts.audit import object_of
from vedette.api.schemas.parameters import ID_MAX, bounded_number, time_of, whole_number
from vedette.api.services import Services, services
from vedette.console.navigation import ENTRIES, may_open, start_page
from vedette.console.render import render
from vedette.model.principal import ROLE_NAMES, Principal
from vedette.state.accounts import (
    audit_trail,
    cloud_apps,
    identities,
    kept_views,
    second_factor,
    teams,
    tokens,
    users,
)
from vedette.state.accounts.audit_trail import Search
from vedette.state.accounts.kept_views import Permalink
from vedette.state.accounts.tokens import Token
from vedette.state.accounts.user_rights import effective_rights
from vedette.state.policy import groups

router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]

TABS: Final = ("users", "teams", "tokens", "apps")
FILTERS: Final = ("object", "target", "author", "action", "kind", "from", "to")
"""Parameters of the audit log that its export and its pages keep."""

ACTIONS: Final = ("create", "change", "delete", "read", "run")


@router.get("/ui/access", summary="Users, teams, tokens")
async def access(request: Request, here: Here) -> Response:
    """For global administrators."""
    tab = request.query_params.get("tab", "")
    tab = tab if tab in TABS else TABS[0]

    def work() -> dict[str, Any]:
        now_us = here.clock.now_us()
        issued = tokens.all_tokens(here.database)
        return {
            "users": users.all_users(here.database),
            **_signing_in(here, issued),
            "teams": teams.all_teams(here.database),
            "apps": cloud_apps.all_apps(here.database),
            "tokens": [
                (one, one.is_good(now_us))
                for one in sorted(
                    issued,
                    key=lambda one: (not one.is_good(now_us), -one.created_us),
                )
                if one.kind not in ("session", "link")
            ],
            "sensor_groups": groups.all_groups(here.database),
        }

    values = await to_thread.run_sync(work)
    return render(request, "screens/access.html", tab=tab, tabs=TABS, roles=ROLE_NAMES, **values)


def _signing_in(here: Services, issued: list[Token]) -> dict[str, Any]:
    """How users sign in besides a password, and when each last did, as far as sessions are kept."""
    last: dict[str, int] = {}
    for one in issued:
        if one.kind == "session":
            last[one.holder] = max(one.created_us, last.get(one.holder, 0))
    vouching: dict[str, list[str]] = {}
    for identity in identities.all_identities(here.database):
        vouching.setdefault(identity.username, []).append(identity.provider)
    return {
        "last": last,
        "vouching": vouching,
        "with_code": second_factor.users_with_one(here.database),
    }


@router.get("/ui/_/access/effective", summary="What a user may see and do")
async def effective(request: Request, here: Here) -> Response:
    """Beside the list of users; `name` is one of them."""
    name = request.query_params.get("name") or principal_of(request).name

    def work() -> dict[str, Any]:
        return {
            "found": effective_rights(here.database, name),
            "member_of": dict(users.get(here.database, name).teams),
            "teams": teams.all_teams(here.database),
        }

    return render(request, "fragments/effective.html", **await to_thread.run_sync(work))


@router.get("/ui/_/access/team/{team_id}", summary="A team, to be changed")
async def team(team_id: str, request: Request, here: Here) -> Response:
    """Beside the list of teams."""
    number = bounded_number("team", team_id, least=1, most=ID_MAX)

    def work() -> dict[str, Any]:
        found = teams.get(here.database, number)
        everybody = users.all_users(here.database)
        return {
            "team": found,
            "known": found.roles,
            "members": [one for one in everybody if number in dict(one.teams)],
            "sensor_groups": groups.all_groups(here.database),
        }

    values = await to_thread.run_sync(work)
    return render(request, "fragments/team.html", roles=ROLE_NAMES, **values)


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
        one=object_of(params),
        from_us=time_of(params, "from", here.clock.now_us()),
        to_us=time_of(params, "to", here.clock.now_us()),
        start=whole_number(params, "start", 0),
        rows=limits.PAGE_ROWS,
    )

    def work() -> dict[str, Any]:
        total, entries = audit_trail.search(here.database, wanted)
        return {
            "total": total,
            "found": entries,
            "head": audit_trail.head(here.database),
            "facets": audit_trail.facets(here.database, wanted),
        }

    asked = {name: params[name] for name in FILTERS if params.get(name)}
    return render(
        request, "screens/audit.html", wanted=wanted, asked=asked, actions=ACTIONS,
        page_rows=limits.PAGE_ROWS, **await to_thread.run_sync(work),
    )  # fmt: skip


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
        with_code = second_factor.is_in_force(here.database, caller.name) if has_password else False
        return {
            "start": start_page(caller, body),
            "starts": [one for one in ENTRIES if may_open(caller, one)],
            "searches": searches,
            "own_tokens": own,
            "has_password": has_password,
            "with_code": with_code,
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
