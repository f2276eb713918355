"""Pages of watchlists: the list, details of a watchlist, and a new watchlist with its backtest."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.errors import BadRequestError, NotFoundError, UnavailableError
from vedette.limits import Limit
from vedette.model.findings.action import ACTION_NAMES, ActionType
from vedette.model.findings.detection import Source
from vedette.model.principal import Principal, Role
from vedette.model.rights.authorization import Deed, Managed, may
from vedette.model.scope import Scope
from vedette.record.objects.watchlist import ALL_GROUPS, Watchlist
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.accounts import users
from vedette.state.policy import groups, watchlists
from vedette.state.policy.actions import EnabledActions, enabled_actions
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.detection.tag_counts import hits_over_time
from vedette.watchlists.backtest import DAY_MS, HOUR_MS
from vedette.watchlists.silent_fields import silent_fields
from vedette.watchlists.watch_query import EVENTS
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.action_sources import WATCHLIST_SOURCE
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_search
from vedette.web.http.services import Services, services
from vedette.web.notify.source_actions import actions_of
from vedette.web.page.alert_outcomes import outcomes_of
from vedette.web.page.render import render
from vedette.web.watchlists.models import watchlist_id

WATCHLIST_DEAD_US: Limit[int] = 90 * 24 * 3600 * 1_000_000
"""Microseconds without a hit after which the list of watchlists says so: a quarter, enough for any
regularly recurring activity."""


router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Within = Annotated[Scope, Depends(scope_of_request)]

HOURS: Final = 24


@router.get("/ui/watchlists", right=Right.VIEW, summary="List watchlists")
async def listed(request: Request, here: Here, caller: Caller, scope: Within) -> Response:
    """Shows watchlists with problems first."""

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
            "rights": {one.id: _right(one) for one in seen},
            "owners": {one.id: names.get(one.user_id, "") for one in seen},
            "actions": {one.id: _kinds(done[_source(one)]) for one in seen},
            "outcomes": outcomes_of(
                engine, here, scope, "watchlist", [str(one.id) for one in seen]
            ),
        }

    found = await run_search(request, here, work)
    return render(request, "watchlists/watchlists.html", dead_us=WATCHLIST_DEAD_US, **found)


def _source(one: Watchlist) -> Source:
    return Source("watchlist", str(one.id))


def _right(one: Watchlist) -> tuple[str, Managed]:
    """Returns the deed and object to check for a change to a watchlist, for templates."""
    deed, managed = watchlists.change_right(one)
    return deed.name, managed


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
    """Returns hits by watchlist id, newest last; None after a timeout."""
    names = [str(one.id) for one in seen if one.index_type == EVENTS]
    now_ms, most_s = here.clock.now_us() // 1_000, limits.WATCHLIST_GLANCE_S
    try:
        return hits_over_time(engine, scope, "watchlist", names, now_ms, width_ms, steps, most_s)
    except UnavailableError:
        return None


def _kinds(done: EnabledActions) -> list[str]:
    """Returns the kinds of actions on a hit. Omits mail, because recipients are visible only to
    themselves."""
    kinds = {one.type for one in done.messages} - {ActionType.EMAIL}
    return [*(["alert"] if done.is_alerting else []), *sorted(ACTION_NAMES[one] for one in kinds)]


def _pattern(name: str) -> str:
    """Returns a pattern for HTML inputs that matches only this name."""
    return "".join(
        one if one.isascii() and one.isalnum() else f"\\u{{{ord(one):x}}}" for one in name.strip()
    )


@router.get("/ui/watchlists/new", right=Right.READ, summary="Create a watchlist")
async def new(request: Request, here: Here, caller: Caller) -> Response:
    """The parameter `q` is the initial query, whose backtest starts immediately."""
    params = request.query_params
    index = "modules" if params.get("index") == "modules" else "events"
    places = await to_thread.run_sync(_places, here, caller)
    right = Deed.CHANGE_WATCHLIST.name, watchlists.of_group(places[0][0] if places else ALL_GROUPS)
    return render(
        request,
        "watchlists/watchlist.html",
        watchlist=None,
        q=params.get("q", ""),
        index=index,
        formers=[],
        kinds={},
        hours=None,
        days=None,
        silent=(),
        places=places,
        right=right,
        switches={},
    )


def _places(here: Services, caller: Principal) -> list[tuple[int, str]]:
    """Returns the hosts for which the reader may create a watchlist: all ("" as the name), and
    sensor groups."""
    found = [(ALL_GROUPS, ""), *((one.id, one.name) for one in groups.all_groups(here.database))]
    return [
        (group_id, name)
        for group_id, name in found
        if may(caller, Deed.CHANGE_WATCHLIST, watchlists.of_group(group_id))
    ]


@router.get("/ui/watchlists/{watchlist}", right=Right.VIEW, summary="Show a watchlist")
async def one(
    watchlist: str, request: Request, here: Here, caller: Caller, scope: Within
) -> Response:
    def work(engine: BoundedEngine) -> dict[str, Any]:
        found = _known(here, caller, watchlist)
        with here.database.reading() as connection:
            formers = list(watchlists.history(connection, found.key))
        hits = _hits(engine, here, scope, [found], HOUR_MS, HOURS)
        days = _hits(engine, here, scope, [found], DAY_MS, limits.ALERT_TREND_DAYS)
        return {
            "watchlist": found,
            "q": found.search_query,
            "index": found.index_type,
            "formers": formers,
            **actions_of(WATCHLIST_SOURCE, here, caller, str(found.id)),
            "right": _right(found),
            "places": (),
            "hours": None if hits is None else hits.get(str(found.id), (0,) * HOURS),
            "days": None if days is None else days.get(str(found.id), ()),
            "silent": _silent(engine, here, scope, [found]).get(found.id, ()),
        }

    return render(request, "watchlists/watchlist.html", **await run_search(request, here, work))


@router.get(
    "/ui/_/watchlists/{watchlist}/deletion",
    right=Right.READ,
    summary="Ask to confirm the deletion of a watchlist",
)
async def deletion(
    watchlist: str, request: Request, here: Here, caller: Caller, scope: Within
) -> Response:
    """The reader must type the name if the watchlist has hits, or may have hits on hosts that the
    reader does not see."""
    found = await to_thread.run_sync(_known, here, caller, watchlist)
    is_whole = found.group_id != ALL_GROUPS or scope.sees_all
    return render(
        request,
        "watchlists/deletion.html",
        one=found,
        pattern=_pattern(found.name),
        hits=found.total_hits if is_whole else None,
    )


def _known(here: Services, caller: Principal, text: str) -> Watchlist:
    """Returns the watchlist that a path names. Raises NotFoundError, also if the reader may not see
    it."""
    try:
        number = watchlist_id(text)
    except BadRequestError:
        raise NotFoundError(f"watchlist {text[:40]!r} not found") from None
    with here.database.reading() as connection:
        found = watchlists.get(connection, number)
    if not sees(caller, found):
        raise NotFoundError(f"watchlist {number} not found")
    return found


def sees(caller: Principal, one: Watchlist) -> bool:
    """Returns whether a reader may see a watchlist."""
    if one.group_id == ALL_GROUPS or caller.is_global_admin:
        return True
    return caller.role_in(one.group_id) >= Role.VIEWER
