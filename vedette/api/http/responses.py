"""JSON answers, encoded with orjson: an object, an array, or no body."""

from collections.abc import Mapping
from typing import Any, Final

import orjson
from starlette.responses import Response

JSON: Final = "application/json; charset=utf-8"


class JsonResponse(Response):
    """Any JSON value, encoded at once."""

    media_type = JSON

    def render(self, content: Any) -> bytes:
        return orjson.dumps(content)


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
