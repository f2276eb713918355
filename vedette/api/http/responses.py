"""Answers: JSON, encoded with orjson, files, or no body."""

from collections.abc import Iterator, Mapping
from typing import IO, Any, Final

import orjson
from starlette.responses import Response, StreamingResponse

from vedette.limits import FILE_ANSWER_PIECE_BYTES

JSON: Final = "application/json; charset=utf-8"


def json_answer(
    body: dict[str, Any] | list[Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON answer; clients evaluate `"errorMessage" in body`, so no scalars
    (docs/clients.md#transport-and-errors)."""
    return raw_json(orjson.dumps(body), status, headers)


def raw_json(
    encoded: bytes, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """JSON that is encoded already."""
    return Response(encoded, status, dict(headers or {}), media_type=JSON)


def empty_answer(status: int = 204) -> Response:
    return Response(status_code=status)


def file_answer(
    file: IO[bytes], name: str = "", media_type: str = "application/octet-stream"
) -> Response:
    """The whole open file, read in a thread while it is sent; a download with a name."""
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
