"""Pages of accounts: users, teams, tokens, the audit log, the reader's own preferences."""

from typing import Annotated, Any, Final
from urllib.parse import parse_qsl, urlencode

import orjson
from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import RedirectResponse, Response

from vedette import limits
from vedette.model.principal import ROLE_NAMES, Principal
from vedette.record.objects.kept_view import Permalink
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
from vedette.state.accounts.tokens import Token
from vedette.state.accounts.user_rights import effective_rights
from vedette.state.policy import groups
from vedette.web.accounts.audit_routes import object_of
from vedette.web.http.access import principal_of
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import ID_MAX, bounded_number, time_of, whole_number
from vedette.web.page.navigation import ENTRIES, may_open, start_page
from vedette.web.page.render import render

router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]

TABS: Final = ("users", "teams", "tokens", "apps")
FILTERS: Final = ("object", "target", "author", "action", "kind", "from", "to")
"""Parameters of the audit log that its export and further pages keep."""

ACTIONS: Final = ("create", "change", "delete", "read", "run")


@router.get("/ui/access", right=Right.ADMINISTER, summary="Manage users, teams and tokens")
async def access(request: Request, here: Here) -> Response:
    """Shows the access page to global administrators."""
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
    return render(request, "accounts/access.html", tab=tab, tabs=TABS, roles=ROLE_NAMES, **values)


def _signing_in(here: Services, issued: list[Token]) -> dict[str, Any]:
    """Returns other sign-in methods of users, and the time of their last sign-in according to
    stored sessions."""
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


@router.get(
    "/ui/_/access/effective", right=Right.ADMINISTER, summary="Show effective rights of a user"
)
async def effective(request: Request, here: Here) -> Response:
    """Shows the rights of the user `name` next to the list of users."""
    name = request.query_params.get("name") or principal_of(request).name

    def work() -> dict[str, Any]:
        return {
            "found": effective_rights(here.database, name),
            "member_of": dict(users.get(here.database, name).teams),
            "teams": teams.all_teams(here.database),
        }

    return render(request, "accounts/effective_rights.html", **await to_thread.run_sync(work))


@router.get("/ui/_/access/team/{team_id}", right=Right.ADMINISTER, summary="Edit a team")
async def team(team_id: str, request: Request, here: Here) -> Response:
    """Shows a team next to the list of teams."""
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
    return render(request, "accounts/team.html", roles=ROLE_NAMES, **values)


@router.get("/ui/_/audit/chain", right=Right.ADMINISTER, summary="Verify the audit log")
async def chain(request: Request, here: Here) -> Response:
    """Reads the whole log, and therefore runs only on request."""
    verdict = await to_thread.run_sync(audit_trail.verify, here.database)
    return render(request, "accounts/audit_chain.html", verdict=verdict)


@router.get("/ui/audit", right=Right.ADMINISTER, summary="Search the audit log")
async def audit(request: Request, here: Here) -> Response:
    """Shows the audit log to global administrators."""
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
        request,
        "accounts/audit.html",
        wanted=wanted,
        asked=asked,
        actions=ACTIONS,
        page_rows=limits.PAGE_ROWS,
        **await to_thread.run_sync(work),
    )


@router.get("/ui/me", right=Right.READ, summary="Edit preferences")
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

    return render(request, "accounts/me.html", roles=ROLE_NAMES, **await to_thread.run_sync(work))


@router.get("/ui/s/{link_id}", right=Right.READ, summary="Open the view of a short link")
async def linked(link_id: str, here: Here) -> Response:
    """Redirects to the view, whose contents depend on the reader's rights. Raises NotFoundError."""

    def work() -> Permalink:
        with here.database.reading() as connection:
            return kept_views.permalink(connection, link_id, here.clock.now_us())

    found = await to_thread.run_sync(work)
    params = urlencode(parse_qsl(found.params, keep_blank_values=True))
    return RedirectResponse(f"/ui/{found.view.replace('_', '/')}?{params}", status_code=303)
