"""Parsing of query parameters: whole numbers with bounds, and flags.

Unknown parameters are ignored (docs/clients.md#aliases), so routes read each parameter from the
query themselves and declare it for OpenAPI with `described`.
"""

import re
from typing import Any, Final

from starlette.datastructures import QueryParams

from vedette.errors import BadRequestError
from vedette.query.check.time import moment_us

MOST: int = 1 << 53
"""Largest whole number that is accepted: what JSON clients represent exactly."""

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,100}")
"""Not all that `int` takes: no `1_000`, and no digits of other scripts."""

ID_MAX: int = (1 << 31) - 1
"""Largest id of a sensor or group: what both state databases hold."""


def whole_number(
    query: QueryParams, name: str, default: int, *, least: int = 0, most: int = MOST
) -> int:
    """The number of a parameter; `default` when it is missing or empty.

    Raises BadRequestError when it is no whole number or out of bounds.
    """
    return bounded_number(name, query.get(name, "") or default, least=least, most=most)


def bounded_number(name: str, value: object, *, least: int = 0, most: int = MOST) -> int:
    """A value as a whole number within bounds. Raises BadRequestError, naming the parameter."""
    text = str(value).strip()
    if _WHOLE.fullmatch(text) is None:
        raise BadRequestError(f"{name}: {text[:40]!r} is not a whole number")
    number = int(text)
    if not least <= number <= most:
        raise BadRequestError(f"{name}: must be from {least} to {most}, not {number}")
    return number


def time_of(query: QueryParams, name: str, now_us: int) -> int | None:
    """The time of a parameter: a date, a time in ISO 8601, or -24h; None where there is none.
    Raises BadRequestError."""
    text = query.get(name, "").strip()
    try:
        return moment_us(text, now_us) if text else None
    except ValueError as error:
        raise BadRequestError(f"{name}: {error}") from None


def flag(query: QueryParams, name: str) -> bool:
    """Whether a parameter is set: given empty, as `true` or as `1`. Raises BadRequestError."""
    match query.get(name, "false").lower():
        case "" | "true" | "1":
            return True
        case "false" | "0":
            return False
    raise BadRequestError(f"{name}: must be true or false")


def described(*parameters: tuple[str, str], array: tuple[str, ...] = ()) -> dict[str, Any]:
    """OpenAPI for query parameters given as (name, description); `array` names repeatable ones."""
    return {
        "parameters": [
            {
                "name": name,
                "in": "query",
                "description": text,
                "schema": {"type": "array", "items": {"type": "string"}}
                if name in array
                else {"type": "string"},
            }
            for name, text in parameters
        ]
    }
