"""The home page: open work, and problems of the server. Each tile loads separately, so that a tile
that fails or is not permitted does not affect the others."""

from functools import partial
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl, urlencode

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.errors import BadRequestError, ForbiddenError
from vedette.limits import Limit
from vedette.model.findings.alert import THOUSAND
from vedette.model.principal import Role
from vedette.model.scope import Scope
from vedette.record.objects.sensor_group import Group
from vedette.search.alerts import alert_search
from vedette.search.alerts.host_risk import host_risk
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.processes.histogram import HistogramRequest, process_histogram
from vedette.search.search_request import SearchRequest, Sort
from vedette.state.accounts import audit_trail
from vedette.state.policy import groups
from vedette.state.sensors import sensor_list
from vedette.state.sensors.sensor_list import SensorQuery
from vedette.store.partitions.lifecycle import list_partitions
from vedette.store.read.detection.alert_groups import AlertGroups
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.health_summary import disk, health_summary
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_search
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import ID_MAX, bounded_number
from vedette.web.page.histogram import HEIGHT, bars_of, stacks_of
from vedette.web.page.query_terms import phrase
from vedette.web.page.render import render
from vedette.web.page.severity import LEVELS, level_of
from vedette.web.page.time_range import TimeRange, label_of, time_range

HOME_BARS_MAX: Limit[int] = 60
"""Bars of a chart on the home page. On a phone, more bars would be narrower than the gaps between
them."""


router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]


def scope_of_tile(
    request: Request, here: Here, scope: Annotated[Scope, Depends(scope_of_request)]
) -> Scope:
    """Returns the reader's scope, limited to a sensor group if the address names one. Raises
    BadRequestError for an invalid id."""
    group = request.query_params.get("group", "")
    if not group:
        return scope
    wanted = SensorQuery(group_id=bounded_number("group", group, most=ID_MAX))
    return Scope(frozenset(sensor_list.ids(here.database, scope, wanted, here.clock.now_us())))


Within = Annotated[Scope, Depends(scope_of_tile)]

OPEN_ALERTS: Final = '-status:Resolved -status:"False Positive"'
_TILES: Final = ("alerts", "over-time", "rules", "hosts", "starts", "sensors")
_TILES_OF_ADMINISTRATORS: Final = ("storage", "changes", "health")
PERIODS: Final = ("-24h", "-7d", "-30d")
_HOUR_US: Final = 3600 * 1_000_000
_WIDTHS_US: Final = tuple(hours * _HOUR_US for hours in (1, 6, 24, 7 * 24, 28 * 24))


@router.get("/ui/", right=Right.READ, summary="Show the home page")
async def home(request: Request, here: Here) -> Response:
    """`group` is the id of a sensor group to limit all counts to; `t` is the time range of the
    charts."""
    caller = principal_of(request)
    found = await to_thread.run_sync(groups.all_groups, here.database)
    seen = [one for one in found if caller.role_in(one.id) >= Role.VIEWER]
    group = request.query_params.get("group", "")
    chosen = next((one for one in seen if str(one.id) == group), None)
    is_admin = caller.is_global_admin and chosen is None
    tiles = _TILES + (_TILES_OF_ADMINISTRATORS if is_admin else ())
    period = _period(request, here)
    asked = {"group": str(chosen.id) if chosen else "", "t": period.text}
    return render(
        request,
        "server/home.html",
        tiles=tiles,
        groups=seen,
        chosen=chosen,
        asked=urlencode({name: value for name, value in asked.items() if value}),
        period=period,
        periods=PERIODS,
        label_of=label_of,
    )


