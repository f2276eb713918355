"""Bodies that contain the request's own credential: enrollments, and all requests of osquery.

Anybody can send such a request, so before the credential is checked the server reads, inflates and
parses at most `UNAUTHENTICATED_BODY_BYTES_MAX`, which is small enough for the event loop.
"""

import io
import zlib
from typing import Any, Final

import re2
import zstandard
from fastapi import Request

from vedette.errors import BadRequestError, UnauthorizedError
from vedette.limits import Limit
from vedette.web.http.bodies.request_bodies import (
    body_chunks,
    decode_off_loop,
    parsed_object,
    raw_body,
    too_large,
)

UNAUTHENTICATED_BODY_BYTES_MAX: Limit[int] = 64 * 1024
"""Bytes of a body, as sent and inflated, that the server reads before it has checked the credential
in the body. Enrollments have 1 kB."""

UNAUTHENTICATED_PREFIX_BYTES_MAX: Limit[int] = 4 * 1024
"""A larger body must contain its credential within its first so many bytes."""


_TEXT_MEMBER: Final = (
    rb'^\s*\{(?:\s*"[^"\\]*"\s*:\s*(?:"(?:[^"\\]|\\.)*"|[-+.0-9A-Za-z]+)\s*,)*?'
    rb'\s*"%s"\s*:\s*"([^"\\]+)"'
)
"""Pattern of a string member of a JSON object that precedes all nested members."""

_NODE_KEY: Final = re2.compile(_TEXT_MEMBER % b"node_key")


class CredentialBody:
    """A body that contains the request's credential, as in osquery's protocol.

    The server reads a small body completely. Of a larger body it reads and inflates only the
    beginning until the caller has checked the `node_key` there; `parsed` then reads the rest.
    """

    def __init__(self, request: Request, bytes_max: int) -> None:
        self._request = request
        self._stream = body_chunks(request, bytes_max)
        self._encoding = request.headers.get("content-encoding", "").strip().lower()
        self._sent = bytearray()
        self._is_whole = False
        self._small: dict[str, Any] | None = None

    async def node_key(self) -> object:
        """Returns the member `node_key`, None if it is missing.

        Raises BadRequestError if the body is not a JSON object, and UnauthorizedError if a large
        body does not contain the key in its first bytes.
        """
        await self._read(UNAUTHENTICATED_BODY_BYTES_MAX)
        beginning = self._beginning(UNAUTHENTICATED_BODY_BYTES_MAX + 1)
        if self._is_whole and len(beginning) <= UNAUTHENTICATED_BODY_BYTES_MAX:
            self._small = parsed_object(beginning)
            return self._small.get("node_key")
        found = _NODE_KEY.search(beginning[:UNAUTHENTICATED_PREFIX_BYTES_MAX])
        if found is None:
            raise UnauthorizedError("node_key: must be the first field in a body of this size")
        return found.group(1).decode("utf-8", "replace")

    async def parsed(self, inflated_max: int) -> dict[str, Any]:
        """Returns the complete body as a JSON object. Call only after checking the credential."""
        if self._small is not None:
            return self._small
        await self._read(None)
        raw, self._sent = bytes(self._sent), bytearray()
        return await decode_off_loop(
            self._request, raw, self._encoding, inflated_max, parsed_object
        )

    async def _read(self, bytes_enough: int | None) -> None:
        while not self._is_whole and (bytes_enough is None or len(self._sent) <= bytes_enough):
            chunk = await anext(self._stream, None)
            self._is_whole = chunk is None
            self._sent += chunk or b""

    def _beginning(self, bytes_max: int) -> bytes:
        """Returns up to `bytes_max` bytes of the inflated body from the bytes read so far. Raises
        BadRequestError for a damaged or unsupported encoding."""
        sent = bytes(self._sent)
        match self._encoding:
            case "" | "identity":
                return sent[:bytes_max]
            case _ if self._is_whole and len(sent) <= UNAUTHENTICATED_BODY_BYTES_MAX:
                return _inflated_beginning(sent, self._encoding, bytes_max)
            case _:
                return _inflated_beginning(
                    sent[:UNAUTHENTICATED_BODY_BYTES_MAX], self._encoding, bytes_max
                )


async def credential_object(request: Request) -> dict[str, Any]:
    """Returns the JSON object of a small body that contains its own credential, such as an
    enrollment.

    Raises BadRequestError, and TooLargeError if the body exceeds `UNAUTHENTICATED_BODY_BYTES_MAX`
    as sent or inflated.
    """
    return parsed_object(await unauthenticated_body(request))


async def unauthenticated_body(request: Request) -> bytes:
    """Returns the inflated body of a caller who is not authenticated yet.

    Raises TooLargeError if the body exceeds `UNAUTHENTICATED_BODY_BYTES_MAX` as sent or inflated,
    and BadRequestError for damaged compression.
    """
    bytes_max = UNAUTHENTICATED_BODY_BYTES_MAX
    raw = await raw_body(request, bytes_max)
    encoding = request.headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        return raw
    body = _inflated_beginning(raw, encoding, bytes_max + 1)
    if len(body) > bytes_max:
        raise too_large(bytes_max)
    return body


def _inflated_beginning(raw: bytes, encoding: str, bytes_max: int) -> bytes:
    """Returns the first `bytes_max` bytes of a compressed body with a single gzip member or zstd
    frame. Inflates nothing beyond them. Raises BadRequestError."""
    try:
        match encoding:
            case "gzip" | "x-gzip" | "deflate":
                return zlib.decompressobj(47).decompress(raw, bytes_max)
            case "zstd":
                inflater = zstandard.ZstdDecompressor(max_window_size=1 << 20)
                return inflater.stream_reader(io.BytesIO(raw)).read(bytes_max)
    except (zlib.error, zstandard.ZstdError) as error:
        raise BadRequestError(
            f"the compressed body is damaged: {error}", reason="bad_compression"
        ) from error
    raise BadRequestError(
        f"Content-Encoding {encoding[:40]!r} is not supported; use gzip, deflate, or zstd",
        reason="bad_encoding",
    )
