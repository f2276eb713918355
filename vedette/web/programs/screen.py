"""Pages of programs and libraries: the search, and details of a program."""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import RedirectResponse, Response

from vedette import limits
from vedette.errors import BadRequestError, NotFoundError, QueryError, UnavailableError
from vedette.limits import Limit
from vedette.model.binary_fields import BINARY
from vedette.model.principal import Principal
from vedette.model.scope import Scope
from vedette.query.parse.query_params import carried_query
from vedette.record.objects.ban import Ban
from vedette.respond.ban_reach import ban_reach
from vedette.respond.binary_requests import Refusing, refusing_groups
from vedette.search.binaries import binary_search
from vedette.search.binaries.binary_search import copy_name, hash_column
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.document_search import Results
from vedette.search.search_request import SearchRequest, Sort
from vedette.search.tagged import with_binary_tags
from vedette.state.files.binary_orders import OrderedFile
from vedette.state.policy import bans, watchlists
from vedette.store.read.binaries import binaries_of
from vedette.store.read.binary_usage import Usage, usage_of
from vedette.web.fleet.screen import knows_no_host
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_lookup, run_search
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import whole_number
from vedette.web.page.histogram import HEIGHT, day_bars
from vedette.web.page.query_terms import narrowed
from vedette.web.page.render import render
from vedette.web.page.view import View, view_of
from vedette.web.programs.binary_requests_routes import order_of
from vedette.web.programs.models import binary_body, binary_summary_body
from vedette.web.watchlists.screen import sees

CONSOLE_USAGE_S: Limit[float] = 3.0
"""Seconds to count the usage of a program for its page; after a timeout the page is shown without
it."""


router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]

FACETS: Final[Mapping[str, tuple[str, str]]] = {
    "digsig_result": ("Signature", "digsig_result"),
    "digsig_publisher_facet": ("Publisher", "digsig_publisher"),
    "company_name_facet": ("Company", "company_name"),
    "product_name_facet": ("Product", "product_name"),
    "file_version_facet": ("Version", "file_version"),
    "observed_filename_facet": ("Path", "observed_filename"),
    "host_count": ("Hosts", "host_count"),
    "server_added_timestamp": ("First seen", "first_seen"),
}
"""Maps facet name to its heading and the query field that it narrows."""

FACET_ENDS: Final = "/ui/_/binary/rare"
_SORT: Final = "server_added_timestamp"


@router.get("/ui/binary", right=Right.READ, summary="Search programs")
async def search(request: Request, here: Here, scope: Within) -> Response:
    wanted = _wanted(request, tuple(FACETS))

    def work(engine: BoundedEngine) -> dict[str, Any]:
        try:
            found = binary_search.search(
                engine,
                scope,
                wanted,
                here.settings,
                here.clock.now_us(),
                copies=partial(here.copies.all_copied, scope),
            )
        except QueryError as error:
            return {"problem": error, "found": None, "rows": [], "state": {}, "is_empty": False}
        copied = here.copies.copied(list(map(copy_name, found.rows)), scope)
        rows = [binary_body(row, copied) for row in found.rows]
        state = narrowed(carried_query(wanted.parts, BINARY))
        is_empty = not found.total and knows_no_host(here, scope)
        values = {"problem": None, "rows": rows, "state": state, "is_empty": is_empty}
        return values | {"found": _dated(found)}

    return render(
        request,
        "programs/binaries.html",
        q=request.query_params.get("q", ""),
        start=wanted.start,
        page_rows=limits.PAGE_ROWS,
        sort=f"{_SORT} desc",
        view=_view(request),
        ends=FACET_ENDS,
        shown_facets=FACETS,
        items=None,
        values_shown=limits.FACET_VALUES_SHOWN,
        shown=_value_text,
        **await run_search(request, here, work),
    )


@router.get(FACET_ENDS, right=Right.READ, summary="Show the rare values of a facet of programs")
async def rare(request: Request, here: Here, scope: Within) -> Response:
    """Shows the least frequent values; with `most`, the most frequent values."""
    name = request.query_params.get("facet", "")
    facets = (name,) if name in FACETS else ()
    is_most = "most" in request.query_params
    wanted = replace(_wanted(request, facets), rows=0, start=0, is_rarest=not is_most)

    def work(engine: BoundedEngine) -> Results:
        now_us = here.clock.now_us()
        return _dated(binary_search.search(engine, scope, wanted, here.settings, now_us))

    found = await run_search(request, here, work)
    values = found.facets.get(name, [])
    return render(
        request,
        "processes/facet_values.html",
        view=_view(request),
        ends=FACET_ENDS,
        name=name,
        field=FACETS[name][1] if facets else "",
        shown=_value_text,
        values=values if is_most else values[: limits.FACET_VALUES_SHOWN],
        state=narrowed(carried_query(wanted.parts, BINARY)),
        most=values[0][1] if values and is_most else 1,
        more=0,
        is_rare=not is_most,
    )


