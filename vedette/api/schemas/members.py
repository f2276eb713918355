"""Converters for members of a JSON body. Each raises ValueError that says what is expected."""

from typing import Any

from vedette.limits import MEMBER_CHARS_MAX


def flag(value: Any) -> bool:
    """A JSON boolean."""
    if not isinstance(value, bool):
        raise ValueError("must be true or false")  # noqa: TRY004 - one kind of error
    return value


def as_text(value: Any) -> str:
    """A JSON string of bounded length; "" for null."""
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > MEMBER_CHARS_MAX:
        raise ValueError(f"must be a text of at most {MEMBER_CHARS_MAX} characters")
    return value
