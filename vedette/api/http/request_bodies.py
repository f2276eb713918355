"""Bodies of requests, read with a limit.

`raw_body` is for telemetry: bytes as sent, up to the server's setting. `json_object` is for the
rest of the API: one small JSON object, or nothing; `json_value` where a list may come.
"""

from typing import Any

import orjson
from fastapi import Request

from vedette import limits
from vedette.errors import BadRequestError, TooLargeError


async def raw_body(request: Request, bytes_max: int) -> bytes:
    """The body as sent. Raises TooLargeError as soon as it is known to exceed `bytes_max`."""
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > bytes_max:
        raise _too_large(bytes_max)
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > bytes_max:
            raise _too_large(bytes_max)
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


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
    if not raw.strip():
        return None
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"the body is not JSON: {error}") from error


def _too_large(bytes_max: int) -> TooLargeError:
    return TooLargeError(f"the body is larger than {bytes_max} bytes")
