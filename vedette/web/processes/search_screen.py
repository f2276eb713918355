"""Page of process search: query, results over time, facets, rows, and a preview of a process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.errors import QueryError
from vedette.limits import Limit
from vedette.model.fields import PROCESS
from vedette.model.ids import checked_process_id
from vedette.model.scope import Scope
from vedette.query.highlight import markers
from vedette.query.mark import Budget, Spans, spans
from vedette.query.nodes import Tree
from vedette.query.parse.query_params import carried_query
from vedette.query.pattern import Pattern, compile_pattern
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.events.preview import PreviewRequest, preview
from vedette.search.processes.highlights import patterns_by_column
from vedette.search.processes.histogram import (
    Histogram,
    HistogramRequest,
    process_histogram,
    process_week,
)
from vedette.search.processes.process_columns import Row
from vedette.search.processes.process_search import SearchResults, search_processes
from vedette.search.search_request import ALL_WINDOWS, SearchRequest, Sort, Windows
from vedette.store.read.binaries import Standing, standings_of
from vedette.web.fleet.screen import isolation_of, knows_no_host, offset_of
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_lookup, run_search
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import bounded_number
from vedette.web.json.wire_values import milli_instant
from vedette.web.page.event_lines import event_line, filter_terms
from vedette.web.page.histogram import HEIGHT, bars_of, layers_of
from vedette.web.page.process_columns import arranged_by, hits_of, signature_class
from vedette.web.page.query_terms import narrowed
from vedette.web.page.render import render
from vedette.web.page.time_range import CHOICES, TimeRange, label_of, span_text, time_range
from vedette.web.page.view import View, view_of
from vedette.web.processes.search_parameters_json import window_of

PAGE_ROWS_MAX: Limit[int] = 200
"""Maximum rows of a page."""


router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]

FACETS: Final[Mapping[str, tuple[str, str]]] = {
    "process_name": ("Process", "process_name"),
    "parent_name": ("Parent process", "parent_name"),
    "hostname": ("Host", "hostname"),
    "username_full": ("User", "username"),
    "path_full": ("Path", "path"),
    "process_md5": ("MD5", "process_md5"),
    "group": ("Group", "group"),
    "host_type": ("Host type", "host_type"),
    "hour_of_day": ("Hour", "hour_of_day"),
    "day_of_week": ("Weekday", "day_of_week"),
}
"""Maps facet name to its heading and the query field that it narrows."""

FACET_ENDS: Final = "/ui/_/process/rare"

COUNTS: Final = (
    ("F", "filemod", "files"),
    ("M", "modload", "modules"),
    ("R", "regmod", "registry"),
    ("N", "netconn", "network"),
    ("C", "childproc", "children"),
    ("X", "crossproc", "cross-process"),
)
"""Letter, kind and heading of the counted events."""

WEEKDAYS: Final = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
SORTS: Final = ("start", "last_update", "hostname", "username", "process_name", "parent_name")
GROUPS: Final = {
    "id": "id",
    "none": "",
    "hostname": "hostname",
    "username": "username",
    "process_name": "process_name",
    "parent_name": "parent_name",
    "path": "path",
    "process_md5": "process_md5",
}
"""Maps each grouping in the address to the field whose values group the results."""

WIDER: Final = "-30d"
"""Wider time range whose matches are counted if the page's range has none."""

PART: Final = "part"
"""Parameter that marks the page's rows as incomplete, so that fragments can say so."""

READ: Final = "read"
"""Parameter with the earliest window that the page's search read, for counts that fragments
load."""

TIME_FIELDS: Final = ("last_update", "start", "last_server_update")
_MARKED: Final = ("process_name", "path", "cmdline", "parent_name", "username", "hostname")


@dataclass(frozen=True, slots=True)
class _Asked:
    """The search that an address describes."""

    now_us: int
    view: View
    range: TimeRange
    time_field: str
    by: str
    """Facet whose values subdivide the bars; "" for none."""
    request: SearchRequest

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        return self.request.parts


