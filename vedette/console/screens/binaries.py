"""Programs and libraries: the search, and one of them with where it is known."""

from collections import Counter
from contextlib import suppress
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.api.http.access import principal_of, scope_of_request
from vedette.api.http.pages import PAGE_TAG
from vedette.api.routes.policy.bans import checked_md5
from vedette.api.routes.search.binary_requests import order_of
from vedette.api.routes.search.run import run_lookup, run_search
from vedette.api.schemas.parameters import whole_number
from vedette.api.schemas.search.binary import binary_body, binary_summary_body
from vedette.api.services import Services, services
from vedette.console.histogram import HEIGHT, day_bars
from vedette.console.render import render
from vedette.console.screens.watchlists import sees
from vedette.errors import BadRequestError, NotFoundError, QueryError, UnavailableError
from vedette.limits import CONSOLE_USAGE_S
from vedette.model.principal import Principal
from vedette.model.scope import Scope
from vedette.respond.ban_reach import ban_reach
from vedette.search.binaries import binary_search
from vedette.search.binaries.binary_search import copy_name
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.search_request import SearchRequest, Sort
from vedette.state.policy import bans, watchlists
from vedette.store.read.binary_usage import Usage, usage_of

router = APIRouter(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]

_FACETS: Final = ("digsig_result", "digsig_publisher", "company_name", "host_count")
_SORT: Final = "server_added_timestamp"


@router.get("/ui/binary", summary="Programs")
async def search(request: Request, here: Here, scope: Within) -> Response:
    params = request.query_params
    query, start = params.get("q", ""), whole_number(params, "start", 0)

    def work(engine: BoundedEngine) -> dict[str, Any]:
        wanted = SearchRequest(
            (("q", query),) if query else (),
            limits.PAGE_ROWS,
            start,
            (Sort(_SORT, is_descending=True),),
        )
        try:
            found = binary_search.search(engine, scope, wanted, here.settings, here.clock.now_us())
        except QueryError as error:
            return {"problem": error, "found": None, "rows": []}
        copied = here.copies.copied(list(map(copy_name, found.rows)), scope)
        rows = [binary_body(row, copied) for row in found.rows]
        return {"problem": None, "found": found, "rows": rows}

    return render(
        request, "screens/binaries.html", q=query, start=start, page_rows=limits.PAGE_ROWS,
        sort=f"{_SORT} desc", **await run_search(request, here, work),
    )  # fmt: skip


@router.get("/ui/binary/{md5}", summary="A program")
async def one(md5: str, request: Request, here: Here, scope: Within) -> Response:
    try:
        digest = checked_md5(md5)
    except BadRequestError:
        raise NotFoundError(f"there is no program {md5[:40]!r}") from None

    def work(engine: BoundedEngine) -> dict[str, Any]:
        row: dict[str, Any] | None = None
        order: dict[str, Any] | None = None
        with suppress(NotFoundError):
            known = binary_search.summary(engine, scope, digest)
            row = binary_summary_body(known, here.copies.copied([copy_name(known)], scope))
            order = order_of(here, scope, known)
        try:
            ban = bans.get(here.database, digest)
        except NotFoundError:
            ban = None
        usage = _usage(engine, scope, digest)
        reach = ban_reach(engine, digest, scope, here.clock.now_us())
        return {
            "binary": row,
            "ban": ban,
            "reach": reach,
            "order": order,
            "usage": usage,
            "bars": day_bars(usage.days) if usage else (),
            "groups": Counter(one.group for one in usage.hosts).most_common() if usage else [],
            "watched": _watched(here, principal_of(request), row),
        }

    found = await run_lookup(request, here, work)
    return render(request, "screens/binary.html", md5=digest, scope=scope, height=HEIGHT, **found)


def _watched(
    here: Services, caller: Principal, binary: dict[str, Any] | None
) -> list[tuple[int, str]]:
    """The watchlists that hit a program, of those that the reader sees."""
    found: dict[int, str] = {}
    with here.database.reading() as connection:
        for tag in (binary or {}).get("watchlists", ()):
            with suppress(NotFoundError):
                one = watchlists.get(connection, int(tag["wid"]))
                if sees(caller, one):
                    found[one.id] = one.name
    return sorted(found.items())


def _usage(engine: BoundedEngine, scope: Scope, digest: str) -> Usage | None:
    """None where counting takes too long: the page says what it knows."""
    try:
        return usage_of(engine, [digest], scope, deadline_s=CONSOLE_USAGE_S)
    except UnavailableError:
        return None
