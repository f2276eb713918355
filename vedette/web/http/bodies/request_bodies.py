"""Reads request bodies within limits of bytes, memory and event loop time.

Every body is charged to the server's budget (`body_budget`). Bodies that are compressed or larger
than `SMALL_BODY_BYTES_MAX` are inflated and parsed in a thread. `raw_body` returns the bytes as
sent and `decoded_body` decodes their Content-Encoding; `json_object` and `json_value` read the JSON
bodies of the API. `credential_bodies` reads bodies of callers who are not authenticated yet.
"""

from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import orjson
from anyio import to_thread
from fastapi import Request

from vedette import limits
from vedette.errors import BadRequestError, TooLargeError
from vedette.ingest.framing.inflate import check_inflated_size, inflate
from vedette.limits import Limit
from vedette.web.http.bodies.body_budget import BodyLease

BODY_INFLATION_RATIO_MAX: Limit[int] = 100
"""Maximum ratio of inflated to compressed size for bodies above `BODY_INFLATED_BYTES_FREE`; the
server answers 413 beyond it. Without the limit a bomb of 200 kB would keep a core busy for a
minute."""

BODY_INFLATED_BYTES_FREE: Limit[int] = 32 * 1024 * 1024
"""Bytes that a body may inflate to regardless of its ratio: repeated lines compress extremely
well."""

BODY_INFLATION_RATIO_EXPECTED: Limit[int] = 32
"""Maximum ratio of inflated to compressed size that the server expects; JSON logs reach 25. A body
that exceeds it is measured first, then inflated again with the full limit charged."""


T = TypeVar("T")


def lease_of(request: Request) -> BodyLease:
    """Returns the request's share of the body budget, which is released when the request ends."""
    lease = request.scope["state"]["body_lease"]
    assert isinstance(lease, BodyLease)
    return lease


async def raw_body(request: Request, bytes_max: int) -> bytes:
    """Returns the body as sent. Raises TooLargeError as soon as it exceeds `bytes_max`, and
    BusyError above the budget."""
    chunks = [chunk async for chunk in body_chunks(request, bytes_max)]
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def body_chunks(request: Request, bytes_max: int) -> AsyncIterator[bytes]:
    """Yields the body in chunks as they arrive and charges each to the budget. Raises like
    `raw_body`."""
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced[:20]) > bytes_max:
        raise too_large(bytes_max)
    lease, size = lease_of(request), 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > bytes_max:
            raise too_large(bytes_max)
        if chunk:
            lease.charge(len(chunk))
            yield chunk


def inflate_within(lease: BodyLease, raw: bytes, encoding: str, bytes_max: int) -> bytes:
    """Like `inflate`, but charges the inflated size to a lease. Also raises BusyError. Blocks."""
    if encoding.strip().lower() in ("", "identity"):
        return inflate(raw, "", bytes_max)
    bytes_max = min(bytes_max, max(BODY_INFLATED_BYTES_FREE, BODY_INFLATION_RATIO_MAX * len(raw)))
    expected = min(
        bytes_max, BODY_INFLATION_RATIO_EXPECTED * len(raw) + limits.SMALL_BODY_BYTES_MAX
    )
    try:
        return _charged(lease, raw, encoding, expected)
    except TooLargeError:
        if expected == bytes_max:
            raise
    check_inflated_size(raw, encoding, bytes_max)
    return _charged(lease, raw, encoding, bytes_max)


def _charged(lease: BodyLease, raw: bytes, encoding: str, bytes_max: int) -> bytes:
    lease.charge(bytes_max)
    body = b""
    try:
        body = inflate(raw, encoding, bytes_max)
    finally:
        lease.credit(bytes_max - len(body))
    return body


async def decoded_body(
    request: Request, sent_max: int, inflated_max: int, decode: Callable[[bytes], T]
) -> T:
    """Returns the result of `decode` for the body without its Content-Encoding.

    Raises TooLargeError above either limit, BadRequestError for damaged compression, BusyError, and
    the errors of `decode`.
    """
    raw = await raw_body(request, sent_max)
    encoding = request.headers.get("content-encoding", "")
    return await decode_off_loop(request, raw, encoding, inflated_max, decode)


async def decode_off_loop(
    request: Request, raw: bytes, encoding: str, inflated_max: int, decode: Callable[[bytes], T]
) -> T:
    """Inflates a body and calls `decode`, in a thread unless the body is small and not
    compressed."""
    lease = lease_of(request)
    if not encoding and len(raw) <= limits.SMALL_BODY_BYTES_MAX:
        return decode(inflate_within(lease, raw, "", inflated_max))
    return await to_thread.run_sync(
        lambda: decode(inflate_within(lease, raw, encoding, inflated_max)),
        limiter=lease.decoders,
    )


async def json_object(request: Request) -> dict[str, Any]:
    """Returns the JSON object of a body; {} for an empty body and for `null`, which cbapi sends.

    Raises BadRequestError for any other value, TooLargeError above `REQUEST_BODY_BYTES_MAX`.
    """
    body = await json_value(request)
    if body is None:
        return {}
    if not isinstance(body, dict):
        raise BadRequestError("the body must be a JSON object")
    return body


async def json_value(request: Request) -> Any:
    """Returns the JSON value of a body, which may be compressed; None for an empty body.

    Raises BadRequestError for invalid JSON and damaged compression, TooLargeError above
    `REQUEST_BODY_BYTES_MAX` as sent or inflated, and BusyError.
    """
    bytes_max = limits.REQUEST_BODY_BYTES_MAX
    return await decoded_body(request, bytes_max, bytes_max, json_or_none)


def parsed_object(body: bytes) -> dict[str, Any]:
    """Parses a JSON object. Raises BadRequestError."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"the body is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise BadRequestError("the body must be a JSON object")
    return value


def json_or_none(body: bytes) -> Any:
    if not body.strip():
        return None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"the body is not valid JSON: {error}") from error


def too_large(bytes_max: int) -> TooLargeError:
    return TooLargeError(f"the body is larger than {bytes_max} bytes")
