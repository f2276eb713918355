"""Watchlists: the list, one of them, and a new one with its backtest."""

from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from vedette.api.http.access import principal_of
from vedette.api.http.pages import PAGE_TAG
from vedette.api.schemas.watchlist import watchlist_id
from vedette.api.services import Services, services
from vedette.console.render import render
from vedette.errors import BadRequestError, NotFoundError
from vedette.limits import WATCHLIST_DEAD_US
from vedette.model.principal import Principal, Role
from vedette.state.policy import watchlists
from vedette.state.policy.watchlists import ALL_GROUPS, Former, Watchlist

router = APIRouter(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]


@router.get("/ui/watchlists", summary="Watchlists")
async def listed(request: Request, here: Here, caller: Caller) -> Response:
    """Those with problems first."""

    def work() -> list[Watchlist]:
        with here.database.reading() as connection:
            found = watchlists.all_watchlists(connection)
        return sorted(
            (one for one in found if _sees(caller, one)),
            key=lambda one: (
                not (one.last_error or one.stopped),
                not one.enabled,
                one.name.lower(),
            ),
        )

    found = await to_thread.run_sync(work)
    return render(request, "screens/watchlists.html", watchlists=found, dead_us=WATCHLIST_DEAD_US)


@router.get("/ui/watchlists/new", summary="A new watchlist")
async def new(request: Request) -> Response:
    """`q` is the query that it begins with; its backtest runs at once."""
    params = request.query_params
    index = "modules" if params.get("index") == "modules" else "events"
    return render(
        request, "screens/watchlist.html", watchlist=None, q=params.get("q", ""), index=index,
        formers=[],
    )  # fmt: skip


@router.get("/ui/watchlists/{watchlist}", summary="A watchlist")
async def one(watchlist: str, request: Request, here: Here, caller: Caller) -> Response:
    def work() -> tuple[Watchlist, list[Former]]:
        try:
            number = watchlist_id(watchlist)
        except BadRequestError:
            raise NotFoundError(f"there is no watchlist {watchlist[:40]!r}") from None
        with here.database.reading() as connection:
            found = watchlists.get(connection, number)
            if not _sees(caller, found):
                raise NotFoundError(f"there is no watchlist {number}")
            return found, list(watchlists.history(connection, found.key))

    found, formers = await to_thread.run_sync(work)
    return render(
        request, "screens/watchlist.html", watchlist=found, q=found.search_query,
        index=found.index_type, formers=formers,
    )  # fmt: skip


def _sees(caller: Principal, one: Watchlist) -> bool:
    if one.group_id == ALL_GROUPS or caller.is_global_admin:
        return True
    return caller.role_in(one.group_id) >= Role.VIEWER
