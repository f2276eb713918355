"""Converters for members of a JSON body. Each raises ValueError with the expected form."""

from typing import Any

from vedette.limits import MEMBER_CHARS_MAX
from vedette.record.kinds import read_flag as flag

__all__ = ("as_text", "flag")


def as_text(value: Any) -> str:
    """Returns a JSON string of limited length; "" for null."""
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > MEMBER_CHARS_MAX:
        raise ValueError(f"must be a string of at most {MEMBER_CHARS_MAX} characters")
    return value