@router.get("/ui/process", right=Right.READ, summary="Search processes")
async def process_search(request: Request, here: Here, scope: Within) -> Response:
    asked = _asked(request, here.clock.now_us())
    reader = principal_of(request).name
    chosen = await to_thread.run_sync(arranged_by, here.database, reader, list(FACETS))
    facets = {name: FACETS[name] for name in chosen.shown_facets}
    try:
        found = await _find(request, here, scope, asked, facets)
    except QueryError as problem:
        return _page(request, asked, found=None, problem=problem)
    tree = carried_query(asked.parts, PROCESS)
    return _page(
        request,
        asked,
        found=found,
        problem=None,
        chosen=chosen,
        shown_facets=facets,
        is_empty=not found.total and await to_thread.run_sync(knows_no_host, here, scope),
        standings=await run_lookup(request, here, partial(_standings, scope, found.rows)),
        **_marking(tree),
    )


@router.get("/ui/_/process/histogram", right=Right.READ, summary="Show results over time")
async def histogram(request: Request, here: Here, scope: Within) -> Response:
    asked = _of_what_was_read(request, _asked(request, here.clock.now_us()))
    now_us = here.clock.now_us()
    until_us = asked.range.until_us or (now_us if asked.range.since_us else 0)
    wanted = HistogramRequest(
        asked.request, asked.time_field, asked.range.since_us, until_us, by=asked.by
    )

    def work(engine: BoundedEngine) -> Histogram:
        return process_histogram(engine, scope, wanted, here.settings, now_us, engine.cancel)

    found = await run_search(request, here, work)
    bars = bars_of(found)
    parts: dict[str, Any] = {
        "layers": layers_of(bars.bars, found) if found.by else (),
        "shown": _value_text,
    }
    if "table" in request.query_params:
        template = "processes/histogram_table.html"
        return render(request, template, bars=bars, by=asked.by, **parts)
    return render(
        request,
        "processes/histogram.html",
        view=asked.view,
        bars=bars,
        is_part=PART in request.query_params,
        height=HEIGHT,
        steps=(bars.until_us - bars.since_us) // bars.width_us,
        field=asked.time_field,
        width_text=span_text(bars.width_us),
        by=asked.by,
        **parts,
    )


@router.get("/ui/_/process/week", right=Right.READ, summary="Show results by weekday and hour")
async def week(request: Request, here: Here, scope: Within) -> Response:
    asked = _of_what_was_read(request, _asked(request, here.clock.now_us()))

    def work(engine: BoundedEngine) -> Sequence[tuple[int, int, int]]:
        now_us = here.clock.now_us()
        return process_week(engine, scope, asked.request, here.settings, now_us, engine.cancel)

    found = await run_search(request, here, work)
    most = max((count for _, _, count in found), default=0)
    counts = {(weekday, hour): count for weekday, hour, count in found}
    return render(
        request,
        "processes/week.html",
        counts=counts,
        most=most,
        weekdays=WEEKDAYS,
        is_part=PART in request.query_params,
    )


@router.get(FACET_ENDS, right=Right.READ, summary="Show the rare values of a facet")
async def rare(request: Request, here: Here, scope: Within) -> Response:
    """Shows the least frequent values; with `most`, the most frequent values."""
    asked = _of_what_was_read(request, _asked(request, here.clock.now_us()))
    name = request.query_params.get("facet", "")
    facets = {name: FACETS[name]} if name in FACETS else {}
    is_most = "most" in request.query_params
    end = {} if is_most else {"is_rarest": True, "facet_values": limits.FACET_VALUES_SHOWN}
    found = await _find(request, here, scope, asked, facets, rows=0, **end)
    tree, counted = carried_query(asked.parts, PROCESS), found.facets.get(name, ())
    return render(
        request,
        "processes/facet_values.html",
        ends=FACET_ENDS,
        view=asked.view,
        name=name,
        field=facets[name][1] if facets else "",
        values=counted,
        shown=_value_text,
        state=narrowed(tree),
        most=counted[0][1] if counted and is_most else 1,
        more=0,
        is_rare=not is_most,
    )