@router.get("/ui/_/home/alerts", right=Right.READ, summary="Show open alerts by severity")
async def alerts(request: Request, here: Here, scope: Within) -> Response:
    name = principal_of(request).name

    def work(engine: BoundedEngine) -> dict[str, Any]:
        now_us = here.clock.now_us()
        found = alert_search.search(
            engine, scope, _open(facets=("alert_severity", "assigned_to")), here.settings, now_us
        )
        oldest = alert_search.search(
            engine, scope, _open(query=f"{OPEN_ALERTS} -assigned_to:*"), here.settings, now_us
        )
        counts = dict.fromkeys(LEVELS, 0)
        for severity, count in found.facets["alert_severity"]:
            counts[level_of(float(severity))] += count
        assigned = dict(found.facets["assigned_to"])
        unassigned = found.total - sum(assigned.values())
        return {
            "counts": counts,
            "total": found.total,
            "open": OPEN_ALERTS,
            "mine": assigned.get(name, 0),
            "unassigned": unassigned,
            "oldest_us": oldest.rows[0]["created_time"] if oldest.rows else 0,
            "is_incomplete": found.is_incomplete,
        }

    return await _tile(request, here, "alerts", **await run_search(request, here, work))


@router.get(
    "/ui/_/home/rules", right=Right.READ, summary="Show the sources of the most severe open alerts"
)
async def rules(request: Request, here: Here, scope: Within) -> Response:
    def work(engine: BoundedEngine) -> dict[str, Any]:
        return {"found": _grouped(engine, here, scope, "title")}

    found = await run_search(request, here, work)
    return await _tile(request, here, "rules", thousand=THOUSAND, open=OPEN_ALERTS, **found)


