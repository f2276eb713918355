"""Watchlists (docs/watchlists.md), and what a query would hit as one."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.api.http.access import principal_of, scope_of_request
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.policy.action_sources import sees_group
from vedette.api.routes.search.run import run_search
from vedette.api.schemas.parameters import described
from vedette.api.schemas.stale_changes import as_it_was
from vedette.api.schemas.watchlist import (
    history_body,
    preview_body,
    preview_bounds,
    watchlist_body,
    watchlist_id,
    watchlist_members,
)
from vedette.api.schemas.whole_counts import counts_within
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, ForbiddenError, NotFoundError, UnavailableError
from vedette.limits import WATCHLIST_GLANCE_S, WATCHLIST_PREVIEW_DAYS
from vedette.model.principal import Principal, Role
from vedette.model.scope import Scope
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.query_guards import guarded_check
from vedette.state.accounts.users import id_of
from vedette.state.policy import groups, watchlists
from vedette.state.policy.watchlists import ALL_GROUPS, NewWatchlist, Watchlist
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.detection.tag_counts import hits_over_time
from vedette.watchlists.backtest import DAY_MS, HOUR_MS, backtest
from vedette.watchlists.silent_fields import silent_fields
from vedette.watchlists.watch_query import CATALOGUES, EVENTS, stored_query

router = Router(tags=["watchlists"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_PATH: Final = "/api/v1/watchlist"
_CHOSEN: Final = described(("id", "The id of the new watchlist; without one the next is given"))


@router.get(_PATH, summary="All watchlists")
def listed(here: Here, caller: Caller, scope: Within) -> Response:
    """Those over all sensors, and those of groups that the caller sees, by id. What one over all
    sensors counts is 0 for users who do not see all."""
    with here.database.reading() as connection:
        found = watchlists.all_watchlists(connection)
    return json_answer([_body(one, scope) for one in found if sees_group(caller, one.group_id)])


@router.get(f"{_PATH}/{{watchlist_id}}", summary="One watchlist")
def one(watchlist_id: str, here: Here, caller: Caller, scope: Within) -> Response:
    """By its id, or by one that it had before its query changed; with the queries that it had."""
    found = _known(here, caller, watchlist_id)
    with here.database.reading() as connection:
        formers = watchlists.history(connection, found.key)
    return json_answer(_body(found, scope) | {"history": history_body(formers)})


@router.get(f"{_PATH}/{{watchlist_id}}/versions", summary="The queries that a watchlist had")
def versions(watchlist_id: str, here: Here, caller: Caller) -> Response:
    """Under which ids and until when, the oldest first; the last is the one that it has."""
    found = _known(here, caller, watchlist_id)
    with here.database.reading() as connection:
        formers = watchlists.history(connection, found.key)
    return json_answer(history_body(formers))


@router.get(f"{_PATH}/{{watchlist_id}}/stats", summary="What a watchlist does and costs")
async def stats(
    watchlist_id: str, request: Request, here: Here, caller: Caller, scope: Within
) -> Response:
    """Process segments that it hit in each of the last 24 hours and seven days, the newest last, on
    hosts that the caller sees; fields that it asks and that no stored process has; how long its
    rounds take. What takes too long to count is null."""
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


@router.post(_PATH, summary="Create a watchlist", openapi_extra=_CHOSEN)
def create(request: Request, here: Here, caller: Caller, body: Body) -> Response:
    """Takes `name`, `search_query`, `index_type` (events or modules), `description`, `enabled`,
    `readonly`, `group_id`, and an `id` of the caller's choice, which may stand in the query string
    as well. A query that cannot be read, or that matches everything, is 400 with the place."""
    members = watchlist_members(body)
    values: dict[str, Any] = {
        "index_type": EVENTS,
        "enabled": True,
        "readonly": False,
    } | members.values
    for name in ("name", "search_query"):
        if not values.get(name):
            raise BadRequestError(f"{name}: is missing")
    group_id = values.get("group_id", ALL_GROUPS)
    _check_may_change(here, caller, group_id)
    _check_query(here, values["search_query"], values["index_type"])
    chosen = request.query_params.get("id")
    chosen_id = watchlist_id(chosen) if chosen else members.id
    if chosen_id is not None and chosen_id < 1:
        raise BadRequestError("id: must be above 0")
    new = NewWatchlist(**values, user_id=id_of(here.database, caller.name))
    with here.database.writing() as connection:
        made = watchlists.add(connection, new, here.clock.now_us(), chosen_id)
        found = watchlists.get(connection, made)
    return json_answer(watchlist_body(found) | {"result": "success"})


@router.put(f"{_PATH}/{{watchlist_id}}", summary="Change a watchlist")
def change(watchlist_id: str, here: Here, caller: Caller, scope: Within, body: Body) -> Response:
    """Takes what POST takes, a whole record too; what is not given stays. With another query the
    watchlist gets the next id, takes its actions with it (or those of
    `move_actions_from_watchlist_id`) and starts anew; older ids lead to it. The answer is the
    record. 409 `changed_meanwhile` where a member is not as `was` says."""
    members, check = watchlist_members(body), as_it_was(body, watchlist_body)
    known = _known(here, caller, watchlist_id)
    _check_may_change(here, caller, known.group_id)
    _check_may_change(here, caller, members.values.get("group_id", known.group_id))
    values = members.values
    if known.readonly and not caller.is_global_admin:
        raise ForbiddenError(f"watchlist {known.id} is read-only")
    if not values.get("search_query", "-") or not values.get("name", "-"):
        raise BadRequestError("name, search_query: may not be empty")
    query = values.get("search_query", known.search_query)
    index_type = values.get("index_type", known.index_type)
    if (query, index_type) != (known.search_query, known.index_type):
        _check_query(here, query, index_type)
    if members.move_actions_from is not None:
        giver = _known(here, caller, str(members.move_actions_from))
        _check_may_change(here, caller, giver.group_id)
    with here.database.writing() as connection:
        known = watchlists.held(connection, known.id)
        check(known)
        found = watchlists.change(
            connection, known, values, here.clock.now_us(), members.move_actions_from
        )
    return json_answer(_body(found, scope) | {"result": "success"})


@router.delete(f"{_PATH}/{{watchlist_id}}", summary="Delete a watchlist")
def delete(watchlist_id: str, here: Here, caller: Caller) -> Response:
    """With its actions. Tags and alerts stay."""
    known = _known(here, caller, watchlist_id)
    _check_may_change(here, caller, known.group_id)
    if known.readonly and not caller.is_global_admin:
        raise ForbiddenError(f"watchlist {known.id} is read-only")
    with here.database.writing() as connection:
        watchlists.remove(connection, watchlists.get(connection, known.id))
    return json_answer({"result": "success"})


@router.post(f"{_PATH}/preview", summary="What a query would hit as a watchlist")
async def preview(request: Request, here: Here, scope: Within, body: Body) -> Response:
    """Takes `search_query`, `index_type`, `from` and `to` (by default the last days): hits a day,
    hosts, samples and the alerts to expect, over the stored telemetry that the caller sees; and
    values that most hits have, each with the query that leaves it out."""
    query = body.get("search_query", body.get("query"))
    if not isinstance(query, str) or not query:
        raise BadRequestError("search_query: is missing")
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
    """What a watchlist of a group counts is of hosts that its readers see."""
    body = watchlist_body(one)
    return counts_within(body, scope) if one.group_id == ALL_GROUPS else body


def _known(here: Services, caller: Principal, text: str) -> Watchlist:
    """A watchlist that the caller sees. Raises BadRequestError, NotFoundError."""
    number = watchlist_id(text)
    with here.database.reading() as connection:
        found = watchlists.get(connection, number)
    if not sees_group(caller, found.group_id):
        raise NotFoundError(f"there is no watchlist {number}")
    return found


def _check_may_change(here: Services, caller: Principal, group_id: int) -> None:
    """A watchlist is executed over the sensors of its group, one without a group over all of them:
    that needs the role of an analyst there. Raises ForbiddenError, for those who may not know
    whether a group exists too, and NotFoundError."""
    if caller.is_global_admin:
        if group_id != ALL_GROUPS:
            groups.get(here.database, group_id)
        return
    wanted = (
        [one.id for one in groups.all_groups(here.database)]
        if group_id == ALL_GROUPS
        else [group_id]
    )
    if any(caller.role_in(one) < Role.ANALYST for one in wanted):
        raise ForbiddenError(
            f"{caller.name} may not change this watchlist: that needs the role of an analyst in "
            "its group_id, or in every sensor group where it has none"
        )


def _check_query(here: Services, search_query: str, index_type: str) -> None:
    """Raises QueryError with the place for a query that a search would refuse too."""
    now_us = here.clock.now_us()
    found = stored_query(search_query, index_type, now_us)
    guarded_check(here.engine, found.tree, CATALOGUES[index_type], here.settings, now_us)
