"""Pages of banned programs: reason, expiry, blocks, and the hosts that a ban affects."""

import re
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.errors import BadRequestError, NotFoundError, UnavailableError
from vedette.model.scope import Scope
from vedette.respond.ban_reach import ban_reach
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.policy import bans
from vedette.state.sensors import sensor_list
from vedette.store.read.binaries import Spread, spreads_of
from vedette.web.http.access import scope_of_request
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_lookup
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import whole_number
from vedette.web.page.render import render
from vedette.web.policy.bans_json import wanted_hashes
from vedette.web.policy.bans_routes import checked_md5

router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]


@router.get("/ui/bans", right=Right.VIEW, summary="Banned programs")
async def banned(request: Request, here: Here, scope: Within) -> Response:
    text = request.query_params.get("q", "").strip().lower()
    start = whole_number(request.query_params, "start", 0)

    def work(engine: BoundedEngine) -> dict[str, Any]:
        found = bans.all_bans(here.database)
        wanted = [one for one in found if text in one.md5 or text in one.text.lower()]
        wanted.sort(key=lambda one: (not one.enabled, -one.time_us))
        page = wanted[start : start + limits.PAGE_ROWS]
        return {
            "bans": page,
            "total": len(wanted),
            "spreads": _spreads(engine, scope, [one.md5 for one in page]),
        }

    found = await run_lookup(request, here, work)
    return render(
        request,
        "policy/bans.html",
        q=text,
        start=start,
        page_rows=limits.PAGE_ROWS,
        scope=scope,
        **found,
    )


def _spreads(
    engine: BoundedEngine, scope: Scope, md5s: Sequence[str]
) -> dict[str, tuple[str, Spread]] | None:
    """Maps MD5 to the program's name and its spread on visible hosts. Returns None on a timeout."""
    try:
        found = spreads_of(engine, md5s, scope)
    except UnavailableError:
        return None
    return {
        md5: (one.path.replace("\\", "/").rpartition("/")[2] or one.path, one)
        for md5, one in found.items()
    }


@router.get(
    "/ui/_/bans/reach", right=Right.VIEW, summary="Where programs run that are to be banned"
)
async def reach(request: Request, here: Here, scope: Within) -> Response:
    """Shows where the programs in `md5hashes` run, in the order of the parameter."""
    given = re.split(r"[\s,;]+", request.query_params.get("md5hashes", "").strip())

    def work(engine: BoundedEngine) -> dict[str, Any]:
        banned = {one.md5 for one in bans.all_bans(here.database) if one.enabled}
        now_us = here.clock.now_us()
        wanted = [checked_md5(one) for one in wanted_hashes(given)]
        return {
            "programs": [ban_reach(engine, md5, scope, now_us) for md5 in wanted],
            "banned": banned,
        }

    found: dict[str, Any] = {"programs": [], "problem": "", "banned": ()}
    if given != [""]:
        try:
            found |= await run_lookup(request, here, work)
        except BadRequestError as error:
            found["problem"] = str(error)
    return render(request, "policy/ban_reach.html", **found)


@router.get("/ui/bans/{md5}", right=Right.VIEW, summary="A ban")
async def one(md5: str, request: Request, here: Here, scope: Within) -> Response:
    """Shows the hosts that a ban affects: hosts that have the program, hosts that run it now, and
    those of them without a sensor that could stop it."""
    try:
        digest = checked_md5(md5)
    except BadRequestError:
        raise NotFoundError(f"ban of {md5[:40]!r} not found") from None

    def work(engine: BoundedEngine) -> dict[str, Any]:
        ban = bans.get(here.database, digest)
        reach = ban_reach(engine, digest, scope, here.clock.now_us())
        ids = [one.sensor_id for one in reach.running]
        known = sensor_list.some(here.database, scope, ids)
        return {"ban": ban, "reach": reach, "known": known}

    found = await run_lookup(request, here, work)
    return render(request, "policy/ban.html", scope=scope, **found)
