"""Request bodies within bounds of bytes, memory and event loop time.

Every body is charged to the server's budget (`body_budget`). What is larger than
`SMALL_BODY_BYTES_MAX`, or compressed, is inflated and parsed in a thread. `raw_body` gives bytes as
sent, `decoded_body` without their Content-Encoding; `json_object` and `json_value` are for the JSON
bodies of the API. Bodies of callers who are not known yet are in `credential_bodies`.
"""

from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import orjson
from anyio import to_thread
from fastapi import Request

from vedette import limits
from vedette.api.body_budget import BodyLease
from vedette.errors import BadRequestError, TooLargeError
from vedette.ingest.framing.inflate import check_inflated_size, inflate
from vedette.limits import BODY_INFLATION_RATIO_EXPECTED

T = TypeVar("T")


def lease_of(request: Request) -> BodyLease:
    """The request's share of the budget; released when the request ends."""
    lease = request.scope["state"]["body_lease"]
    assert isinstance(lease, BodyLease)
    return lease


async def raw_body(request: Request, bytes_max: int) -> bytes:
    """The body as sent. Raises TooLargeError as soon as it is known to exceed `bytes_max`, and
    BusyError above the budget."""
    chunks = [chunk async for chunk in body_chunks(request, bytes_max)]
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def body_chunks(request: Request, bytes_max: int) -> AsyncIterator[bytes]:
    """The body in pieces as they arrive, each charged to the budget. Raises as `raw_body`."""
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
    """`inflate`, charged to a lease. Raises as `inflate` does, and BusyError. Blocks."""
    if encoding.strip().lower() in ("", "identity"):
        return inflate(raw, "", bytes_max)
    bytes_max = min(
        bytes_max, max(limits.BODY_INFLATED_BYTES_FREE, limits.BODY_INFLATION_RATIO_MAX * len(raw))
    )
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
    """What `decode` makes of the body without its Content-Encoding.

    Raises TooLargeError above either bound, BadRequestError for damaged compression, BusyError,
    and what `decode` raises.
    """
    raw = await raw_body(request, sent_max)
    encoding = request.headers.get("content-encoding", "")
    return await decode_off_loop(request, raw, encoding, inflated_max, decode)


async def decode_off_loop(
    request: Request, raw: bytes, encoding: str, inflated_max: int, decode: Callable[[bytes], T]
) -> T:
    """`decode` of an inflated body; in a thread unless it is small and plain."""
    lease = lease_of(request)
    if not encoding and len(raw) <= limits.SMALL_BODY_BYTES_MAX:
        return decode(inflate_within(lease, raw, "", inflated_max))
    return await to_thread.run_sync(
        lambda: decode(inflate_within(lease, raw, encoding, inflated_max)),
        limiter=lease.decoders,
    )


async def json_object(request: Request) -> dict[str, Any]:
    """The JSON object of a body; {} for an empty body and for `null`, which cbapi sends.

    Raises BadRequestError for anything else, TooLargeError above `REQUEST_BODY_BYTES_MAX`.
    """
    body = await json_value(request)
    if body is None:
        return {}
    if not isinstance(body, dict):
        raise BadRequestError("the body must be a JSON object")
    return body


async def json_value(request: Request) -> Any:
    """The JSON value of a body; None for an empty one.

    Raises BadRequestError for what is no JSON, TooLargeError above `REQUEST_BODY_BYTES_MAX`.
    """
    raw = await raw_body(request, limits.REQUEST_BODY_BYTES_MAX)
    return await decode_off_loop(request, raw, "", limits.REQUEST_BODY_BYTES_MAX, _json_or_none)


def parsed_object(body: bytes) -> dict[str, Any]:
    """The JSON object of a body. Raises BadRequestError."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"the body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise BadRequestError("the body must be a JSON object")
    return value


def _json_or_none(body: bytes) -> Any:
    if not body.strip():
        return None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"the body is not JSON: {error}") from error


def too_large(bytes_max: int) -> TooLargeError:
    return TooLargeError(f"the body is larger than {bytes_max} bytes")
