"""`/openapi.json`, and `/docs`: a viewer for it that loads files of this server only."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from fastapi import Request
from starlette.responses import Response

from vedette.errors import NotFoundError
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.static_file import StaticFile, static_file
from vedette.web.server.openapi_document import openapi_document

router = Router(include_in_schema=False)

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; "
    "connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

"""The viewer writes its theme as inline styles; scripts are loaded from files only."""

MEDIA_TYPES: Final = {
    "docs.html": "text/html; charset=utf-8",
    "docs.css": "text/css; charset=utf-8",
    "rapidoc-min.js": "text/javascript; charset=utf-8",
}
"""The files of the viewer; no other file is served."""


@router.get("/openapi.json", right=Right.OPEN, summary="Get the OpenAPI 3.1 document of all routes")
def openapi(request: Request) -> Response:
    return json_answer(openapi_document(request.app))


@router.get("/docs", right=Right.OPEN, summary="Show the API documentation")
def docs_page(request: Request) -> Response:
    return _answer(request, "docs.html")


@router.get("/docs/{file}", right=Right.OPEN, summary="Get a file of the API documentation")
def docs_file(request: Request, file: str) -> Response:
    return _answer(request, file)


def _answer(request: Request, name: str) -> Response:
    file = _files().get(name)
    if file is None:
        raise NotFoundError("page not found")
    headers = {
        "Cache-Control": "no-cache",  # revalidated by ETag, because the address never changes
        "Content-Security-Policy": CONTENT_SECURITY_POLICY,
        "Referrer-Policy": "no-referrer",
    }
    return file.answer(request, headers)


@cache
def _files() -> Mapping[str, StaticFile]:
    folder = files("vedette.web.server") / "viewer"
    return {
        name: static_file((folder / name).read_bytes(), media_type)
        for name, media_type in MEDIA_TYPES.items()
    }
