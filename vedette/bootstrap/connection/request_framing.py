"""Detects requests with an ambiguous end, and builds responses without the application.

The parser rejects most requests that two servers could delimit differently: two lengths, a length
with chunks, folded fields, bare CR and LF. This module rejects the rest. For a request with
`Upgrade`, the parser treats the body as another protocol and would read it as the next request.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import orjson

from vedette import limits

Headers = Iterable[tuple[bytes, bytes]]
"""Names are in lower case."""

_VERSIONS: Final = frozenset({"1.0", "1.1"})


@dataclass(frozen=True, slots=True)
class HttpRefusal:
    """A response without the application, after which the connection closes."""

    status: int
    reason: str
    message: str

    def answer(self) -> bytes:
        body = orjson.dumps({"reason": self.reason, "message": self.message})
        return (
            b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
            b"connection: close\r\n\r\n%s"
            % (self.status, HTTPStatus(self.status).phrase.encode(), len(body), body)
        )


def framing_refusal(version: str, headers: Headers, is_upgrade: bool) -> HttpRefusal | None:
    """Returns the refusal of a request because of its version or the form of its body, or None.
    `is_upgrade`: the parser skips its body."""
    if version not in _VERSIONS:
        return HttpRefusal(400, "bad_request", "this server speaks HTTP/1.1 and HTTP/1.0")
    for name, value in headers:
        if is_upgrade and _announces_body(name, value):
            return HttpRefusal(400, "bad_request", "Upgrade with a body is not served")
        if name != b"transfer-encoding":
            continue
        if version == "1.0":
            return HttpRefusal(400, "bad_request", "HTTP/1.0 has no Transfer-Encoding")
        if value.strip().lower() != b"chunked":
            return HttpRefusal(400, "bad_request", "the only Transfer-Encoding served is chunked")
    return None


def _announces_body(name: bytes, value: bytes) -> bool:
    return name == b"transfer-encoding" or (name == b"content-length" and int(value) > 0)


def is_body_small(headers: Headers) -> bool:
    """Whether the announced body costs less to read than a new connection."""
    for name, value in headers:
        if name == b"content-length":
            return int(value) <= limits.SMALL_BODY_BYTES_MAX
    return False
