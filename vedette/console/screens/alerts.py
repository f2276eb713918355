"""The queue of alerts: grouped, one beside the list, its lineage."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Final
from urllib.parse import quote, urlencode
from zlib import crc32

import orjson
from fastapi import Depends, Request
from starlette.datastructures import QueryParams
from starlette.responses import Response

from vedette import limits
from vedette.api.http.access import may, principal_of, scope_of_request
from vedette.api.http.pages import PAGE_TAG
from vedette.api.http.route_rights import Right
from vedette.api.http.router import Router
from vedette.api.routes.search.processes import suppression_of
from vedette.api.routes.search.run import run_lookup, run_search
from vedette.api.schemas.parameters import whole_number
from vedette.api.schemas.search.alert import whole_alert_body
from vedette.api.schemas.search.tree import tree_body
from vedette.api.services import Services, services
from vedette.console.query_terms import phrase
from vedette.console.render import render
from vedette.console.screens.sensors import (
    PHASES,
    isolation_phases,
    knows_no_host,
    offset_of,
    why_not_isolated,
)
from vedette.console.time_range import label_of, time_range
from vedette.doctor.detection import lateness
from vedette.errors import NotFoundError, QueryError
from vedette.model.findings.alert import STATUSES, THOUSAND, AlertRow
from vedette.model.scope import Scope
from vedette.search.alerts import alert_search
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.lookup import Prevalence, prevalence
from vedette.search.search_request import SearchRequest, Sort
from vedette.search.tree.descendants import TreeRequest
from vedette.search.tree.tree import tree
from vedette.state.accounts import kept_views, users
from vedette.state.policy import rules, suppressions
from vedette.state.policy.sigma_rule import SigmaRule
from vedette.state.policy.suppressions import Suppression
from vedette.store.read.detection.alert_groups import AlertGroup, AlertGroups

router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]

OPEN: Final = '-status:Resolved -status:"False Positive"'
GROUPS: Final = {
    "rule": ("source", "source_id"),
    "host": ("hostname", "hostname"),
    "process": ("process_name", "process_name"),
    "user": ("username", "username"),
    "status": ("status", "status"),
    "assigned": ("assigned_to", "assigned_to"),
}
"""What the queue can be grouped by: the grouping of the search, and the field of its values."""

_FACETS: Final = ("status", "hostname", "assigned_to", "level")
_COLUMNS: Final = (
    *("id", "title", "alert_severity", "created_time", "hostname", "username", "process_name"),
    *("cmdline", "ioc_value", "assigned_to", "status", "source_id", "sensor_id"),
)
"""What the queue shows of an alert, and is grouped by."""

_SOURCES: Final = {"rule": "/ui/sigma/", "watchlist": "/ui/watchlists/", "feed": "/ui/feeds/"}
"""Where what made an alert has its page, by its kind."""

_SPANS: Final = ("-24h", "-7d", "-30d", "")


@dataclass(slots=True)
class Section:
    """A group of the queue with those of its alerts that this page has."""

    group: AlertGroup
    value: str
    query: str
    """That selects all of its alerts."""
    rows: list[AlertRow]
    parts: list["Section"] = field(default_factory=list)
    """Groups within it."""

    @property
    def key(self) -> str:
        """What the address calls it."""
        return f"{crc32(self.query.encode()):08x}"


@router.get("/ui/alerts", summary="The queue of alerts")
async def alerts(request: Request, here: Here, scope: Within) -> Response:
    params = request.query_params
    query = params.get("q", OPEN)
    span, made = _made(params.get("t", ""))
    levels = _levels(params)
    parts = tuple(("q", part) for part in (query, f"created_time:{made}" if made else "") if part)

    page_rows = limits.ALERTS_NESTED_PAGE if levels[1:] else limits.ALERTS_PAGE
    rows = (limits.ALERT_SECTIONS, limits.ALERT_INNER_SECTIONS)
    if len(levels) == limits.ALERT_GROUP_FIELDS_MAX:
        rows = (limits.ALERT_SECTIONS_OF_THREE_LEVELS,) * 2
    order = _order(params)
    caller = principal_of(request)

    def work(engine: BoundedEngine) -> dict[str, Any]:
        now_us = here.clock.now_us()
        return answer(engine, now_us) | {
            "since_ms": _last_visit_ms(here, caller.name, now_us),
            "suppressions": _in_force(here, now_us) if may(caller, Right.VIEW) else [],
        }

    def answer(engine: BoundedEngine, now_us: int) -> dict[str, Any]:
        wanted = SearchRequest(parts, page_rows, 0, order, facets=_FACETS, columns=_COLUMNS)
        try:
            # While the page is searched.
            outer = engine.query_pool.submit(
                _groups, engine, scope, parts, levels[:1], here, now_us, rows[0]
            )
            try:
                found = alert_search.search(
                    engine, scope, wanted, here.settings, now_us, engine.cancel
                )
                inner = [
                    _groups(engine, scope, parts, levels[: depth + 1], here, now_us, rows[1])
                    for depth in range(1, len(levels))
                ]
            finally:
                groups = outer.result()
        except QueryError as error:
            return {"problem": error, "found": None, "sections": [], "groups_total": 0}
        if not found.total:
            empty = {"problem": None, "found": found, "is_empty": knows_no_host(here, scope)}
            life = _sign_of_life(engine, here, scope, now_us) if query == OPEN else {}
            return {**empty, **life, "sections": [], "groups_total": 0}
        sections = _sections([groups, *inner], found.rows, levels)
        return {
            "problem": None,
            "found": found,
            "sections": sections,
            "isolated": isolation_phases(here, scope, [row["sensor_id"] for row in found.rows]),
            "groups_total": groups.total,
            "inner_cut": [
                (len(one.groups), one.total) for one in inner if one.total > len(one.groups)
            ],
        }

    values = await run_search(request, here, work)
    return render(
        request,
        "screens/alerts.html",
        q=query,
        t=span,
        made=made,
        label_of=label_of,
        levels=levels,
        spans=_SPANS,
        groups=list(GROUPS),
        narrows={field: one for one, (_, field) in GROUPS.items()},
        statuses=STATUSES,
        phases=PHASES,
        thousand=THOUSAND,
        default_query=OPEN,
        page_rows=page_rows,
        sort=",".join(f"{one.field} desc" for one in order),
        export=export_call(
            here.settings.org_key, query, span, getattr(values["found"], "total", None)
        ),
        export_rows=limits.ALERT_V7_ROWS_MAX,
        **values,
    )


@router.get("/ui/_/alerts/changes", summary="What changed in the queue since a time")
async def changes(request: Request, here: Here, scope: Within) -> Response:
    params = request.query_params
    since_ms = whole_number(params, "since", 0)
    by = ",".join(_levels(params))

    def work(engine: BoundedEngine) -> Sequence[tuple[str, str, int]]:
        now_us = here.clock.now_us()
        return _changes(engine, here, scope, min(since_ms, now_us // 1_000), now_us)

    found = await run_search(request, here, work)
    return render(request, "fragments/alerts/changes.html", changes=found, by=by)


@router.get("/ui/_/alerts/{alert_id}", summary="An alert beside the queue")
async def one(alert_id: str, request: Request, here: Here, scope: Within) -> Response:
    def work(engine: BoundedEngine) -> dict[str, Any]:
        row = alert_search.alert(engine, scope, alert_id)
        now_us = here.clock.now_us()

        def count(query: str) -> int:
            asked = SearchRequest(
                (("q", query),), 0, 0, (Sort("created_time", is_descending=True),)
            )
            return alert_search.search(engine, scope, asked, here.settings, now_us).total

        return {
            "alert": row,
            "body": whole_alert_body(row),
            "why": why_not_isolated(request, here, scope, row["sensor_id"]),
            "offset": offset_of(here, scope, row["sensor_id"]),
            "of_rule": count(phrase("source_id", row["source_id"])) if row["source_id"] else 0,
            "of_host": count(phrase("hostname", row["hostname"])) if row["hostname"] else 0,
            "source": _SOURCES.get(row["source_kind"], ""),
            "rule": _rule_of(here, row),
        }

    found = await run_lookup(request, here, work)
    return render(
        request,
        "fragments/alerts/one.html",
        thousand=THOUSAND,
        kept=limits.ALERT_RULE_CHARS_MAX,
        **found,
    )


def _rule_of(here: Services, row: AlertRow) -> SigmaRule | None:
    """The rule that made an alert, as it is now; None where it is gone, or no rule made it."""
    if row["source_kind"] == "rule":
        with suppress(NotFoundError):
            return rules.get(here.database, row["source_id"])
    return None


@router.get("/ui/_/alerts/{alert_id}/lineage", summary="The lineage of an alert's process")
async def lineage(alert_id: str, request: Request, here: Here, scope: Within) -> Response:
    def work(engine: BoundedEngine) -> dict[str, Any] | None:
        row = alert_search.alert(engine, scope, alert_id)
        if not row["process_id"]:
            return None
        wanted = TreeRequest(depth=limits.LINEAGE_DEPTH, max_nodes=limits.LINEAGE_NODES)
        try:
            return tree_body(tree(engine, scope, row["process_id"], wanted, suppression_of(here)))
        except NotFoundError:
            return None

    found = await run_lookup(request, here, work)
    rows = [] if found is None else _lines(found)
    is_cut = found is not None and not found["is_complete"]
    return render(request, "fragments/alerts/lineage.html", rows=rows, is_cut=is_cut)


@router.get("/ui/_/alerts/{alert_id}/prevalence", summary="How common what an alert names is")
async def how_common(alert_id: str, request: Request, here: Here, scope: Within) -> Response:
    def work(engine: BoundedEngine) -> list[tuple[str, Prevalence]]:
        row = alert_search.alert(engine, scope, alert_id)
        now_us = here.clock.now_us()
        named = [(row["ioc_type"], row["ioc_type"], row["ioc_value"])]
        if row["md5"] and row["md5"] != row["ioc_value"]:
            named.append(("", "md5", row["md5"]))
        found = [
            (label, prevalence(engine, scope, kind, value, here.settings, now_us))
            for label, kind, value in named
        ]
        return [(label, one) for label, one in found if one is not None]

    found = await run_search(request, here, work)
    return render(request, "fragments/alerts/prevalence.html", found=found)


def export_call(org: str, query: str, span: str, total: int | None) -> dict[str, str]:
    """The call of alert search v7 that has all alerts of the page's filter: its `path` and `body`;
    or `why` there is none. `total`: how many those are, None where the query cannot be read."""
    if total is None:
        return {"why": "unread"}
    if total > limits.ALERT_V7_ROWS_MAX:
        return {"why": "many"}
    body = {
        # A query of v7 is stored text: with these characters it could be read as an address.
        "query": urlencode({"q": query}) if set(query) & {"%", "="} else query,
        "time_range": _range(span),
        "rows": limits.ALERT_V7_ROWS_MAX,
        "sort": [{"field": "backend_timestamp", "order": "ASC"}],
    }
    path = f"/api/alerts/v7/orgs/{quote(org, safe='')}/alerts/_search"
    return {"path": path, "body": orjson.dumps(body).decode()}


def _lines(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The processes from the oldest ancestor down, each child below its parent, with their level
    on the page."""
    above = list(reversed(body["ancestors"]))
    lines = [one | {"level": level} for level, one in enumerate(above)]
    children: dict[str, list[dict[str, Any]]] = {}
    for node in body["nodes"]:
        children.setdefault(node["parent_id"], []).append(node)
    root = next((one for one in body["nodes"] if one["depth"] == 0), None)
    waiting = [(root, len(above))] if root is not None else []
    while waiting:
        node, level = waiting.pop()
        lines.append(node | {"level": level})
        below = [one for one in children.get(node["id"], []) if one["depth"] > node["depth"]]
        waiting += [(one, level + 1) for one in reversed(below)]
    return lines


