"""Watchlists: the list, one of them, and a new one with its backtest."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.api.http.access import principal_of, scope_of_request
from vedette.api.http.pages import PAGE_TAG
from vedette.api.http.router import Router
from vedette.api.routes.search.run import run_search
from vedette.api.schemas.watchlist import watchlist_id
from vedette.api.services import Services, services
from vedette.console.alert_outcomes import outcomes_of
from vedette.console.render import render
from vedette.errors import BadRequestError, NotFoundError, UnavailableError
from vedette.model.findings.action import ACTION_NAMES, ActionType
from vedette.model.findings.detection import Source
from vedette.model.principal import Principal, Role
from vedette.model.scope import Scope
from vedette.notify.action_settings import action_types
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.accounts import users
from vedette.state.accounts.users import id_of
from vedette.state.policy import watchlists
from vedette.state.policy.actions import EnabledActions, enabled_actions
from vedette.state.policy.watchlists import ALL_GROUPS, Watchlist
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.detection.tag_counts import hits_over_time
from vedette.watchlists.backtest import DAY_MS, HOUR_MS
from vedette.watchlists.silent_fields import silent_fields
from vedette.watchlists.watch_query import EVENTS

router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Within = Annotated[Scope, Depends(scope_of_request)]

HOURS: Final = 24


@router.get("/ui/watchlists", summary="Watchlists")
async def listed(request: Request, here: Here, caller: Caller, scope: Within) -> Response:
    """Those with problems first."""

    def work(engine: BoundedEngine) -> dict[str, Any]:
        with here.database.reading() as connection:
            seen = [one for one in watchlists.all_watchlists(connection) if sees(caller, one)]
            done = enabled_actions(connection, [_source(one) for one in seen])
        names = {one.id: one.username for one in users.all_users(here.database)}
        silent = _silent(engine, here, scope, seen)
        return {
            "watchlists": sorted(seen, key=lambda one: _problems_first(one, silent)),
            "silent": silent,
            "hits": _hits(engine, here, scope, seen, DAY_MS, limits.ALERT_TREND_DAYS),
            "owners": {one.id: names.get(one.user_id, "") for one in seen},
            "actions": {one.id: _kinds(done[_source(one)]) for one in seen},
            "outcomes": outcomes_of(
                engine, here, scope, "watchlist", [str(one.id) for one in seen]
            ),
        }

    found = await run_search(request, here, work)
    return render(request, "screens/watchlists.html", dead_us=limits.WATCHLIST_DEAD_US, **found)


def _source(one: Watchlist) -> Source:
    return Source("watchlist", str(one.id))


def _problems_first(
    one: Watchlist, silent: Mapping[int, Sequence[str]]
) -> tuple[bool, bool, bool, str]:
    is_waiting = one.enabled and one.id in silent
    is_broken = bool(one.last_error or one.stopped)
    return not is_broken, not is_waiting, not one.enabled, one.name.lower()


def _silent(
    engine: BoundedEngine, here: Services, scope: Scope, seen: Sequence[Watchlist]
) -> Mapping[int, Sequence[str]]:
    queries = {one.id: one.search_query for one in seen if one.index_type == EVENTS}
    reach = Reach.within(limits.WATCHLIST_GLANCE_S)
    return silent_fields(engine, scope, queries, here.clock.now_us(), reach)


def _hits(
    engine: BoundedEngine,
    here: Services,
    scope: Scope,
    seen: Sequence[Watchlist],
    width_ms: int,
    steps: int,
) -> Mapping[str, Sequence[int]] | None:
    """By id, the newest last; None where it took too long."""
    names = [str(one.id) for one in seen if one.index_type == EVENTS]
    now_ms, most_s = here.clock.now_us() // 1_000, limits.WATCHLIST_GLANCE_S
    try:
        return hits_over_time(engine, scope, "watchlist", names, now_ms, width_ms, steps, most_s)
    except UnavailableError:
        return None


def _kinds(done: EnabledActions) -> list[str]:
    """What a watchlist does with a hit; mail is everybody's own, and others do not see whose."""
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
        formers=[], kinds={}, hours=None, days=None, silent=(),
    )  # fmt: skip


@router.get("/ui/watchlists/{watchlist}", summary="A watchlist")
async def one(
    watchlist: str, request: Request, here: Here, caller: Caller, scope: Within
) -> Response:
    def work(engine: BoundedEngine) -> dict[str, Any]:
        found = _known(here, caller, watchlist)
        with here.database.reading() as connection:
            formers = list(watchlists.history(connection, found.key))
            kinds = action_types(connection, _source(found), id_of(here.database, caller.name))
        hits = _hits(engine, here, scope, [found], HOUR_MS, HOURS)
        days = _hits(engine, here, scope, [found], DAY_MS, limits.ALERT_TREND_DAYS)
        return {
            "watchlist": found,
            "q": found.search_query,
            "index": found.index_type,
            "formers": formers,
            "kinds": kinds,
            "hours": None if hits is None else hits.get(str(found.id), (0,) * HOURS),
            "days": None if days is None else days.get(str(found.id), ()),
            "silent": _silent(engine, here, scope, [found]).get(found.id, ()),
        }

    return render(request, "screens/watchlist.html", **await run_search(request, here, work))


@router.get("/ui/_/watchlists/{watchlist}/deletion", summary="What deleting a watchlist asks")
async def deletion(
    watchlist: str, request: Request, here: Here, caller: Caller, scope: Within
) -> Response:
    """Its name is to be typed where it has hit, or may have on hosts that the reader does not
    see."""
    found = await to_thread.run_sync(_known, here, caller, watchlist)
    is_whole = found.group_id != ALL_GROUPS or scope.sees_all
    return render(
        request, "fragments/watchlist_deletion.html", one=found, pattern=_pattern(found.name),
        hits=found.total_hits if is_whole else None,
    )  # fmt: skip


def _known(here: Services, caller: Principal, text: str) -> Watchlist:
    """Raises NotFoundError, also where the reader may not know of it."""
    try:
        number = watchlist_id(text)
    except BadRequestError:
        raise NotFoundError(f"there is no watchlist {text[:40]!r}") from None
    with here.database.reading() as connection:
        found = watchlists.get(connection, number)
    if not sees(caller, found):
        raise NotFoundError(f"there is no watchlist {number}")
    return found


def sees(caller: Principal, one: Watchlist) -> bool:
    """Whether a reader may know of a watchlist."""
    if one.group_id == ALL_GROUPS or caller.is_global_admin:
        return True
    return caller.role_in(one.group_id) >= Role.VIEWER