def _wanted(request: Request, facets: tuple[str, ...]) -> SearchRequest:
    query = request.query_params.get("q", "")
    return SearchRequest(
        (("q", query),) if query else (),
        limits.PAGE_ROWS,
        whole_number(request.query_params, "start", 0),
        (Sort(_SORT, is_descending=True),),
        facets=facets,
    )


def _view(request: Request) -> View:
    return view_of(request, rows_default=limits.PAGE_ROWS, rows_max=limits.PAGE_ROWS)


def _dated(found: Results) -> Results:
    """Shortens the times of the "First seen" facet to days, as queries use them."""
    days = [(value[:10], count) for value, count in found.facets.get(_SORT, ())]
    return replace(found, facets={**found.facets, _SORT: days}) if days else found


def _value_text(_name: str, value: str | int) -> str:
    return str(value)


@router.get("/ui/binary/{md5}", right=Right.READ, summary="Show a program")
async def one(md5: str, request: Request, here: Here, scope: Within) -> Response:
    """Finds a program by MD5, or by SHA-256 if no host reported an MD5 for it."""
    try:
        column = hash_column("md5", md5)
    except BadRequestError:
        raise NotFoundError(f"program {md5[:40]!r} not found") from None
    digest = md5.lower()

    def work(engine: BoundedEngine) -> dict[str, Any]:
        row: dict[str, Any] | None = None
        order: dict[str, Any] | None = None
        refusing: list[Refusing] = []
        known = binaries_of(engine, [digest], scope)
        md5s = sorted({one["md5"] for one in known if one["md5"]})
        if column == "sha256" and len(known) == 1 and md5s:
            return {"md5": md5s[0]}
        if known:
            tagged = with_binary_tags(engine, known[:1])[0]
            row = binary_summary_body(tagged, here.copies.copied([copy_name(tagged)], scope))
            order = order_of(here, scope, tagged)
            if not row["copied_mod_len"]:
                refusing = refusing_groups(engine, here.database, scope, _file(tagged))
        usage = _usage(engine, scope, digest)
        reach = ban_reach(engine, digest, scope, here.clock.now_us())
        return {
            "binary": row,
            "ban": _ban(here, column, digest),
            "claimed": md5s if column == "sha256" else [],
            "refusing": refusing,
            "reach": reach,
            "order": order,
            "usage": usage,
            "bars": day_bars(usage.days) if usage else (),
            "groups": Counter(one.group for one in usage.hosts).most_common() if usage else [],
            "watched": _watched(here, principal_of(request), row),
        }

    found = await run_lookup(request, here, work)
    if "md5" in found:
        return RedirectResponse(f"/ui/binary/{found['md5']}", 303)
    return render(
        request,
        "programs/binary.html",
        digest=digest,
        column=column,
        scope=scope,
        height=HEIGHT,
        **found,
    )


def _file(row: dict[str, Any]) -> OrderedFile:
    return OrderedFile(row["md5"], row["sha256"])


def _ban(here: Services, column: str, digest: str) -> Ban | None:
    if column == "sha256":
        return bans.of_file(here.database, digest)
    with suppress(NotFoundError):
        return bans.get(here.database, digest)
    return None


def _watched(
    here: Services, caller: Principal, binary: dict[str, Any] | None
) -> list[tuple[int, str]]:
    """Returns the watchlists with hits on a program that the reader sees."""
    found: dict[int, str] = {}
    with here.database.reading() as connection:
        for tag in (binary or {}).get("watchlists", ()):
            with suppress(NotFoundError):
                one = watchlists.get(connection, int(tag["wid"]))
                if sees(caller, one):
                    found[one.id] = one.name
    return sorted(found.items())


def _usage(engine: BoundedEngine, scope: Scope, digest: str) -> Usage | None:
    """Returns the usage of a program, None after a timeout."""
    try:
        return usage_of(engine, [digest], scope, deadline_s=CONSOLE_USAGE_S)
    except UnavailableError:
        return None
