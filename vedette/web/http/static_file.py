"""Files that the server sends unchanged to every client: compressed once, revalidated by ETag.

Static files contain no secret and no request data, so their length reveals nothing (BREACH). Unlike
other responses, they are compressed for every client that accepts gzip.
"""

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fastapi import Request
from starlette.responses import Response

from vedette.limits import Limit
from vedette.web.http.bodies.compression import GZIP_WBITS, accepts_gzip

STATIC_COMPRESSION_LEVEL: Limit[int] = 9
"""Gzip level of static files. They are compressed once, at startup, in 0.2 s."""


_SHOWN_DIGITS: Final = 32


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file as sent; `compressed` is None if gzip saves nothing."""

    content: bytes
    media_type: str
    compressed: bytes | None
    digest: str

    def answer(self, request: Request, headers: Mapping[str, str]) -> Response:
        """Returns the file in an encoding that the client accepts, or 304 if the client has this
        version."""
        compressed = self.compressed if accepts_gzip(request.scope) else None
        tag = f'"{self.digest}"' if compressed is None else f'"{self.digest}-gzip"'
        given = {**headers, "ETag": tag, "Vary": "Accept-Encoding"}
        if _has_version(request, tag):
            return Response(status_code=304, headers=given)
        given["Content-Type"] = self.media_type
        if compressed is None:
            return Response(self.content, headers=given)
        return Response(compressed, headers=given | {"Content-Encoding": "gzip"})


def static_file(content: bytes, media_type: str) -> StaticFile:
    """Returns a file with its compressed form. Compressing 10 kB of text takes a millisecond."""
    deflater = zlib.compressobj(STATIC_COMPRESSION_LEVEL, wbits=GZIP_WBITS)
    compressed = deflater.compress(content) + deflater.flush()
    digest = hashlib.sha256(content).hexdigest()[:_SHOWN_DIGITS]
    is_shorter = len(compressed) < len(content)
    return StaticFile(content, media_type, compressed if is_shorter else None, digest)


def _has_version(request: Request, tag: str) -> bool:
    """Returns whether `If-None-Match` matches the tag (RFC 9110, 13.1.2: weak comparison)."""
    sent = request.headers.get("if-none-match", "")
    return sent.strip() == "*" or tag in (one.strip().removeprefix("W/") for one in sent.split(","))
