"""Addresses below `/ui/` that lead nowhere."""

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from vedette.api.http.pages import PAGE_TAG
from vedette.errors import NotFoundError

router = APIRouter(tags=[PAGE_TAG], include_in_schema=False)


@router.get("/ui", summary="The home page, written without its slash")
async def without_slash() -> Response:
    return RedirectResponse("/ui/", status_code=303)


@router.get("/ui/{rest:path}", summary="A page that does not exist")
async def unknown(rest: str) -> Response:
    raise NotFoundError(f"there is no page /ui/{rest[:60]}")
