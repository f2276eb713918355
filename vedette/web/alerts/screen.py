"""The alert queue: grouped alerts, details of an alert, the lineage of its process."""

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
from vedette.doctor.detection import lateness
from vedette.errors import NotFoundError, QueryError
from vedette.limits import Limit
from vedette.model.findings.alert import STATUSES, THOUSAND, AlertRow
from vedette.model.scope import Scope
from vedette.record.objects.suppression import Suppression
from vedette.search.alerts import alert_search
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.lookup import Prevalence, prevalence
from vedette.search.search_request import SearchRequest, Sort
from vedette.search.tree.descendants import TreeRequest
from vedette.search.tree.tree import tree
from vedette.state.accounts import kept_views, users
from vedette.state.policy import rules, suppressions
from vedette.state.policy.sigma_rule import SigmaRule
from vedette.store.read.detection.alert_groups import AlertGroup, AlertGroups
from vedette.web.alerts.hits_screen import has_hits
from vedette.web.alerts.models import whole_alert_body
from vedette.web.fleet.screen import PHASES, hosts_of, isolation_of, knows_no_host, offset_of
from vedette.web.http.access import holds, principal_of, scope_of_request
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_lookup, run_search
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import whole_number
from vedette.web.json.wire_values import milli_instant
from vedette.web.page.query_terms import phrase
from vedette.web.page.render import render
from vedette.web.page.time_range import label_of, time_range
from vedette.web.processes.analysis.tree_json import tree_body
from vedette.web.processes.routes import suppression_of

ALERTS_PAGE: Limit[int] = 100
"""Alerts on a page of the queue; groups show their total. A page has at most 2,500 elements, which
a browser renders within a tenth of a second."""

ALERTS_NESTED_PAGE: Limit[int] = 50
"""Alerts on a page with nested groups."""

VISIT_GAP_S: Limit[int] = 1_800
"""Seconds of absence from the queue after which opening it counts as a new visit."""

ALERT_SECTIONS: Limit[int] = 45
"""Groups on a page of the queue, most severe first."""

ALERT_INNER_SECTIONS: Limit[int] = 45
"""Nested groups on a page of the queue, most severe first."""

ALERT_SECTIONS_OF_THREE_LEVELS: Limit[int] = 28
"""Groups per level if there are three levels."""

LINEAGE_DEPTH: Limit[int] = 3
"""Generations up and down of a process's lineage next to an alert; process analysis shows all."""

LINEAGE_NODES: Limit[int] = 40
"""Processes in the lineage next to an alert."""

RECORD_TOLERANCE_US: Limit[int] = 60 * 1_000_000
"""Microseconds before and after the events of an alert within which its event records are listed:
the server corrects clocks when it stores a record."""


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
"""Maps grouping of the queue to the grouping of the search and the field of its values."""
GROUP_LABELS: Final = {one: "assignee" if one == "assigned" else one for one in GROUPS}
"""Maps grouping of the queue to its label."""

_FACETS: Final = ("status", "hostname", "assigned_to", "level")
_COLUMNS: Final = (
    "id",
    "title",
    "alert_severity",
    "created_time",
    "hostname",
    "username",
    "process_name",
    "cmdline",
    "ioc_value",
    "assigned_to",
    "status",
    "source_id",
    "sensor_id",
)
"""Alert columns that the queue shows or groups by."""

_SOURCES: Final = {"rule": "/ui/sigma/", "watchlist": "/ui/watchlists/", "feed": "/ui/feeds/"}
"""Maps kind of source to the address of its pages."""

_SPANS: Final = ("-24h", "-7d", "-30d", "")


@dataclass(slots=True)
class Section:
    """A group of the queue with its alerts on this page."""

    group: AlertGroup
    value: str
    query: str
    """Query that selects all alerts of the group."""
    rows: list[AlertRow]
    parts: list["Section"] = field(default_factory=list)
    """Nested groups."""

    @property
    def key(self) -> str:
        """Id of the group in the page's address."""
        return f"{crc32(self.query.encode()):08x}"


