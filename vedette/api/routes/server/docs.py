"""`/openapi.json`, and `/docs`: a viewer for it, from files of this server only."""

from importlib.resources import files
from typing import Final

from fastapi import Request
from starlette.responses import Response

from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.schemas.openapi.document import openapi_document
from vedette.errors import NotFoundError

router = Router(include_in_schema=False)

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; "
    "connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

"""The viewer writes its theme as inline styles; scripts come from files only."""

MEDIA_TYPES: Final = {
    "docs.html": "text/html; charset=utf-8",
    "docs.css": "text/css; charset=utf-8",
    "rapidoc-min.js": "text/javascript; charset=utf-8",
}
"""The files of the page; no other file is served."""

_STATIC: Final = files("vedette.api") / "static"


@router.get("/openapi.json", summary="Description of all routes, OpenAPI 3.1")
def openapi(request: Request) -> Response:
    return json_answer(openapi_document(request.app))


@router.get("/docs", summary="A page that shows it")
def docs_page() -> Response:
    return _file("docs.html")


@router.get("/docs/{file}", summary="A file of that page")
def docs_file(file: str) -> Response:
    return _file(file)


def _file(name: str) -> Response:
    media_type = MEDIA_TYPES.get(name)
    if media_type is None:
        raise NotFoundError("there is no such page")
    headers = {
        "Content-Security-Policy": CONTENT_SECURITY_POLICY,
        "Referrer-Policy": "no-referrer",
        "Content-Type": media_type,
    }
    return Response((_STATIC / name).read_bytes(), headers=headers)
