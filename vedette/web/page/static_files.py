"""The files that pages load: styles, modules, icons, vendored libraries.

Scripts are served as written, except for translated texts. All files share a path prefix with a
digest of all files, so that browsers may cache them forever and modules import each other by
relative paths.
"""

import hashlib
from collections.abc import Mapping
from functools import cache, partial
from typing import Final

from fastapi import Request
from starlette.responses import Response

from vedette.errors import NotFoundError
from vedette.file_tree import regular_files
from vedette.limits import Limit
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.static_file import StaticFile, static_file
from vedette.web.page.catalogue import ENGLISH, LANGUAGES, PSEUDO, translate
from vedette.web.page.script_text import with_text
from vedette.web.page.web_files import STATIC, scripts

STATIC_FILE_S: Limit[int] = 365 * 24 * 3600
"""Seconds that browsers cache a file; its address changes with its content."""


router = Router(tags=[PAGE_TAG], include_in_schema=False)

MEDIA_TYPES: Final[Mapping[str, str]] = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "json": "application/json",
}
"""Media type by file extension; no other file is served."""


@cache
def static_files(language: str = ENGLISH) -> Mapping[str, StaticFile]:
    """Returns the files by the name that follows the digest in the address, with scripts in the
    given language."""
    found: dict[str, StaticFile] = {}
    for path in regular_files(STATIC):
        media_type = MEDIA_TYPES.get(path.suffix.lstrip("."))
        if media_type is not None:
            found[path.relative_to(STATIC).as_posix()] = static_file(path.read_bytes(), media_type)
    for name, path in scripts().items():
        content = with_text(path.read_text("utf-8"), partial(translate, language)).encode()
        found[name] = static_file(content, MEDIA_TYPES["js"])
    return found


@cache
def digest(language: str = ENGLISH) -> str:
    """Returns a digest of all names and contents."""
    state = hashlib.sha256(language.encode())
    for name, file in sorted(static_files(language).items()):
        state.update(f"{name} {file.digest} ".encode())
    return state.hexdigest()[:16]


def prepare() -> None:
    """Reads and compresses the files in each language, so that no request has to wait."""
    for language in LANGUAGES:
        digest(language)


def static_url(name: str, language: str = ENGLISH) -> str:
    """Returns the address of a file. Raises KeyError for a file that does not exist."""
    _ = static_files(language)[name]
    return f"/ui/static/{digest(language)}/{name}"


@router.get("/ui/static/{version}/{name:path}", right=Right.OPEN, summary="Get a static file")
async def get_static_file(request: Request, version: str, name: str) -> Response:
    language = next((one for one in (*LANGUAGES, PSEUDO) if digest(one) == version), None)
    file = static_files(language).get(name) if language else None
    if file is None:
        raise NotFoundError("file not found")
    headers = {
        "Cache-Control": f"public, max-age={STATIC_FILE_S}, immutable",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    return file.answer(request, headers)
