"""The console's base address, and addresses below it that match no page."""

from typing import Annotated

import orjson
from anyio import to_thread
from fastapi import Depends
from starlette.responses import RedirectResponse, Response

from vedette.errors import NotFoundError
from vedette.model.principal import Principal
from vedette.state.accounts import kept_views, users
from vedette.web.http.access import principal_of
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.page.navigation import start_page

router = Router(tags=[PAGE_TAG], include_in_schema=False)


@router.get("/ui", right=Right.READ, summary="Open the user's start page")
async def start(
    here: Annotated[Services, Depends(services)],
    caller: Annotated[Principal, Depends(principal_of)],
) -> Response:
    def work() -> str:
        with here.database.reading() as connection:
            user_id = users.id_of(here.database, caller.name)
            return start_page(caller, orjson.loads(kept_views.preferences(connection, user_id)))

    return RedirectResponse(await to_thread.run_sync(work), status_code=303)


@router.get("/ui/{rest:path}", right=Right.READ, summary="Report a page that does not exist")
async def unknown(rest: str) -> Response:
    raise NotFoundError(f"page not found: /ui/{rest[:60]}")
