"""Ingress filters, which drop telemetry before it is stored (docs/ingress-filters.md)."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.api.http.access import principal_of, scope_of_request
from vedette.api.http.request_bodies import json_value
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.policy.filter_trials import trial_of, trial_with_progress
from vedette.api.schemas.ingress_filter import (
    MEASURED,
    accepted_blind,
    changed_members,
    check_expiry,
    checked,
    event_trial_body,
    filter_body,
    legacy_body,
    new_filter,
    sample_event,
)
from vedette.api.schemas.parameters import described, flag
from vedette.api.schemas.stale_changes import as_it_was
from vedette.api.schemas.whole_counts import counts_within
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, NotFoundError
from vedette.ingest.filter import try_event
from vedette.model.ingress_filter import IngressFilter
from vedette.model.principal import Principal
from vedette.model.scope import Scope
from vedette.state.accounts.users import id_of
from vedette.state.policy import filter_counts, filters
from vedette.state.policy.filter_counts import NOTHING_DONE, FilterActivity

router = Router(tags=["ingress filters"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[Any, Depends(json_value)]

_BASE: Final = "/api/v1/ingress_approvedlist"
_OLDER: Final = "/api/v1/ingress_whitelist"

_PROGRESS: Final = described(
    ("progress", "true: answers lines of JSON while it runs, the last of them the result")
)
_DRY_RUN: Final = described(
    ("dry_run", "true: store nothing, say what the filters would have dropped of the last day")
)


@router.get(_OLDER, summary="All ingress filters")
@router.get(_BASE, summary="All ingress filters")
def listed(here: Here, caller: Caller, scope: Within) -> Response:
    """The highest priority first. Users see those for all hosts and for hosts they see."""
    return json_answer(_list(here, caller, scope, filter_body))


@router.get(f"{_OLDER}/legacy", summary="All ingress filters, in their older form")
@router.get(f"{_BASE}/legacy", summary="All ingress filters, in their older form")
def legacy(here: Here, caller: Caller, scope: Within) -> Response:
    """The same list; each filter has its command lines as `command_line_filters` too."""
    return json_answer(_list(here, caller, scope, legacy_body))


@router.post(f"{_OLDER}/legacy", summary="Create ingress filters", openapi_extra=_DRY_RUN)
@router.post(f"{_BASE}/legacy", summary="Create ingress filters", openapi_extra=_DRY_RUN)
@router.post(_OLDER, summary="Create ingress filters", openapi_extra=_DRY_RUN)
@router.post(_BASE, summary="Create ingress filters", openapi_extra=_DRY_RUN)
async def create(request: Request, here: Here, caller: Caller, body: Body) -> Response:
    """Takes a list of filters, or one; answers the list of their ids. All are created or none.
    `accepted_blind` names what a trial said goes blind (`kind`, `id`, perhaps `name`): it is kept
    in the audit log, with the entry of the filter."""
    now_us = here.clock.now_us()
    objects = _objects(body)
    new = await to_thread.run_sync(_new, objects, now_us)
    if len({one.id for one in new}) < len(new):
        raise BadRequestError("id: two filters of the request have the same one")
    if flag(request.query_params, "dry_run"):
        return json_answer(await trial_of(request, here, new))

    def work() -> None:
        pairs = zip(new, objects, strict=True)
        accepted = {one.id: accepted_blind(given) for one, given in pairs}
        filters.add(here.database, new, id_of(here.database, caller.name), now_us, accepted)
        here.filters.reload()

    await to_thread.run_sync(work)
    return json_answer([one.id for one in new])


@router.post(f"{_OLDER}/check", summary="Check ingress filters", openapi_extra=_PROGRESS)
@router.post(f"{_BASE}/check", summary="Check ingress filters", openapi_extra=_PROGRESS)
async def check(request: Request, here: Here, body: Body) -> Response:
    """Stores nothing. Takes `filters`, and says what `dry_run` says of them: what they would have
    dropped of the last day, and what would go blind. With `sample` (a process, its parent and one
    event) it says of that alone which entries fit and what would be dropped. It ends when its
    client goes away."""
    if not isinstance(body, dict) or not body.keys() <= {"filters", "sample"}:
        raise BadRequestError("the body must be an object with `filters` and perhaps `sample`")
    now_us = here.clock.now_us()
    new = await to_thread.run_sync(_new, _objects(body.get("filters")), now_us)
    if "sample" not in body:
        if flag(request.query_params, "progress"):
            return await trial_with_progress(request, here, new)
        return json_answer(await trial_of(request, here, new))

    def work() -> list[dict[str, Any]]:
        sample = sample_event(body["sample"])
        return [event_trial_body(one.id, try_event(one, sample)) for one in new]

    return json_answer({"dry_run": True, "samples": await to_thread.run_sync(work)})


@router.put(f"{_OLDER}/legacy", summary="Change several ingress filters")
@router.put(f"{_BASE}/legacy", summary="Change several ingress filters")
@router.put(_OLDER, summary="Change several ingress filters")
@router.put(_BASE, summary="Change several ingress filters")
def change_all(here: Here, caller: Caller, body: Body) -> Response:
    """Takes a list of filters with their ids, or one. All are changed or none: none where a member
    of one is not as its `was` says (409 `changed_meanwhile`). `accepted_blind` as with `POST`."""
    return _change(here, caller, _objects(body), "")


@router.delete(f"{_OLDER}/legacy", summary="Delete several ingress filters")
@router.delete(f"{_BASE}/legacy", summary="Delete several ingress filters")
def delete_all(here: Here, body: Body) -> Response:
    """Takes a list of ids, or of filters with their ids. All are deleted or none."""
    given = body if isinstance(body, list) else [body]
    ids: list[Any] = [one.get("id") if isinstance(one, dict) else one for one in given]
    if not isinstance(body, list) or not ids or not all(isinstance(one, str) for one in ids):
        raise BadRequestError("the body must be a list of ids, or of ingress filters with their id")
    if len(set(ids)) < len(ids):
        raise BadRequestError("id: one of them is there twice")
    filters.remove(here.database, ids)
    here.filters.reload()
    return json_answer({"result": "success"})


@router.get(f"{_OLDER}/{{filter_id}}", summary="One ingress filter")
@router.get(f"{_BASE}/{{filter_id}}", summary="One ingress filter")
def one(filter_id: str, here: Here, caller: Caller, scope: Within) -> Response:
    """With its hit rate over the last quarter of an hour, and what it dropped in 24 hours."""
    found = filters.get(here.database, filter_id)
    if not _is_visible(found, caller, scope):
        raise NotFoundError(f"there is no ingress filter {filter_id[:80]!r}")
    did = filter_counts.activity(here.database, here.clock.now_us())
    body = filter_body(found, did.get(found.id, NOTHING_DONE))
    return json_answer(counts_within(body, scope))


@router.put(f"{_OLDER}/{{filter_id}}", summary="Change an ingress filter")
@router.put(f"{_BASE}/{{filter_id}}", summary="Change an ingress filter")
def change(filter_id: str, here: Here, caller: Caller, body: Body) -> Response:
    """Takes the filter, or a list of it. Members that are not given stay as they are. 409
    `changed_meanwhile` where a member is not as `was` says. `accepted_blind` as with `POST`."""
    return _change(here, caller, _objects(body), filter_id)


@router.delete(f"{_OLDER}/{{filter_id}}", summary="Delete an ingress filter")
@router.delete(f"{_BASE}/{{filter_id}}", summary="Delete an ingress filter")
def delete(filter_id: str, here: Here) -> Response:
    """Dropped telemetry is lost."""
    filters.remove(here.database, [filter_id])
    here.filters.reload()
    return json_answer({"result": "success"})


def _list(
    here: Services,
    caller: Principal,
    scope: Scope,
    body: Callable[[IngressFilter, FilterActivity], dict[str, Any]],
) -> list[dict[str, Any]]:
    did = filter_counts.activity(here.database, here.clock.now_us())
    _, found = filters.load(here.database)
    seen = [one for one in found if _is_visible(one, caller, scope)]
    return [counts_within(body(one, did.get(one.id, NOTHING_DONE)), scope) for one in seen]


def _change(
    here: Services, caller: Principal, objects: list[dict[str, Any]], filter_id: str
) -> Response:
    """`filter_id` is the id in the path, "" where the objects have theirs."""
    now_us = here.clock.now_us()
    changes: dict[str, dict[str, Any]] = {}
    checks: dict[str, Callable[[IngressFilter], None]] = {}
    accepted: dict[str, list[dict[str, str]]] = {}
    for given in objects:
        name = given.get("id", filter_id)
        if not isinstance(name, str) or not name or (filter_id and name != filter_id):
            raise BadRequestError(f"id: must be {filter_id!r}" if filter_id else "id: is missing")
        if name in changes:
            raise BadRequestError(f"id: {name[:80]!r} is there twice")
        changes[name] = changed_members(given)
        accepted[name] = accepted_blind(given)
        checks[name] = _check(given, changes[name], now_us)
        checked(IngressFilter(name, **changes[name]))
    user_id = id_of(here.database, caller.name)
    filters.change(here.database, changes, user_id, now_us, checks, accepted)
    here.filters.reload()
    return json_answer({"result": "success"})


def _check(
    given: dict[str, Any], members: dict[str, Any], now_us: int
) -> Callable[[IngressFilter], None]:
    """Refuses a change of what is not as it was, and an end that is over. What a filter did may
    be part of what was read, and is another number by now."""
    was = given.get("was")
    if isinstance(was, dict):
        settings = {name: value for name, value in was.items() if name not in MEASURED}
        given = {**given, "was": settings}
    stale = as_it_was(given, _settings)

    def check(known: IngressFilter) -> None:
        stale(known)
        check_expiry(members, known.expires_us, now_us)

    return check


def _settings(one: IngressFilter) -> dict[str, Any]:
    return filter_body(one)


def _new(objects: Sequence[dict[str, Any]], now_us: int) -> list[IngressFilter]:
    """In a thread: their patterns are compiled."""
    return [new_filter(one, now_us) for one in objects]


def _objects(body: Any) -> list[dict[str, Any]]:
    objects = body if isinstance(body, list) else [body]
    if not objects or not all(isinstance(one, dict) for one in objects):
        raise BadRequestError("the body must be an ingress filter or a list of them")
    return objects


def _is_visible(one: IngressFilter, caller: Principal, scope: Scope) -> bool:
    groups = caller.visible_groups
    if groups is None or one.is_global:
        return True
    return not groups.isdisjoint(one.group_ids) or any(map(scope.allows, one.sensor_ids))