@router.get("/ui/_/home/over-time", right=Right.READ, summary="Show alerts over time")
async def over_time(request: Request, here: Here, scope: Within) -> Response:
    period = _period(request, here)
    until_us = period.until_us or here.clock.now_us()
    width_us = _width_us(until_us - period.since_us)

    def work(engine: BoundedEngine) -> dict[str, Any]:
        newest = (Sort("created_time", is_descending=True),)
        made = f"created_time:{period.condition}"
        asked = SearchRequest((("q", made),), 0, 0, newest)
        counts = alert_search.over_time(engine, scope, asked, width_us, here.settings, until_us)
        return {"found": stacks_of(counts, period.since_us, until_us, width_us)}

    found = await run_search(request, here, work)
    shown = {"levels": LEVELS, "height": HEIGHT, "hours": width_us // _HOUR_US}
    return await _tile(
        request, here, "over_time", **found, **shown, **_over(period), until_us=until_us
    )


@router.get("/ui/_/home/starts", right=Right.READ, summary="Show process starts over time")
async def starts(request: Request, here: Here, scope: Within) -> Response:
    period = _period(request, here)

    def work(engine: BoundedEngine) -> dict[str, Any]:
        now_us = here.clock.now_us()
        began = Sort("start", is_descending=True)
        asked = SearchRequest((("q", f"start:{period.condition}"),), 0, 0, (began,), group="id")
        until_us = period.until_us or now_us
        wanted = HistogramRequest(asked, "start", period.since_us, until_us)
        found = process_histogram(engine, scope, wanted, here.settings, now_us, engine.cancel)
        return {"bars": bars_of(found), "total": sum(count for _, count in found.counts)}

    found = await run_search(request, here, work)
    return await _tile(request, here, "starts", height=HEIGHT, **found, **_over(period))


def _period(request: Request, here: Services) -> TimeRange:
    """Returns the time range in the address. Raises BadRequestError if it is invalid or has no
    start."""
    period = time_range(request.query_params.get("t") or PERIODS[0], here.clock.now_us())
    if not period.since_us:
        raise BadRequestError("t: needs a beginning, such as -7d")
    return period


def _width_us(span_us: int) -> int:
    """Returns the width of a chart's bars: the smallest that does not exceed the maximum number of
    bars."""
    fitting = (one for one in _WIDTHS_US if span_us <= one * HOME_BARS_MAX)
    return next(fitting, -(-span_us // HOME_BARS_MAX))


def _over(period: TimeRange) -> dict[str, Any]:
    """Returns the values that describe a chart's time range. Links keep a relative range
    relative."""
    is_relative = period.text.startswith("-")
    asked = f"[{period.text} TO *]" if is_relative else period.condition
    return {"period": period, "condition": asked, "label_of": label_of}


@router.get(
    "/ui/_/home/hosts",
    right=Right.READ,
    summary="Show the hosts with most open alerts, and their risk",
)
async def hosts(request: Request, here: Here, scope: Within) -> Response:
    def work(engine: BoundedEngine) -> dict[str, Any]:
        found = _grouped(engine, here, scope, "host")
        now_us = here.clock.now_us()
        risks = [
            host_risk(engine, scope, one.values["sensor_id"], now_us).score for one in found.groups
        ]
        rows = sorted(zip(found.groups, risks, strict=True), key=lambda one: -one[1])
        return {"found": found, "rows": rows}

    found = await run_search(request, here, work)
    return await _tile(request, here, "hosts", thousand=THOUSAND, open=OPEN_ALERTS, **found)


@router.get("/ui/_/home/sensors", right=Right.READ, summary="Show sensors")
async def sensors(request: Request, here: Here, scope: Within) -> Response:
    def work() -> dict[str, Any]:
        now_us = here.clock.now_us()
        totals = sensor_list.totals(here.database, scope, now_us)
        moving = sensor_list.troubles(here.database, scope)
        return {"totals": totals, "silent": totals.sensors - totals.active, "moving": moving}

    return await _tile(request, here, "sensors", **await to_thread.run_sync(work))


@router.get("/ui/_/home/storage", right=Right.READ, summary="Show storage")
async def storage(request: Request, here: Here) -> Response:
    if not principal_of(request).is_global_admin:
        raise ForbiddenError("only global administrators can see storage")

    def work() -> dict[str, Any]:
        partitions = list_partitions(here.engine)
        return {
            "rows": sum(one.row_count for one in partitions),
            "disk": disk(here),
            "takes": here.ingest_queue.available,
        }

    return await _tile(request, here, "storage", **await to_thread.run_sync(work))


@router.get("/ui/_/home/changes", right=Right.READ, summary="Show the latest changes")
async def changes(request: Request, here: Here) -> Response:
    if not principal_of(request).is_global_admin:
        raise ForbiddenError("only global administrators can see changes")
    wanted = audit_trail.Search(rows=limits.HOME_ROWS)
    _, entries = await to_thread.run_sync(audit_trail.search, here.database, wanted)
    return await _tile(request, here, "changes", entries=entries)


@router.get("/ui/_/home/health", right=Right.READ, summary="Show the health of background work")
async def health(request: Request, here: Here) -> Response:
    if not principal_of(request).is_global_admin:
        raise ForbiddenError("only global administrators can see background work")
    found = await to_thread.run_sync(health_summary, here)
    return await _tile(request, here, "health", health=found)


async def _tile(request: Request, here: Services, name: str, **values: Any) -> Response:
    """Renders a tile, whose links lead to the objects that it counts."""
    text = request.query_params.get("group", "")
    found = await to_thread.run_sync(groups.get, here.database, int(text)) if text else None
    within = partial(_within, found)
    return render(request, f"server/home/{name}.html", within=within, **values)


def _within(group: Group | None, href: str) -> str:
    """Returns the address of a list, limited to the hosts of a sensor group."""
    if group is None:
        return href
    path, _, query = href.partition("?")
    pairs = dict(parse_qsl(query, keep_blank_values=True))
    if path == "/ui/sensors":
        pairs["group"] = str(group.id)
    else:
        asked = pairs.get("q", OPEN_ALERTS if path == "/ui/alerts" else "")
        pairs["q"] = f"{asked} {phrase('group', group.name)}".strip()
    return f"{path}?{urlencode(pairs)}"


def _grouped(engine: BoundedEngine, here: Services, scope: Scope, by: str) -> AlertGroups:
    wanted = _open(rows=limits.HOME_ROWS, sort=Sort("severity", is_descending=True))
    return alert_search.groups(engine, scope, wanted, by, here.settings, here.clock.now_us())


def _open(
    *,
    rows: int = 1,
    sort: Sort | None = None,
    facets: tuple[str, ...] = (),
    query: str = OPEN_ALERTS,
) -> SearchRequest:
    oldest = Sort("created_time", is_descending=False)
    return SearchRequest((("q", query),), rows, 0, (sort or oldest,), facets=facets)
