"""Page of threat reports of all feeds: search, ignore, stop ignoring."""

from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.errors import QueryError
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.reports import report_search
from vedette.search.search_request import SearchRequest, Sort
from vedette.web.feeds.threat_report_json import report_body
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_search
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import whole_number
from vedette.web.page.render import render

router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]

FACETS: Final = ("feed_name", "feed_category", "is_ignored")
SORTS: Final = {"newest": ("last_update", True), "score": ("score", True)}


@router.get("/ui/reports", right=Right.VIEW, summary="List threat reports")
async def listed(request: Request, here: Here) -> Response:
    params = request.query_params
    query, start = params.get("q", ""), whole_number(params, "start", 0)
    sort = params.get("sort", "") if params.get("sort", "") in SORTS else "newest"
    field, is_descending = SORTS[sort]
    wanted = SearchRequest(
        (("q", query),) if query else (),
        limits.PAGE_ROWS,
        start,
        (Sort(field, is_descending=is_descending),),
        facets=FACETS,
    )

    def work(engine: BoundedEngine) -> dict[str, Any]:
        now_us = here.clock.now_us()
        try:
            found = report_search.search(engine, wanted, here.settings, now_us, engine.cancel)
        except QueryError as error:
            return {"problem": error, "found": None, "reports": []}
        return {
            "problem": None,
            "found": found,
            "reports": [report_body(one) for one in found.rows],
        }

    values = await run_search(request, here, work)
    return render(
        request,
        "feeds/reports.html",
        q=query,
        sort=sort,
        sorts=list(SORTS),
        facets=FACETS,
        named=urlencode({"q": f"({query}) is_ignored:false" if query else "is_ignored:false"}),
        start=start,
        page_rows=limits.PAGE_ROWS,
        **values,
    )
