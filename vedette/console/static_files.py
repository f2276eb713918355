"""The files that pages load: styles, modules, symbols, vendored libraries.

They lie under one address that holds a digest of all of them, so browsers may keep them for good
and the modules find each other by relative imports.
"""

import hashlib
from collections.abc import Mapping
from functools import cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from starlette.responses import Response

from vedette.api.http.pages import PAGE_TAG
from vedette.api.http.router import Router
from vedette.console.catalogue import ENGLISH, LANGUAGES, PSEUDO, translate
from vedette.console.script_text import with_text
from vedette.console.short_script import shortened
from vedette.errors import NotFoundError
from vedette.limits import STATIC_FILE_S

router = Router(tags=[PAGE_TAG], include_in_schema=False)

MEDIA_TYPES: Final[Mapping[str, str]] = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "json": "application/json",
}
"""By ending; no other file is served."""


@cache
def static_files(language: str = ENGLISH) -> Mapping[str, bytes]:
    """Content by path below `static/`, the texts of scripts in a language."""
    found: dict[str, bytes] = {}
    _collect(files("vedette.console") / "static", "", language, found)
    return found


@cache
def digest(language: str = ENGLISH) -> str:
    """Of all names and contents."""
    state = hashlib.sha256(language.encode())
    for name, content in sorted(static_files(language).items()):
        state.update(f"{name} {len(content)} ".encode() + content)
    return state.hexdigest()[:16]


def static_url(name: str, language: str = ENGLISH) -> str:
    """Where a file is served. KeyError for a file that does not exist."""
    _ = static_files(language)[name]
    return f"/ui/static/{digest(language)}/{name}"


@router.get("/ui/static/{version}/{name:path}", summary="A file of the pages")
async def static_file(version: str, name: str) -> Response:
    language = next((one for one in (*LANGUAGES, PSEUDO) if digest(one) == version), None)
    content = static_files(language).get(name) if language else None
    media_type = MEDIA_TYPES.get(name.rpartition(".")[2])
    if content is None or media_type is None:
        raise NotFoundError("there is no such file")
    headers = {
        "Cache-Control": f"public, max-age={STATIC_FILE_S}, immutable",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Content-Type": media_type,
    }
    return Response(content, headers=headers)


def _collect(folder: Traversable, prefix: str, language: str, found: dict[str, bytes]) -> None:
    for one in folder.iterdir():
        if one.is_dir():
            _collect(one, f"{prefix}{one.name}/", language, found)
        elif one.name.rpartition(".")[2] in MEDIA_TYPES:
            if one.name.endswith(".js") and not prefix:  # ours
                text = with_text(_script(one.name), partial(translate, language))
                found[prefix + one.name] = text.encode()
            else:
                found[prefix + one.name] = one.read_bytes()


@cache
def _script(name: str) -> str:
    """One of ours, as short as it is served."""
    return shortened((files("vedette.console") / "static" / name).read_text(encoding="utf-8"))
