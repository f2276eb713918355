"""Watchlists: the list, one of them, and a new one with its backtest."""

from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from vedette.api.http.access import principal_of, scope_of_request
from vedette.api.http.pages import PAGE_TAG
from vedette.api.routes.search.run import run_search
from vedette.api.schemas.watchlist import watchlist_id
from vedette.api.services import Services, services
from vedette.console.alert_outcomes import outcomes_of
from vedette.console.render import render
from vedette.errors import BadRequestError, NotFoundError
from vedette.limits import WATCHLIST_DEAD_US
from vedette.model.findings.action import ACTION_NAMES, ActionType
from vedette.model.findings.detection import Source
from vedette.model.principal import Principal, Role
from vedette.model.scope import Scope
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.accounts import users
from vedette.state.policy import watchlists
from vedette.state.policy.actions import EnabledActions, enabled_actions
from vedette.state.policy.watchlists import ALL_GROUPS, Former, Watchlist

router = APIRouter(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Within = Annotated[Scope, Depends(scope_of_request)]


@router.get("/ui/watchlists", summary="Watchlists")
async def listed(request: Request, here: Here, caller: Caller, scope: Within) -> Response:
    """Those with problems first."""

    def work(engine: BoundedEngine) -> dict[str, Any]:
        with here.database.reading() as connection:
            seen = [one for one in watchlists.all_watchlists(connection) if sees(caller, one)]
            done = enabled_actions(connection, [_source(one) for one in seen])
        names = {one.id: one.username for one in users.all_users(here.database)}
        return {
            "watchlists": sorted(seen, key=_problems_first),
            "owners": {one.id: names.get(one.user_id, "") for one in seen},
            "actions": {one.id: _kinds(done[_source(one)]) for one in seen},
            "patterns": {one.id: _pattern(one.name) for one in seen},
            "outcomes": outcomes_of(
                engine, here, scope, "watchlist", [str(one.id) for one in seen]
            ),
        }

    found = await run_search(request, here, work)
    return render(request, "screens/watchlists.html", dead_us=WATCHLIST_DEAD_US, **found)


def _source(one: Watchlist) -> Source:
    return Source("watchlist", str(one.id))


def _problems_first(one: Watchlist) -> tuple[bool, bool, str]:
    return not (one.last_error or one.stopped), not one.enabled, one.name.lower()


def _kinds(done: EnabledActions) -> list[str]:
    """What a watchlist does with a hit; mail is everybody's own, and is not told to others."""
    kinds = {one.type for one in done.messages} - {ActionType.EMAIL}
    return [*(["alert"] if done.is_alerting else []), *sorted(ACTION_NAMES[one] for one in kinds)]


def _pattern(name: str) -> str:
    """A pattern of HTML that this name alone matches."""
    return "".join(
        one if one.isascii() and one.isalnum() else f"\\u{{{ord(one):x}}}" for one in name.strip()
    )


@router.get("/ui/watchlists/new", summary="A new watchlist")
async def new(request: Request) -> Response:
    """`q` is the query that it begins with; its backtest runs at once."""
    params = request.query_params
    index = "modules" if params.get("index") == "modules" else "events"
    return render(
        request, "screens/watchlist.html", watchlist=None, q=params.get("q", ""), index=index,
        formers=[],
    )  # fmt: skip


@router.get("/ui/watchlists/{watchlist}", summary="A watchlist")
async def one(watchlist: str, request: Request, here: Here, caller: Caller) -> Response:
    def work() -> tuple[Watchlist, list[Former]]:
        try:
            number = watchlist_id(watchlist)
        except BadRequestError:
            raise NotFoundError(f"there is no watchlist {watchlist[:40]!r}") from None
        with here.database.reading() as connection:
            found = watchlists.get(connection, number)
            if not sees(caller, found):
                raise NotFoundError(f"there is no watchlist {number}")
            return found, list(watchlists.history(connection, found.key))

    found, formers = await to_thread.run_sync(work)
    return render(
        request, "screens/watchlist.html", watchlist=found, q=found.search_query,
        index=found.index_type, formers=formers,
    )  # fmt: skip


def sees(caller: Principal, one: Watchlist) -> bool:
    """Whether a reader may know of a watchlist."""
    if one.group_id == ALL_GROUPS or caller.is_global_admin:
        return True
    return caller.role_in(one.group_id) >= Role.VIEWER