@router.get("/ui/alerts", right=Right.READ, summary="Show the alert queue")
async def alerts(request: Request, here: Here, scope: Within) -> Response:
    params = request.query_params
    query = params.get("q", OPEN)
    span, made = _made(params.get("t", ""))
    levels = _levels(params)
    parts = tuple(("q", part) for part in (query, f"created_time:{made}" if made else "") if part)

    page_rows = ALERTS_NESTED_PAGE if levels[1:] else ALERTS_PAGE
    rows = (ALERT_SECTIONS, ALERT_INNER_SECTIONS)
    if len(levels) == limits.ALERT_GROUP_FIELDS_MAX:
        rows = (ALERT_SECTIONS_OF_THREE_LEVELS,) * 2
    order = _order(params)
    caller = principal_of(request)

    def work(engine: BoundedEngine) -> dict[str, Any]:
        now_us = here.clock.now_us()
        return answer(engine, now_us) | {
            "since_ms": _last_visit_ms(here, caller.name, now_us),
            "suppressions": _in_force(here, now_us) if holds(caller, Right.VIEW) else [],
        }

    def answer(engine: BoundedEngine, now_us: int) -> dict[str, Any]:
        wanted = SearchRequest(parts, page_rows, 0, order, facets=_FACETS, columns=_COLUMNS)
        try:
            # Runs concurrently with the search for the page.
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
            "hosts": hosts_of(here, scope, [row["sensor_id"] for row in found.rows]),
            "groups_total": groups.total,
            "inner_cut": [
                (len(one.groups), one.total) for one in inner if one.total > len(one.groups)
            ],
        }

    values = await run_search(request, here, work)
    return render(
        request,
        "alerts/alerts.html",
        q=query,
        t=span,
        made=made,
        label_of=label_of,
        levels=levels,
        spans=_SPANS,
        groups=GROUP_LABELS,
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


@router.get(
    "/ui/_/alerts/changes", right=Right.READ, summary="Count changes in the queue since a time"
)
async def changes(request: Request, here: Here, scope: Within) -> Response:
    params = request.query_params
    since_ms = whole_number(params, "since", 0)
    by = ",".join(_levels(params))

    def work(engine: BoundedEngine) -> Sequence[tuple[str, str, int]]:
        now_us = here.clock.now_us()
        return _changes(engine, here, scope, min(since_ms, now_us // 1_000), now_us)

    found = await run_search(request, here, work)
    return render(request, "alerts/changes.html", changes=found, by=by)


@router.get("/ui/_/alerts/{alert_id}", right=Right.READ, summary="Show an alert next to the queue")
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
            **isolation_of(request, here, scope, row["sensor_id"]),
            "offset": offset_of(here, scope, row["sensor_id"]),
            "of_rule": count(phrase("source_id", row["source_id"])) if row["source_id"] else 0,
            "of_host": count(phrase("hostname", row["hostname"])) if row["hostname"] else 0,
            "source": _SOURCES.get(row["source_kind"], ""),
            "rule": _rule_of(here, row),
            "records_url": _records_url(row),
        }

    found = await run_lookup(request, here, work)
    return render(
        request,
        "alerts/alert.html",
        thousand=THOUSAND,
        kept=limits.ALERT_RULE_CHARS_MAX,
        has_hits=has_hits(found["alert"]),
        **found,
    )


def _records_url(row: AlertRow) -> str:
    """The address of the event records of an alert without a process: those of its host around its
    events; "" where there are none."""
    first_us, last_us = row["first_event_time"], row["last_event_time"]
    if row["process_id"] or not row["sensor_id"] or not first_us:
        return ""
    since, until = first_us - RECORD_TOLERANCE_US, max(first_us, last_us) + RECORD_TOLERANCE_US
    span = f"{milli_instant(since)}..{milli_instant(until)}"
    return "/ui/log?" + urlencode({"q": f"sensor_id:{row['sensor_id']}", "t": span})


def _rule_of(here: Services, row: AlertRow) -> SigmaRule | None:
    """Returns the current version of the rule that created an alert; None if the rule was deleted
    or the alert has another source."""
    if row["source_kind"] == "rule":
        with suppress(NotFoundError):
            return rules.get(here.database, row["source_id"])
    return None


@router.get(
    "/ui/_/alerts/{alert_id}/lineage",
    right=Right.READ,
    summary="Show the lineage of an alert's process",
)
async def lineage(alert_id: str, request: Request, here: Here, scope: Within) -> Response:
    def work(engine: BoundedEngine) -> dict[str, Any] | None:
        row = alert_search.alert(engine, scope, alert_id)
        if not row["process_id"]:
            return None
        wanted = TreeRequest(depth=LINEAGE_DEPTH, max_nodes=LINEAGE_NODES)
        try:
            return tree_body(tree(engine, scope, row["process_id"], wanted, suppression_of(here)))
        except NotFoundError:
            return None

    found = await run_lookup(request, here, work)
    rows = [] if found is None else _lines(found)
    is_cut = found is not None and not found["is_complete"]
    return render(request, "alerts/lineage.html", rows=rows, is_cut=is_cut)


@router.get(
    "/ui/_/alerts/{alert_id}/prevalence",
    right=Right.READ,
    summary="Show how common an alert's indicator is",
)
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
    return render(request, "alerts/prevalence.html", found=found)


def export_call(org: str, query: str, span: str, total: int | None) -> dict[str, str]:
    """Returns `path` and `body` of an alert search v7 call for all alerts of the page's filter, or
    the reason in `why` if no call can return them. `total` is their number, None for an invalid
    query."""
    if total is None:
        return {"why": "unread"}
    if total > limits.ALERT_V7_ROWS_MAX:
        return {"why": "many"}
    body = {
        # Alert search v7 takes stored query text, which with these characters could be read as URL
        # parameters.
        "query": urlencode({"q": query}) if set(query) & {"%", "="} else query,
        "time_range": _range(span),
        "rows": limits.ALERT_V7_ROWS_MAX,
        "sort": [{"field": "backend_timestamp", "order": "ASC"}],
    }
    path = f"/api/alerts/v7/orgs/{quote(org, safe='')}/alerts/_search"
    return {"path": path, "body": orjson.dumps(body).decode()}


def _lines(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the processes from the oldest ancestor down, each child below its parent, with their
    indentation level."""
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
    """Returns the time (epoch ms) of the reader's previous visit to the queue, 0 if unknown. The
    browser stores the end of the previous visit, and when the queue was last opened or changed."""
    with here.database.reading() as connection:
        body = orjson.loads(kept_views.preferences(connection, users.id_of(here.database, name)))
    kept = body.get("visit") if isinstance(body, dict) else None
    found = re.fullmatch(r"(\d{1,14}) (\d{1,14})", kept) if isinstance(kept, str) else None
    if found is None:
        return 0
    before, last = int(found[1]), int(found[2])
    is_new = now_us // 1_000 - last > VISIT_GAP_S * 1_000
    return min(last if is_new else before, now_us // 1_000)


def _changes(
    engine: BoundedEngine, here: Services, scope: Scope, since_ms: int, now_us: int
) -> Sequence[tuple[str, str, int]]:
    """Counts changes since a time among all alerts that the reader sees. Returns (kind of change,
    query, count)."""
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
    """Returns evidence that detection works while the queue is empty: the time of the last alert
    and the current delay of detection."""
    newest = SearchRequest((), 1, 0, (Sort("created_time", is_descending=True),))
    last = alert_search.search(engine, scope, newest, here.settings, now_us, engine.cancel)
    late = [behind_us for _, behind_us in lateness(here.engine, here.database, now_us)]
    return {
        "last_us": last.rows[0]["created_time"] if last.rows else 0,
        "late_s": max(late, default=0) // 1_000_000,
    }


def _range(span: str) -> dict[str, str]:
    """Returns the `time_range` of alert search v7."""
    since, is_two, until = span.partition("..")
    if is_two:
        return {"start": since or "1970-01-01T00:00:00.000Z"} | ({"end": until} if until else {})
    return {"range": span} if span else {"start": "1970-01-01T00:00:00.000Z"}


def _made(text: str) -> tuple[str, str]:
    """Returns the creation time filter, as in the address and as a query condition. Raises
    BadRequestError."""
    if text in _SPANS:
        return text, f"[{text} TO *]" if text else ""
    return (text, time_range(text, 0).condition) if ".." in text else ("", "")


def _in_force(here: Services, now_us: int) -> list[Suppression]:
    """Returns the suppressions in force, newest first."""
    with here.database.reading() as connection:
        found = suppressions.all_rules(connection)
    return sorted((one for one in found if one.holds(now_us)), key=lambda one: -one.created_us)


def _order(params: QueryParams) -> tuple[Sort, ...]:
    if params.get("sort") == "newest":
        return (Sort("created_time", is_descending=True),)
    return Sort("alert_severity", is_descending=True), Sort("created_time", is_descending=True)


def _levels(params: QueryParams) -> tuple[str, ...]:
    """Returns the grouping levels of the queue from `by=rule&then=host&last=user` or
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
    """Returns the most severe groups of the innermost of the given levels."""
    wanted = SearchRequest(parts, rows, 0, (Sort("severity", is_descending=True),))
    names = ",".join(GROUPS[one][0] for one in levels)
    return alert_search.groups(engine, scope, wanted, names, here.settings, now_us)


def _sections(
    groups: Sequence[AlertGroups], rows: Sequence[AlertRow], levels: Sequence[str]
) -> list[Section]:
    """Nests the groups of each level in those of the level above. Alerts are in the innermost
    groups."""
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
