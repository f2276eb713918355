"""Pages of ingress filters: the events that they drop, and the detections that they blind."""

import re
from dataclasses import replace
from typing import Annotated, Any, Final

import re2
from anyio import to_thread
from fastapi import Depends, Request
from starlette.datastructures import QueryParams
from starlette.responses import Response

from vedette.errors import NotFoundError
from vedette.limits import Limit
from vedette.model.ingress_filter import EVENT_LISTS
from vedette.model.principal import Principal, Role
from vedette.model.scope import Scope
from vedette.record.answers import to_json
from vedette.record.objects.ingress_filter import IngressFilter
from vedette.respond.filters import fetched
from vedette.state.policy import filter_counts, filters, groups
from vedette.state.policy.filter_counts import NOTHING_DONE, hours_until
from vedette.state.sensors import sensor_list
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.page.render import render

FILTERS_COUNTED_MAX: Limit[int] = 500
"""Maximum filters of the list for which the console reads the blinded detections and the sensors
that have not fetched them."""


router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]


EVENTS: Final = ("filemod", "regmod", "netconn", "modload", "crossproc")
"""Kinds of events for which the console can begin a filter."""
_PATTERN: Final = re.compile(r"[*?\n\r]|^(?:\^|regex:|\s)|(?:\$|\s)$", re.ASCII)
"""Matches the parts of a path that would be read as a wildcard or an expression, or that a form
would lose."""

_NO_ADDRESS: Final = "0.0.0.0:"
"""Beginning of a connection's address that is unknown."""


@router.get("/ui/filters", right=Right.VIEW, summary="Ingress filters")
async def listed(request: Request, here: Here, scope: Within) -> Response:
    """Lists filters, the highest priority first, with a form for a new one. The parameters
    `cmdline`, `path` and `name` fill in the form as typed. `program`, with the `kind`, `value` and
    `line` of one of its events, fills in a filter for exactly this program or event. For a process
    start, the filter is for the started process."""
    caller = principal_of(request)
    params = request.query_params

    def work() -> dict[str, Any]:
        _, found = filters.load(here.database)
        shown = [one for one in found if _is_visible(one, caller, scope)]
        did = filter_counts.activity(here.database, here.clock.now_us())
        counted = shown[:FILTERS_COUNTED_MAX]
        ids = [one.id for one in counted]
        return {
            "filters": shown,
            "did": did,
            "nothing": NOTHING_DONE,
            "fetched": fetched(here.database, scope, counted),
            # The audit log is for global administrators.
            "blind": filters.blind_by(here.database, ids) if caller.is_global_admin else {},
        }

    sample = _sample(params)
    program, kind = sample["path"], sample["kind"]
    return render(
        request,
        "policy/filters.html",
        begun=_begun(params, **sample),
        of=re.split(r"[\\/]", program)[-1],
        kind=kind,
        sample={name: text for name, text in sample.items() if text},
        **await to_thread.run_sync(work),
    )


def _sample(params: QueryParams) -> dict[str, str]:
    """Returns the process and the event that a new filter should match."""
    kind, value = params.get("kind", ""), params.get("value", "")
    program, line = params.get("program", ""), params.get("line", "")
    if kind == "childproc" and value:
        return {"path": value, "cmdline": line, "kind": "", "value": ""}
    if kind not in EVENTS or not value or value.startswith(_NO_ADDRESS):
        return {"path": program, "cmdline": "", "kind": "", "value": ""}
    return {"path": program, "cmdline": "", "kind": kind, "value": value}


def _begun(params: QueryParams, path: str, cmdline: str, kind: str, value: str) -> IngressFilter:
    """Returns a new filter from the parameters of the page's address."""
    paths = [params.get("path", ""), _exactly(path) if _PATTERN.search(path) else path]
    lines = [params.get("cmdline", ""), _exactly(cmdline) if cmdline else ""]
    events: dict[str, Any] = {f"{kind}_filters": (_exactly(value),)} if kind else {}
    begun = IngressFilter(
        "",
        name=params.get("name", ""),
        path_filters=tuple(filter(None, paths)),
        cmdline_filters=tuple(filter(None, lines)),
        filter_all_events=not kind,
    )
    return replace(begun, **events)


def _exactly(text: str) -> str:
    """Returns a one-line regular expression that matches only this text."""
    escaped = re2.escape(text).replace("\n", "n").replace("\r", "r")
    return f"^{escaped}$"


@router.get("/ui/filters/{filter_id}", right=Right.VIEW, summary="An ingress filter")
async def one(filter_id: str, request: Request, here: Here, scope: Within) -> Response:
    """Shows a filter and the events it dropped; to users who may change it also the detections that
    it would blind."""
    caller = principal_of(request)

    def work() -> dict[str, Any]:
        found = filters.get(here.database, filter_id)
        if not _is_visible(found, caller, scope):
            raise NotFoundError(f"ingress filter {filter_id[:80]!r} not found")
        now_us = here.clock.now_us()
        names = {one.id: one.name for one in groups.all_groups(here.database)}
        return {
            "filter": found,
            "kept": _kept(found),
            "was": to_json(found),
            "did": filter_counts.activity(here.database, now_us).get(found.id, NOTHING_DONE),
            "hours": list(hours_until(now_us)),
            "groups": [names.get(one, str(one)) for one in found.group_ids if _sees(caller, one)],
            "sensors": sensor_list.some(here.database, scope, found.sensor_ids),
            "fetched": fetched(here.database, scope, [found]).get(found.id),
        }

    return render(
        request, "policy/filter.html", event_lists=EVENT_LISTS, **await to_thread.run_sync(work)
    )


def _kept(one: IngressFilter) -> dict[str, Any]:
    """Members of a filter that the form does not show. The check of a change needs the complete
    filter."""
    where = {"global": one.is_global, "group_ids": one.group_ids, "sensor_ids": one.sensor_ids}
    return where | {"os_mask": one.os_mask} | {name: getattr(one, name) for name in EVENT_LISTS}


def _sees(caller: Principal, group_id: int) -> bool:
    return caller.role_in(group_id) >= Role.VIEWER


def _is_visible(one: IngressFilter, caller: Principal, scope: Scope) -> bool:
    """Whether the caller sees the filter: it applies to all hosts, to one of their groups, or to a
    host that they see."""
    groups = caller.visible_groups
    if groups is None or one.is_global:
        return True
    return not groups.isdisjoint(one.group_ids) or any(map(scope.allows, one.sensor_ids))
