"""Parses query parameters: whole numbers within bounds, times and flags.

Unknown parameters are ignored (docs/clients.md#aliases), so routes read each parameter from the
query themselves and declare it for OpenAPI with `described`.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from starlette.datastructures import QueryParams

from vedette.errors import BadRequestError
from vedette.query.check.time import moment_us

MOST: int = 1 << 53
"""Largest accepted whole number: the largest that JSON clients represent exactly."""

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,100}")
"""Stricter than `int`: no `1_000`, and no digits of other scripts."""

ID_MAX: int = (1 << 31) - 1
"""Largest id of a sensor or group that both state databases can store."""


TRUTHS: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}
"""Accepted texts of boolean parameters, in lower case."""


def whole_number(
    query: QueryParams, name: str, default: int, *, least: int = 0, most: int = MOST
) -> int:
    """Returns the number of a parameter, `default` if it is missing.

    Raises BadRequestError if it is empty, not a whole number or out of bounds.
    """
    found = optional_number(query, name, least=least, most=most)
    return default if found is None else found


def optional_number(
    query: QueryParams, name: str, *, least: int = 0, most: int = MOST
) -> int | None:
    """Returns the number of a parameter, None if it is missing. Raises like `whole_number`."""
    value = query.get(name)
    return None if value is None else bounded_number(name, value, least=least, most=most)


def bounded_number(name: str, value: object, *, least: int = 0, most: int = MOST) -> int:
    """Parses a whole number within bounds. Raises BadRequestError that names the parameter."""
    text = str(value).strip()
    if _WHOLE.fullmatch(text) is None:
        raise BadRequestError(f"{name}: {text[:40]!r} is not a whole number")
    number = int(text)
    if not least <= number <= most:
        raise BadRequestError(f"{name}: must be from {least} to {most}, not {number}")
    return number


def time_of(query: QueryParams, name: str, now_us: int) -> int | None:
    """Returns the time of a parameter, as a date, an ISO 8601 time or -24h; None if it is missing
    or empty. Raises BadRequestError."""
    text = query.get(name, "").strip()
    try:
        return moment_us(text, now_us) if text else None
    except ValueError as error:
        raise BadRequestError(f"{name}: {error}") from None


def flag(query: QueryParams, name: str, *, is_bare: bool = False) -> bool:
    """Returns whether a parameter is true; False if it is missing. With `is_bare` the name alone
    sets it, as in `?seek&by=5`. Raises BadRequestError."""
    value = query.get(name)
    if value is None:
        return False
    return True if is_bare and not value else truth_of(name, value)


def truth_of(name: str, text: str) -> bool:
    """Parses the text of a boolean parameter. Raises BadRequestError."""
    try:
        return TRUTHS[text.strip().lower()]
    except KeyError:
        raise BadRequestError(f"{name}: {text[:40]!r} is not true or false") from None


def described(*parameters: tuple[str, str], array: tuple[str, ...] = ()) -> dict[str, Any]:
    """Returns the OpenAPI declaration of query parameters given as (name, description). `array`
    names the repeatable parameters."""
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