def _last_visit_ms(here: Services, name: str, now_us: int) -> int:
    """When a reader was at the queue before this visit; 0 where that is not known. Their browser
    keeps it: the end of the visit before, and when the queue was last opened or changed."""
    with here.database.reading() as connection:
        body = orjson.loads(kept_views.preferences(connection, users.id_of(here.database, name)))
    kept = body.get("visit") if isinstance(body, dict) else None
    found = re.fullmatch(r"(\d{1,14}) (\d{1,14})", kept) if isinstance(kept, str) else None
    if found is None:
        return 0
    before, last = int(found[1]), int(found[2])
    is_new = now_us // 1_000 - last > limits.VISIT_GAP_S * 1_000
    return min(last if is_new else before, now_us // 1_000)


def _changes(
    engine: BoundedEngine, here: Services, scope: Scope, since_ms: int, now_us: int
) -> Sequence[tuple[str, str, int]]:
    """What changed since then, of all alerts that a reader sees: what, its query, and how many."""
    then = datetime.fromtimestamp(since_ms // 1_000, UTC).strftime("[%Y-%m-%dT%H:%M:%SZ TO *]")
    new, closed = f"created_time:{then}", f"resolved_time:{then}"
    parts = (
        ("new", new),
        ("closed", f"{closed} -status:Unresolved"),
        ("changed", f"updated_time:{then} -{new} -{closed}"),
    )
    found = []
    for what, query in parts:
        asked = SearchRequest((("q", query),), 0, 0, (Sort("created_time", is_descending=True),))
        results = alert_search.search(engine, scope, asked, here.settings, now_us, engine.cancel)
        found.append((what, query, results.total))
    return found


def _sign_of_life(
    engine: BoundedEngine, here: Services, scope: Scope, now_us: int
) -> dict[str, Any]:
    """That nothing is open is good news where something would be: when the last alert was made, and
    how far detection is behind."""
    newest = SearchRequest((), 1, 0, (Sort("created_time", is_descending=True),))
    last = alert_search.search(engine, scope, newest, here.settings, now_us, engine.cancel)
    late = [behind_us for _, behind_us in lateness(here.engine, here.database, now_us)]
    return {
        "last_us": last.rows[0]["created_time"] if last.rows else 0,
        "late_s": max(late, default=0) // 1_000_000,
    }


def _range(span: str) -> dict[str, str]:
    """Of alert search v7."""
    since, is_two, until = span.partition("..")
    if is_two:
        return {"start": since or "1970-01-01T00:00:00.000Z"} | ({"end": until} if until else {})
    return {"range": span} if span else {"start": "1970-01-01T00:00:00.000Z"}


def _made(text: str) -> tuple[str, str]:
    """The time within which alerts were made, as the address has it, and as a condition. Raises
    BadRequestError."""
    if text in _SPANS:
        return text, f"[{text} TO *]" if text else ""
    return (text, time_range(text, 0).condition) if ".." in text else ("", "")


def _in_force(here: Services, now_us: int) -> list[Suppression]:
    """What makes no alerts now, the newest first."""
    with here.database.reading() as connection:
        found = suppressions.all_rules(connection)
    return sorted((one for one in found if one.holds(now_us)), key=lambda one: -one.created_us)


def _order(params: QueryParams) -> tuple[Sort, ...]:
    if params.get("sort") == "newest":
        return (Sort("created_time", is_descending=True),)
    return Sort("alert_severity", is_descending=True), Sort("created_time", is_descending=True)


def _levels(params: QueryParams) -> tuple[str, ...]:
    """What the queue is grouped by, groups within groups: `by=rule&then=host&last=user`, and also
    `by=rule,host,user`."""
    first, *more = params.get("by", "rule").split(",")
    wanted = [first if first in GROUPS else "rule", *more]
    wanted += [params.get(name, "") for name in ("then", "last")]
    known = tuple(dict.fromkeys(one for one in wanted if one in GROUPS))
    return known[: limits.ALERT_GROUP_FIELDS_MAX]


def _groups(
    engine: BoundedEngine,
    scope: Scope,
    parts: tuple[tuple[str, str], ...],
    levels: Sequence[str],
    here: Services,
    now_us: int,
    rows: int,
) -> AlertGroups:
    """The gravest groups of a level, the last of those named."""
    wanted = SearchRequest(parts, rows, 0, (Sort("severity", is_descending=True),))
    names = ",".join(GROUPS[one][0] for one in levels)
    return alert_search.groups(engine, scope, wanted, names, here.settings, now_us)


def _sections(
    groups: Sequence[AlertGroups], rows: Sequence[AlertRow], levels: Sequence[str]
) -> list[Section]:
    """The groups of each level within those of the level above; alerts are in the innermost."""
    fields = [GROUPS[one][1] for one in levels]
    outermost: list[Section] = []
    places: dict[tuple[str, ...], Section] = {}
    for depth, found in enumerate(groups):
        for group in found.groups:
            key = tuple(str(group.values.get(field, "")) for field in fields[: depth + 1])
            if key in places or (depth and key[:-1] not in places):
                continue
            section = places[key] = _section(group, key[-1], fields[depth])
            if depth:
                above = places[key[:-1]]
                section.query = f"({above.query}) ({section.query})"
                above.parts.append(section)
            else:
                outermost.append(section)
    for row in rows:
        key = tuple(str(row[field]) for field in fields)
        if (place := places.get(key)) is not None:
            place.rows.append(row)
    return outermost


def _section(group: AlertGroup, value: str, field: str) -> Section:
    return Section(group, value, phrase(field, value), [])
