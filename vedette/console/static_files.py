"""The files that pages load: styles, modules, symbols, vendored libraries.

They lie under one address that holds a digest of all of them, so browsers may keep them for good
and the modules find each other by relative imports.
"""

import hashlib
import re
from collections.abc import Mapping
from functools import cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from vedette.api.http.pages import PAGE_TAG
from vedette.console.catalogue import ENGLISH, LANGUAGES, PSEUDO, translate
from vedette.console.script_text import with_text
from vedette.errors import NotFoundError
from vedette.limits import STATIC_FILE_S

router = APIRouter(tags=[PAGE_TAG], include_in_schema=False)

MEDIA_TYPES: Final[Mapping[str, str]] = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "json": "application/json",
}
"""By ending; no other file is served."""


_COMMENT: Final = re.compile(rb""" // [^"'`]*$""")
_LITERAL: Final = re.compile(rb"""['`/]""")
_QUOTED: Final = re.compile(rb"""(?s)("(?:[^"\\]|\\.)*\\?(?:"|\Z))""")
_BESIDE_MARKS: Final = re.compile(rb" ?([=(){}\[\],;:?<>&|!*]) ?")


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
            content = one.read_bytes()
            if one.name.endswith(".js") and not prefix:  # ours
                text = with_text(content.decode(), partial(translate, language))
                content = _without_layout(text.encode())
            found[prefix + one.name] = content


def _without_layout(script: bytes) -> bytes:
    """A script without indentation, comments, and spaces beside marks, but within "quotes" and on
    lines with any other literal: a sixth of its bytes. No literal of ours spans lines, which a
    test holds: so what follows ` // ` without a quote after it is a comment, and a line is joined
    to the one before where no statement could end between them."""
    made, before = bytearray(), b";"
    for line in filter(None, (_line(line.strip()) for line in script.split(b"\n"))):
        made += line if _is_joined(before, line) else b"\n" + line
        before = line
    return bytes(made)


def _is_joined(before: bytes, line: bytes) -> bool:
    goes_on = before[-1] in b";{,([" or line[0] in b")].?:"
    return b" // " not in before and (goes_on or (before[-1] == line[0] == ord("}")))


def _line(line: bytes) -> bytes:
    if line.startswith(b"//"):
        return b""
    line = _COMMENT.sub(b"", line)
    parts = _QUOTED.split(line)  # what is quoted is every second one
    if any(map(_LITERAL.search, parts[::2])):
        return line
    parts[::2] = [_BESIDE_MARKS.sub(rb"\1", part) for part in parts[::2]]
    return b"".join(parts)
