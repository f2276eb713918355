"""Gzip compression of large JSON responses and pages, for clients that accept it.

The length of a compressed response leaks information to an attacker who sees the length and
controls part of the content (BREACH). The server therefore compresses only responses of routes that
change nothing and return no secret. If the request carries a cookie, a page of this server or the
address bar must have initiated it. A page contains one secret, the CSRF token, which is masked
differently in each page (`credentials.masked_csrf_token`). Small responses, such as those to
sensors, are sent uncompressed. `static_file.py` compresses files.
"""

import zlib
from typing import Any, Final

from anyio import CapacityLimiter, to_thread
from starlette.types import Message, Scope

from vedette.limits import Limit
from vedette.web.http.responses import JSON
from vedette.web.http.rights.right import Access, Right

COMPRESSED_ANSWER_BYTES_MIN: Limit[int] = 8 * 1024
"""Minimum size of a compressed JSON response or page. Smaller responses fit into a round trip."""

COMPRESSION_LEVEL: Limit[int] = 1
"""Gzip level of responses: reduces them to a tenth at 150 MB/s; higher levels save another
fifth."""

CONCURRENT_COMPRESSIONS_MAX: Limit[int] = 2
"""Threads that compress responses. If all are busy, the response is sent uncompressed."""


GZIP_WBITS: Final = 31
"""Window bits for `zlib`: gzip header and trailer, largest window."""

HTML: Final = "text/html; charset=utf-8"

_VARY: Final = (b"vary", b"Accept-Encoding")


_WITH_SECRET: Final = frozenset({("GET", "/api/v1/session")})
"""Read-only routes whose response contains a secret, here the CSRF token."""


class Compressor:
    """Compresses responses of an application, with a limited number of threads."""

    def __init__(self) -> None:
        self._threads = CapacityLimiter(CONCURRENT_COMPRESSIONS_MAX)

    async def body_of(self, start: Message, message: Message) -> Message:
        """Returns the body message, compressed if a thread is free. Never waits for a thread.
        Updates the headers of `start` accordingly."""
        body = message.get("body", b"")
        if message.get("more_body") or not self._threads.available_tokens:
            return message
        compressed = await to_thread.run_sync(_compressed, body, limiter=self._threads)
        start["headers"] = [
            *((name, value) for name, value in start["headers"] if name != b"content-length"),
            (b"content-length", str(len(compressed)).encode()),
            (b"content-encoding", b"gzip"),
        ]
        return {**message, "body": compressed}


def _compressed(body: bytes) -> bytes:
    deflater = zlib.compressobj(COMPRESSION_LEVEL, wbits=GZIP_WBITS)
    return deflater.compress(body) + deflater.flush()


def vary(scope: Scope, start: Message) -> bool:
    """Returns whether the response may be compressed, and if so adds the Vary header for caches."""
    if not (_is_large(start["headers"]) and _tells_no_secret(scope)):
        return False
    start["headers"].append(_VARY)
    return True


def is_accepted(scope: Scope) -> bool:
    """Returns whether the client accepts gzip and the request's origin permits compression."""
    accepted, has_cookie, site = b"", False, b""
    for name, value in scope["headers"]:
        match name:
            case b"accept-encoding":
                accepted = value
            case b"cookie":
                has_cookie = True
            case b"sec-fetch-site":
                site = value
    return _takes_gzip(accepted) and (not has_cookie or site in (b"same-origin", b"none"))


def accepts_gzip(scope: Scope) -> bool:
    """Returns whether the client accepts gzip."""
    return any(
        name == b"accept-encoding" and _takes_gzip(value) for name, value in scope["headers"]
    )


def _takes_gzip(accepted: bytes) -> bool:
    for one in accepted.lower().split(b","):
        coding, _, weight = one.partition(b";")
        if coding.strip() == b"gzip":
            digits = weight.strip().removeprefix(b"q=").strip()
            return not digits or digits.strip(b"0.") != b""
    return False


def _is_large(headers: list[tuple[bytes, bytes]]) -> bool:
    given: dict[bytes, bytes] = dict(headers)
    size = given.get(b"content-length", b"0")
    return (
        given.get(b"content-type", b"").decode("latin-1") in (JSON, HTML)
        and b"content-encoding" not in given
        and int(size) >= COMPRESSED_ANSWER_BYTES_MIN
    )


def _tells_no_secret(scope: Scope) -> bool:
    route: Any = scope.get("route")
    access = getattr(route, "access", None)
    if not isinstance(access, Access) or (scope["method"], route.path) in _WITH_SECRET:
        return False
    return access.right is Right.OPEN or access.reads_only