@router.get("/ui/_/process/wider", right=Right.READ, summary="Count matches in a wider time range")
async def wider(request: Request, here: Here, scope: Within) -> Response:
    """Counts the matches of the query in a wider time range, for a page without results. Subject to
    the search deadline."""
    asked = _asked(request, here.clock.now_us(), WIDER)
    found = await _find(request, here, scope, asked, {}, rows=0, start=0, windows=ALL_WINDOWS)
    url = replace(asked.view, path="/ui/process").url(t=WIDER, seen=None, before=None)
    return render(request, "processes/wider.html", found=found, url=url)


@router.get(
    "/ui/_/process/{process_id}/{segment_id}", right=Right.READ, summary="Preview a process"
)
async def process_preview(
    process_id: str, segment_id: str, request: Request, here: Here, scope: Within
) -> Response:
    wanted = PreviewRequest(
        checked_process_id(process_id), bounded_number("segment_id", segment_id), ()
    )
    asked = _asked(request, here.clock.now_us())

    def work(engine: BoundedEngine) -> Any:
        now_us = here.clock.now_us()
        found = preview(engine, scope, wanted, here.settings, now_us, engine.cancel)
        sensor_id = found.row["sensor_id"]
        isolation = isolation_of(request, here, scope, sensor_id)
        return found, isolation, offset_of(here, scope, sensor_id)

    found, isolation, offset = await run_lookup(request, here, work)
    try:
        tree = carried_query(asked.parts, PROCESS)
        patterns = _patterns(tree)
    except QueryError:
        patterns = {}
    row = found.row
    return render(
        request,
        "processes/preview.html",
        row=row,
        sensor_id=row["sensor_id"],
        **isolation,
        offset=offset,
        segment_id=wanted.segment,
        marks=lambda name: spans(patterns.get(name, ()), row[name]),
        by_kind=found.by_kind,
        event_line=event_line,
        filter_terms=filter_terms,
        counts=COUNTS,
    )


def _asked(request: Request, now_us: int, span_wanted: str = "") -> _Asked:
    """Parses the address; `span_wanted` overrides its time range."""
    view = view_of(request, rows_default=limits.PAGE_ROWS, rows_max=PAGE_ROWS_MAX)
    span = time_range(span_wanted or request.query_params.get("t", "") or "-24h", now_us)
    field = request.query_params.get("tf", "")
    field = field if field in TIME_FIELDS else TIME_FIELDS[0]
    parts = [("q", view.query)] if view.query.strip() else []
    if span.condition:
        parts.append((f"svc.q.{field}", span.condition))
    group = GROUPS.get(request.query_params.get("group", ""), "id")
    sort_field, _, direction = (request.query_params.get("sort") or "start desc").partition(" ")
    wanted = SearchRequest(
        parts=tuple(parts),
        rows=view.rows,
        start=view.start,
        sorts=(Sort(sort_field if sort_field in SORTS else "start", direction != "asc"),),
        group=group,
        windows=Windows(before_ms=window_of("before", request.query_params.get("before", ""))),
    )
    by = request.query_params.get("by", "")
    return _Asked(now_us, view, span, field, by if by in FACETS else "", wanted)


def _of_what_was_read(request: Request, asked: _Asked) -> _Asked:
    """Limits the search to the windows that the page's search has read, so that counts match its
    rows."""
    since_ms = window_of(READ, request.query_params.get(READ, ""))
    windows = replace(asked.request.windows, since_ms=since_ms)
    return replace(asked, request=replace(asked.request, windows=windows))


def _rest(asked: _Asked, found: SearchResults) -> str:
    """Returns the address of the part that a search did not read in time; "" if none is left or
    nothing was read. Fixes the start of a relative time range."""
    if found.read.since_ms <= 1:
        return ""
    since_us, until_us = asked.range.since_us, asked.range.until_us
    fixed = f"{milli_instant(since_us)}.." if since_us and not until_us else asked.range.text
    return asked.view.url(t=fixed, before=milli_instant(found.read.since_ms * 1_000), seen=None)


