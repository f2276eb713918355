"""Routes of ingress filters, which drop telemetry before it is stored (docs/ingress-filters.md)."""

from collections.abc import Callable
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.errors import BadRequestError, NotFoundError
from vedette.ingest.filter import try_event
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed
from vedette.model.scope import Scope
from vedette.record.answers import many, to_json
from vedette.record.bodies import Sent, check_unchanged
from vedette.record.objects.ingress_filter import (
    FILTER,
    FILTER_CHANGE,
    LEGACY_FILTER,
    NEW_FILTER,
    FilterRequest,
    IngressFilter,
)
from vedette.state.accounts.users import id_of
from vedette.state.policy import filter_counts, filters
from vedette.state.policy.filter_counts import NOTHING_DONE
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.bodies.declared_bodies import json_bodies
from vedette.web.http.bodies.request_bodies import json_value
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import described, flag
from vedette.web.json.whole_counts import record_within
from vedette.web.policy.filter_trials_routes import trial_of, trial_with_progress
from vedette.web.policy.filters_json import (
    MEASURED,
    accepted_blind,
    check_expiry,
    checked,
    event_trial_body,
    new_filter,
    sample_event,
    set_members,
    with_activity,
)

router = Router(tags=["ingress filters"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[Any, Depends(json_value)]

_NEW: Final = json_bodies(NEW_FILTER, "an ingress filter")
_CHANGES: Final = json_bodies(FILTER_CHANGE, "an ingress filter")
New = Annotated[list[Sent[FilterRequest]], Depends(_NEW)]
Changes = Annotated[list[Sent[FilterRequest]], Depends(_CHANGES)]

_BASE: Final = "/api/v1/ingress_approvedlist"
_OLDER: Final = "/api/v1/ingress_whitelist"

_PROGRESS: Final = described(
    ("progress", "true: answers lines of JSON while it runs, the last of them the result")
)
_DRY_RUN: Final = described(
    ("dry_run", "true: store nothing, say what the filters would have dropped of the last day")
)


@router.get(_OLDER, right=Right.VIEW, summary="List ingress filters", response_model=many(FILTER))
@router.get(_BASE, right=Right.VIEW, summary="List ingress filters", response_model=many(FILTER))
def listed(here: Here, caller: Caller, scope: Within) -> Response:
    """Returns the filters for all hosts, and those for groups and hosts that the caller sees; the
    highest priority first."""
    return json_answer(_list(here, caller, scope))


@router.get(
    f"{_OLDER}/legacy",
    right=Right.VIEW,
    summary="List ingress filters in the older form",
    response_model=many(LEGACY_FILTER),
)
@router.get(
    f"{_BASE}/legacy",
    right=Right.VIEW,
    summary="List ingress filters in the older form",
    response_model=many(LEGACY_FILTER),
)
def legacy(here: Here, caller: Caller, scope: Within) -> Response:
    """Returns the list of filters. Each filter also has its command lines as
    `command_line_filters`."""
    found = _list(here, caller, scope)
    return json_answer([one | {"command_line_filters": one["cmdline_filters"]} for one in found])


@router.post(
    f"{_OLDER}/legacy",
    right=Deed.CHANGE_FILTERS,
    summary="Create ingress filters",
    openapi_extra=_DRY_RUN,
)
@router.post(
    f"{_BASE}/legacy",
    right=Deed.CHANGE_FILTERS,
    summary="Create ingress filters",
    openapi_extra=_DRY_RUN,
)
@router.post(
    _OLDER, right=Deed.CHANGE_FILTERS, summary="Create ingress filters", openapi_extra=_DRY_RUN
)
@router.post(
    _BASE, right=Deed.CHANGE_FILTERS, summary="Create ingress filters", openapi_extra=_DRY_RUN
)
async def create(request: Request, here: Here, caller: Caller, body: New) -> Response:
    """Creates the filters of a list, or a single filter, all or none; returns the list of their
    ids. `accepted_blind` lists blinded detections from a trial that the caller accepts (`kind`,
    `id`, optional `name`). The audit log keeps them in the entry of the filter. `dry_run` stores
    nothing and returns the effect on the last day."""
    now_us = here.clock.now_us()
    new = await to_thread.run_sync(_new, body, now_us)
    if len({one.id for one in new}) < len(new):
        raise BadRequestError("id: two filters have the same id")
    if flag(request.query_params, "dry_run"):
        return json_answer(await trial_of(request, here, new))

    def work() -> None:
        pairs = zip(new, body, strict=True)
        accepted = {one.id: accepted_blind(sent) for one, sent in pairs}
        filters.add(here.database, new, id_of(here.database, caller.name), now_us, accepted)
        here.filters.reload()

    await to_thread.run_sync(work)
    return json_answer([one.id for one in new])


@router.post(
    f"{_OLDER}/check",
    right=Deed.CHANGE_FILTERS,
    summary="Check ingress filters",
    openapi_extra=_PROGRESS,
)
@router.post(
    f"{_BASE}/check",
    right=Deed.CHANGE_FILTERS,
    summary="Check ingress filters",
    openapi_extra=_PROGRESS,
)
async def check(request: Request, here: Here, body: Body) -> Response:
    """Tries the filters in `filters` and stores nothing. Returns the events of the last day that
    they would have dropped and the detections that they would blind, like `dry_run`. With `sample`
    (a process, its parent and one event), returns only the entries that match the sample and what
    would be dropped of it. The trial ends when the client disconnects."""
    if not isinstance(body, dict) or not body.keys() <= {"filters", "sample"}:
        raise BadRequestError("the body must be an object with `filters` and optionally `sample`")
    now_us = here.clock.now_us()
    sent = await to_thread.run_sync(_NEW.check, body.get("filters"))
    new = await to_thread.run_sync(_new, sent, now_us)
    if "sample" not in body:
        if flag(request.query_params, "progress"):
            return await trial_with_progress(request, here, new)
        return json_answer(await trial_of(request, here, new))

    def work() -> list[dict[str, Any]]:
        sample = sample_event(body["sample"])
        return [event_trial_body(one.id, try_event(one, sample)) for one in new]

    return json_answer({"dry_run": True, "samples": await to_thread.run_sync(work)})


@router.put(f"{_OLDER}/legacy", right=Deed.CHANGE_FILTERS, summary="Change several ingress filters")
@router.put(f"{_BASE}/legacy", right=Deed.CHANGE_FILTERS, summary="Change several ingress filters")
@router.put(_OLDER, right=Deed.CHANGE_FILTERS, summary="Change several ingress filters")
@router.put(_BASE, right=Deed.CHANGE_FILTERS, summary="Change several ingress filters")
def change_all(here: Here, caller: Caller, body: Changes) -> Response:
    """Changes the filters of a list, each with its id, or a single filter; all or none.
    `accepted_blind` has the same meaning as in `POST`. Error 409 `changed_meanwhile`: a member of a
    filter differs from its value in `was`."""
    return _change(here, caller, body, "")


@router.delete(
    f"{_OLDER}/legacy", right=Deed.CHANGE_FILTERS, summary="Delete several ingress filters"
)
@router.delete(
    f"{_BASE}/legacy", right=Deed.CHANGE_FILTERS, summary="Delete several ingress filters"
)
def delete_all(here: Here, body: Body) -> Response:
    """Deletes filters, all or none. The body is a list of ids, or of filters with their ids."""
    given = body if isinstance(body, list) else [body]
    ids: list[Any] = [one.get("id") if isinstance(one, dict) else one for one in given]
    if not isinstance(body, list) or not ids or not all(isinstance(one, str) for one in ids):
        raise BadRequestError("the body must be a list of ids or of ingress filters with ids")
    if len(set(ids)) < len(ids):
        raise BadRequestError("id: duplicate id")
    filters.remove(here.database, ids)
    here.filters.reload()
    return json_answer({"result": "success"})


@router.get(
    f"{_OLDER}/{{filter_id}}",
    right=Right.VIEW,
    summary="Get an ingress filter",
    response_model=FILTER,
)
@router.get(
    f"{_BASE}/{{filter_id}}",
    right=Right.VIEW,
    summary="Get an ingress filter",
    response_model=FILTER,
)
def one(filter_id: str, here: Here, caller: Caller, scope: Within) -> Response:
    """Returns a filter with its hit rate over the last 15 minutes and the volume that it dropped in
    the last 24 hours."""
    found = filters.get(here.database, filter_id)
    if not _is_visible(found, caller, scope):
        raise NotFoundError(f"ingress filter {filter_id[:80]!r} not found")
    did = filter_counts.activity(here.database, here.clock.now_us())
    return json_answer(record_within(with_activity(found, did.get(found.id, NOTHING_DONE)), scope))


@router.put(
    f"{_OLDER}/{{filter_id}}", right=Deed.CHANGE_FILTERS, summary="Change an ingress filter"
)
@router.put(f"{_BASE}/{{filter_id}}", right=Deed.CHANGE_FILTERS, summary="Change an ingress filter")
def change(filter_id: str, here: Here, caller: Caller, body: Changes) -> Response:
    """Changes the given members of a filter. The body is the filter, or a list with only this
    filter. `accepted_blind` has the same meaning as in `POST`. Error 409 `changed_meanwhile`: a
    member differs from its value in `was`."""
    return _change(here, caller, body, filter_id)


@router.delete(
    f"{_OLDER}/{{filter_id}}", right=Deed.CHANGE_FILTERS, summary="Delete an ingress filter"
)
@router.delete(
    f"{_BASE}/{{filter_id}}", right=Deed.CHANGE_FILTERS, summary="Delete an ingress filter"
)
def delete(filter_id: str, here: Here) -> Response:
    """Deletes a filter. Telemetry that it dropped is lost."""
    filters.remove(here.database, [filter_id])
    here.filters.reload()
    return json_answer({"result": "success"})


def _list(here: Services, caller: Principal, scope: Scope) -> list[dict[str, Any]]:
    did = filter_counts.activity(here.database, here.clock.now_us())
    _, found = filters.load(here.database)
    seen = [one for one in found if _is_visible(one, caller, scope)]
    return [record_within(with_activity(one, did.get(one.id, NOTHING_DONE)), scope) for one in seen]


def _change(
    here: Services, caller: Principal, body: list[Sent[FilterRequest]], filter_id: str
) -> Response:
    """Changes filters. `filter_id` is the id in the path; "" if the objects in the body have
    ids."""
    now_us = here.clock.now_us()
    changes: dict[str, dict[str, Any]] = {}
    checks: dict[str, Callable[[IngressFilter], None]] = {}
    accepted: dict[str, list[dict[str, str]]] = {}
    for sent in body:
        name = sent.identity.get("id", filter_id)
        if not name or (filter_id and name != filter_id):
            raise BadRequestError(f"id: must be {filter_id!r}" if filter_id else "id: is required")
        if name in changes:
            raise BadRequestError(f"id: {name[:80]!r} is duplicated")
        changes[name] = set_members(sent)
        accepted[name] = accepted_blind(sent)
        checks[name] = _check(sent, now_us)
        checked(IngressFilter(name, **changes[name]))
    user_id = id_of(here.database, caller.name)
    filters.change(here.database, changes, user_id, now_us, checks, accepted)
    here.filters.reload()
    return json_answer({"result": "success"})


def _check(sent: Sent[FilterRequest], now_us: int) -> Callable[[IngressFilter], None]:
    """Returns a check that rejects a change of a stale record and an expiry in the past. Ignores
    measured members of `was`, because their values change between reads."""
    was = {name: value for name, value in sent.was.items() if name not in MEASURED}

    def check(known: IngressFilter) -> None:
        check_unchanged(was, to_json(known))
        check_expiry(sent.values, known.expires_us, now_us)

    return check


def _new(body: list[Sent[FilterRequest]], now_us: int) -> list[IngressFilter]:
    """Returns the filters to create. Call in a thread, because it compiles their patterns."""
    return [new_filter(sent, now_us) for sent in body]


def _is_visible(one: IngressFilter, caller: Principal, scope: Scope) -> bool:
    groups = caller.visible_groups
    if groups is None or one.is_global:
        return True
    return not groups.isdisjoint(one.group_ids) or any(map(scope.allows, one.sensor_ids))
