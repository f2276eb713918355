"""Responses: JSON (encoded with orjson), files, or no body."""

from collections.abc import Iterator, Mapping
from typing import IO, Any, Final

import orjson
from starlette.responses import Response, StreamingResponse

from vedette.limits import Limit

FILE_ANSWER_PIECE_BYTES: Limit[int] = 256 * 1024
"""Bytes of a file that are sent at a time, so that no file is held in memory completely."""


JSON: Final = "application/json; charset=utf-8"


def json_answer(
    body: dict[str, Any] | list[Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Returns a JSON response. The body is never a scalar, because clients evaluate `"errorMessage"
    in body` (docs/clients.md#transport-and-errors)."""
    return raw_json(orjson.dumps(body), status, headers)


def raw_json(
    encoded: bytes, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Returns a response with JSON that is already encoded."""
    return Response(encoded, status, dict(headers or {}), media_type=JSON)


def empty_answer(status: int = 204) -> Response:
    return Response(status_code=status)


def file_answer(
    file: IO[bytes], name: str = "", media_type: str = "application/octet-stream"
) -> Response:
    """Returns a response that streams the whole open file from a thread, as a download if it has a
    name."""
    size = file.seek(0, 2)
    file.seek(0)
    headers = {"Content-Length": str(size)}
    if name:
        headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return StreamingResponse(_pieces(file), media_type=media_type, headers=headers)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(FILE_ANSWER_PIECE_BYTES):
            yield piece
