"""Bodies that carry the credential of their request: enrolments, and everything osquery sends.

Until that credential is checked anybody may be the sender, so little is read, inflated and parsed:
`UNAUTHENTICATED_BODY_BYTES_MAX`, small enough for the event loop.
"""

import io
import zlib
from typing import Any, Final

import re2
import zstandard
from fastapi import Request

from vedette import limits
from vedette.api.http.request_bodies import (
    body_chunks,
    decode_off_loop,
    parsed_object,
    raw_body,
    too_large,
)
from vedette.errors import BadRequestError, UnauthorizedError

_TEXT_MEMBER: Final = (
    rb'^\s*\{(?:\s*"[^"\\]*"\s*:\s*(?:"(?:[^"\\]|\\.)*"|[-+.0-9A-Za-z]+)\s*,)*?'
    rb'\s*"%s"\s*:\s*"([^"\\]+)"'
)
"""A text member of a JSON object that stands before all nested ones."""

_NODE_KEY: Final = re2.compile(_TEXT_MEMBER % b"node_key")


class CredentialBody:
    """A body that carries the credential of its request, as osquery's do.

    A small body is read whole. Of a larger one only the beginning is read and inflated until the
    caller has checked the `node_key` there; `parsed` then reads the rest.
    """

    def __init__(self, request: Request, bytes_max: int) -> None:
        self._request = request
        self._stream = body_chunks(request, bytes_max)
        self._encoding = request.headers.get("content-encoding", "").strip().lower()
        self._sent = bytearray()
        self._is_whole = False
        self._small: dict[str, Any] | None = None

    async def node_key(self) -> object:
        """The member `node_key`, None where there is none.

        Raises BadRequestError for a body that is no JSON object, UnauthorizedError for a large
        one that does not begin with its key.
        """
        await self._read(limits.UNAUTHENTICATED_BODY_BYTES_MAX)
        beginning = self._beginning(limits.UNAUTHENTICATED_BODY_BYTES_MAX + 1)
        if self._is_whole and len(beginning) <= limits.UNAUTHENTICATED_BODY_BYTES_MAX:
            self._small = parsed_object(beginning)
            return self._small.get("node_key")
        found = _NODE_KEY.search(beginning[: limits.UNAUTHENTICATED_PREFIX_BYTES_MAX])
        if found is None:
            raise UnauthorizedError(
                "node_key: must stand before all other members in a body of this size"
            )
        return found.group(1).decode("utf-8", "replace")

    async def parsed(self, inflated_max: int) -> dict[str, Any]:
        """The whole body. Call it when the credential has been checked."""
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
        """Up to `bytes_max` bytes of the inflated body, of what was read. Raises BadRequestError
        for a damaged or unknown encoding."""
        sent = bytes(self._sent)
        match self._encoding:
            case "" | "identity":
                return sent[:bytes_max]
            case _ if self._is_whole and len(sent) <= limits.UNAUTHENTICATED_BODY_BYTES_MAX:
                return _inflated_beginning(sent, self._encoding, bytes_max)
            case _:
                return _inflated_beginning(
                    sent[: limits.UNAUTHENTICATED_BODY_BYTES_MAX], self._encoding, bytes_max
                )


async def credential_object(request: Request) -> dict[str, Any]:
    """The JSON object of a small body that carries its own credential, as enrolments do.

    Raises BadRequestError, TooLargeError above `UNAUTHENTICATED_BODY_BYTES_MAX` in either form.
    """
    return parsed_object(await unauthenticated_body(request))


async def unauthenticated_body(request: Request) -> bytes:
    """A small body, inflated, of a caller who is not known yet.

    Raises TooLargeError above `UNAUTHENTICATED_BODY_BYTES_MAX` in either form, BadRequestError
    for damaged compression.
    """
    bytes_max = limits.UNAUTHENTICATED_BODY_BYTES_MAX
    raw = await raw_body(request, bytes_max)
    encoding = request.headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        return raw
    body = _inflated_beginning(raw, encoding, bytes_max + 1)
    if len(body) > bytes_max:
        raise too_large(bytes_max)
    return body


def _inflated_beginning(raw: bytes, encoding: str, bytes_max: int) -> bytes:
    """The first `bytes_max` bytes of a compressed body, of one gzip member or zstd frame. Costs
    what it gives: nothing beyond is inflated. Raises BadRequestError."""
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
        f"Content-Encoding {encoding[:40]!r} is not served; gzip, deflate and zstd are",
        reason="bad_encoding",
    )
