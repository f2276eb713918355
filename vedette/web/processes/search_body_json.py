"""Reads parameters of a posted search: a JSON object, or a form in the format of a URL query."""

from typing import Final
from urllib.parse import parse_qsl

from fastapi import Request

from vedette.errors import BadRequestError
from vedette.limits import Limit
from vedette.web.http.bodies.request_bodies import json_object, raw_body
from vedette.web.processes.search_parameters_json import body_pairs

SEARCH_FORM_BYTES_MAX: Limit[int] = 1_048_576
"""Bytes of a search posted as a form: ten times the longest request line."""

SEARCH_FORM_FIELDS_MAX: Limit[int] = 1_000
"""Fields of a search posted as a form."""


FORM: Final = "application/x-www-form-urlencoded"


async def posted_pairs(request: Request) -> list[tuple[str, str]]:
    """Returns the parameters of the body, then those of the URL. Raises BadRequestError and
    TooLargeError like `json_object`."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type == FORM:
        pairs = _form_pairs(await raw_body(request, SEARCH_FORM_BYTES_MAX))
    else:
        pairs = body_pairs(await json_object(request))
    return [*pairs, *request.query_params.multi_items()]


def _form_pairs(body: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            body.decode(),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=SEARCH_FORM_FIELDS_MAX,
        )
    except ValueError:
        message = f"the body must be a UTF-8 form with at most {SEARCH_FORM_FIELDS_MAX} fields"
        raise BadRequestError(message) from None