async def _find(
    request: Request,
    here: Services,
    scope: Scope,
    asked: _Asked,
    facets: Mapping[str, object],
    **changes: Any,
) -> SearchResults:
    """Runs the search of the address with the given changes."""
    wanted = replace(asked.request, facets=tuple(facets), **changes)

    def work(engine: BoundedEngine) -> SearchResults:
        now_us = here.clock.now_us()
        return search_processes(engine, scope, wanted, here.settings, now_us, engine.cancel)

    return await run_search(request, here, work)


def _marking(tree: Tree) -> dict[str, Any]:
    """Returns the highlights of values and the values that the query narrows, for a page."""
    patterns, budget = _patterns(tree), Budget()

    def marks(row: Row, name: str) -> Spans:
        return spans(patterns.get(name, ()), row[name], budget)

    return {"marks": marks, "state": narrowed(tree)}


def _page(
    request: Request,
    asked: _Asked,
    *,
    found: SearchResults | None,
    problem: QueryError | None,
    **values: Any,
) -> Response:
    view = asked.view
    params = [(name, value) for name, value in asked.parts]
    sort = asked.request.sorts[0]
    params += [("sort", f"{sort.field} {'desc' if sort.is_descending else 'asc'}")]
    params += [("rows", str(view.rows)), ("start", str(view.start))]
    params += [("svc.group", asked.request.group)] if asked.request.group else []
    before_us = asked.request.windows.before_ms * 1_000
    params += [("svc.before", milli_instant(before_us))] if before_us else []
    read_ms = found.read.since_ms if found else 0
    part = {PART: "1"} if found and found.is_incomplete else {}
    part |= {READ: milli_instant(read_ms * 1_000)} if read_ms else {}
    template = "processes/results.html" if view.is_part else "processes/search.html"
    return render(
        request,
        template,
        view=view,
        range=asked.range,
        wider=view.part("/ui/_/process/wider") if _is_short(asked) else "",
        before_us=before_us,
        rest=_rest(asked, found) if found else "",
        part=part,
        found=found,
        problem=problem,
        facets=FACETS,
        ends=FACET_ENDS,
        counts=COUNTS,
        sort=sort,
        time_field=asked.time_field,
        time_fields=TIME_FIELDS,
        by=asked.by,
        hits_of=hits_of,
        group=asked.request.group or "none",
        groups=GROUPS,
        narrows={one: one for one in GROUPS},
        shown=_value_text,
        params=params,
        choices=CHOICES,
        label_of=label_of,
        values_shown=limits.FACET_VALUES_SHOWN,
        signature_class=signature_class,
        as_of=datetime.fromtimestamp(asked.now_us / 1_000_000, UTC).isoformat(),
        **values,
    )


def _is_short(asked: _Asked) -> bool:
    """Returns whether the time range is shorter than the wider range."""
    return asked.range.span_us(asked.now_us) < time_range(WIDER, asked.now_us).span_us(asked.now_us)


def _standings(scope: Scope, rows: Sequence[Row], engine: BoundedEngine) -> dict[str, Standing]:
    return standings_of(engine, sorted({row["process_md5"] for row in rows} - {""}), scope)


def _value_text(name: str, value: str | int) -> str:
    if name == "day_of_week" and isinstance(value, int):
        return WEEKDAYS[value % len(WEEKDAYS)]
    if name == "hour_of_day":
        return f"{value}:00"
    return str(value)


def _patterns(tree: Tree) -> dict[str, Sequence[Pattern]]:
    """Returns the compiled patterns of a query, by the column whose values they highlight."""
    found = patterns_by_column(markers(tree))
    return {
        column: [compile_pattern(one) for one in texts]
        for column, texts in found.items()
        if column in _MARKED
    }
