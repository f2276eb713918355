"""Watchlists (docs/watchlists.md), and previews of queries as watchlists."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.errors import BadRequestError, NotFoundError, UnavailableError
from vedette.limits import WATCHLIST_GLANCE_S, Limit
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed, require
from vedette.model.scope import Scope
from vedette.record.answers import many, to_json
from vedette.record.bodies import Sent
from vedette.record.objects.watchlist import (
    ALL_GROUPS,
    CHANGED_WATCHLIST,
    NEW_WATCHLIST,
    WATCHLIST,
    WATCHLIST_CHANGE,
    WATCHLIST_VERSION,
    WATCHLIST_WITH_HISTORY,
    Watchlist,
    WatchlistRequest,
)
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.query_guards import guarded_check
from vedette.state.accounts.users import id_of
from vedette.state.policy import groups, watchlists
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.detection.tag_counts import hits_over_time
from vedette.watchlists.backtest import DAY_MS, HOUR_MS, backtest
from vedette.watchlists.silent_fields import silent_fields
from vedette.watchlists.watch_query import CATALOGUES, EVENTS, stored_query
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.action_sources import sees_group
from vedette.web.http.bodies.declared_bodies import json_body
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_search
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import described
from vedette.web.json.whole_counts import record_within
from vedette.web.watchlists.models import WatchlistStats, preview_body, preview_bounds, watchlist_id

WATCHLIST_PREVIEW_DAYS: Limit[int] = 7
"""Default number of days that a preview covers."""


router = Router(tags=["watchlists"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_PATH: Final = "/api/v1/watchlist"
_CHOSEN: Final = described(("id", "The id of the new watchlist; without one the next is given"))


@router.get(_PATH, right=Right.VIEW, summary="List watchlists", response_model=many(WATCHLIST))
def listed(here: Here, caller: Caller, scope: Within) -> Response:
    """Returns watchlists over all sensors, and those of sensor groups that the caller sees, by id.
    Counts of watchlists over all sensors are 0 for users who do not see all sensors."""
    with here.database.reading() as connection:
        found = watchlists.all_watchlists(connection)
    return json_answer([_body(one, scope) for one in found if sees_group(caller, one.group_id)])


@router.get(
    f"{_PATH}/{{watchlist_id}}",
    right=Right.VIEW,
    summary="Get a watchlist",
    response_model=WATCHLIST_WITH_HISTORY,
)
def one(watchlist_id: str, here: Here, caller: Caller, scope: Within) -> Response:
    """Finds the watchlist by its id, or by an earlier id from before a query change. `history` has
    its queries."""
    found = _known(here, caller, watchlist_id)
    with here.database.reading() as connection:
        formers = watchlists.history(connection, found.key)
    return json_answer(_body(found, scope) | {"history": [to_json(former) for former in formers]})


@router.get(
    f"{_PATH}/{{watchlist_id}}/versions",
    right=Right.VIEW,
    summary="List versions of a watchlist",
    response_model=many(WATCHLIST_VERSION),
)
def versions(watchlist_id: str, here: Here, caller: Caller) -> Response:
    """Returns the queries of the watchlist with their ids and end times, oldest first. The last is
    the current query."""
    found = _known(here, caller, watchlist_id)
    with here.database.reading() as connection:
        formers = watchlists.history(connection, found.key)
    return json_answer([to_json(former) for former in formers])


@router.get(
    f"{_PATH}/{{watchlist_id}}/stats",
    right=Right.VIEW,
    summary="Get hits and cost of a watchlist",
    response_model=WatchlistStats,
)
async def stats(
    watchlist_id: str, request: Request, here: Here, caller: Caller, scope: Within
) -> Response:
    """Returns the hits (process segments on hosts that the caller sees) in each of the last 24
    hours and seven days, newest last; the fields of its query that no stored process has; and the
    duration of its executions. Values that take too long to count are null."""
    one = await to_thread.run_sync(_known, here, caller, watchlist_id)
    now_ms = here.clock.now_us() // 1_000

    def work(engine: BoundedEngine) -> dict[str, Any]:
        reach = Reach.within(WATCHLIST_GLANCE_S)
        queries = {one.id: one.search_query} if one.index_type == EVENTS else {}
        silent = silent_fields(engine, scope, queries, now_ms * 1_000, reach)
        return {
            "hits_per_hour": _hits(engine, scope, one, now_ms, HOUR_MS, 24),
            "hits_per_day": _hits(engine, scope, one, now_ms, DAY_MS, 7),
            "fields_never_seen": silent.get(one.id, ()),
        }

    body = _body(one, scope)
    kept = ("id", "last_hit", "total_hits", "last_execution_time_ms", "cost_ms", "search_timestamp")
    found = await run_search(request, here, work)
    return json_answer({name: body[name] for name in kept} | found)


def _hits(
    engine: BoundedEngine, scope: Scope, one: Watchlist, now_ms: int, width_ms: int, steps: int
) -> Sequence[int] | None:
    name = str(one.id)
    try:
        found = hits_over_time(
            engine, scope, "watchlist", [name], now_ms, width_ms, steps, WATCHLIST_GLANCE_S
        )
    except UnavailableError:
        return None
    return found.get(name, (0,) * steps)


@router.post(
    _PATH,
    right=Right.ACT,
    summary="Create a watchlist",
    openapi_extra=_CHOSEN,
    response_model=CHANGED_WATCHLIST,
)
def create(
    request: Request,
    here: Here,
    caller: Caller,
    body: Annotated[Sent[WatchlistRequest], Depends(json_body(NEW_WATCHLIST))],
) -> Response:
    """The id can be chosen in the body or in the query string. Returns the watchlist. A query that
    is invalid or matches everything returns 400 with the position."""
    new = Watchlist(**body.values)
    _check_group(here, caller, new.group_id)
    _check_query(here, new.search_query, new.index_type)
    chosen = request.query_params.get("id")
    chosen_id = new.id or None if chosen is None else watchlist_id(chosen)
    if chosen_id is not None and chosen_id < 1:
        raise BadRequestError("id: must be greater than 0")
    new = replace(new, user_id=id_of(here.database, caller.name))
    with here.database.writing() as connection:
        made = watchlists.add(connection, new, here.clock.now_us(), chosen_id)
        found = watchlists.get(connection, made)
    return json_answer(to_json(found) | {"result": "success"})


@router.put(
    f"{_PATH}/{{watchlist_id}}",
    right=Right.ACT,
    summary="Change a watchlist",
    response_model=CHANGED_WATCHLIST,
)
def change(
    watchlist_id: str,
    here: Here,
    caller: Caller,
    scope: Within,
    body: Annotated[Sent[WatchlistRequest], Depends(json_body(WATCHLIST_CHANGE))],
) -> Response:
    """Changes the given members; a whole record is accepted. Changing the query assigns the next
    id, moves the actions along (or those of `move_actions_from_watchlist_id`) and restarts the
    watchlist; older ids still refer to it. Returns the watchlist. Returns 409 `changed_meanwhile`
    if a member differs from its value in `was`."""
    known = _known(here, caller, watchlist_id)
    require(caller, *watchlists.change_right(known))
    changed = replace(known, **body.values)
    _check_group(here, caller, changed.group_id)
    if (changed.search_query, changed.index_type) != (known.search_query, known.index_type):
        _check_query(here, changed.search_query, changed.index_type)
    giver_id = body.request.move_actions_from_watchlist_id
    if giver_id is not None:
        giver = _known(here, caller, str(giver_id))
        require(caller, *watchlists.change_right(giver))
    mover_id = None if caller.is_global_admin else id_of(here.database, caller.name)
    with here.database.writing() as connection:
        known = watchlists.held(connection, known.id)
        body.check_unchanged(_body(known, scope))
        found = watchlists.change(
            connection, known, body.values, here.clock.now_us(), giver_id, mover_id
        )
    return json_answer(_body(found, scope) | {"result": "success"})


@router.delete(f"{_PATH}/{{watchlist_id}}", right=Right.ACT, summary="Delete a watchlist")
def delete(watchlist_id: str, here: Here, caller: Caller) -> Response:
    """Deletes a watchlist with its actions. Tags and alerts remain."""
    known = _known(here, caller, watchlist_id)
    require(caller, *watchlists.change_right(known))
    with here.database.writing() as connection:
        watchlists.remove(connection, watchlists.get(connection, known.id))
    return json_answer({"result": "success"})


@router.post(
    f"{_PATH}/preview",
    right=Right.READ,
    reads=True,
    summary="Preview a query as a watchlist",
)
async def preview(request: Request, here: Here, scope: Within, body: Body) -> Response:
    """Body: `search_query`, `index_type`, `from` and `to` (default: the last 7 days). Returns, for
    stored telemetry that the caller sees: hits per day, hosts, samples and expected alerts; and the
    values with the most hits, each with a query that excludes it."""
    query = body.get("search_query", body.get("query"))
    if not isinstance(query, str) or not query:
        raise BadRequestError("search_query: is required")
    index_type = body.get("index_type", EVENTS)
    if not isinstance(index_type, str):
        raise BadRequestError("index_type: must be events or modules")
    now_us = here.clock.now_us()
    from_ms, until_ms = preview_bounds(body, now_us, WATCHLIST_PREVIEW_DAYS)

    def work(engine: BoundedEngine) -> Response:
        _check_query(here, query, index_type)
        checked = stored_query(query, index_type, now_us)
        reach = Reach.within(here.settings.search_deadline_s)
        found = backtest(engine, checked, index_type, scope, from_ms, until_ms, reach)
        return json_answer(preview_body(found, query))

    return await run_search(request, here, work)


def _body(one: Watchlist, scope: Scope) -> dict[str, Any]:
    """Returns a watchlist as JSON. Hides counts over all sensors from callers who do not see them
    all; counts of a group's watchlist cover only hosts that its readers see."""
    return record_within(one, scope) if one.group_id == ALL_GROUPS else to_json(one)


def _known(here: Services, caller: Principal, text: str) -> Watchlist:
    """Returns a watchlist that the caller sees. Raises BadRequestError and NotFoundError."""
    number = watchlist_id(text)
    with here.database.reading() as connection:
        found = watchlists.get(connection, number)
    if not sees_group(caller, found.group_id):
        raise NotFoundError(f"watchlist {number} not found")
    return found


def _check_group(here: Services, caller: Principal, group_id: int) -> None:
    """Checks that the caller may create watchlists for a group, or for all sensors without a group.
    Raises ForbiddenError, also for a missing group that the caller may not know about, and
    NotFoundError."""
    require(caller, Deed.CHANGE_WATCHLIST, watchlists.of_group(group_id))
    if group_id != ALL_GROUPS:
        groups.get(here.database, group_id)


def _check_query(here: Services, search_query: str, index_type: str) -> None:
    """Raises QueryError with the position for a query that a search would reject too."""
    now_us = here.clock.now_us()
    found = stored_query(search_query, index_type, now_us)
    guarded_check(here.engine, found.tree, CATALOGUES[index_type], here.settings, now_us)
