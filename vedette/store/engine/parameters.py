"""Escapes bound texts faster than the driver.

The driver escapes character by character in Python, which for a thousand process ids costs more
than the query. Texts and lists of texts are escaped here, in the driver's own form
(`clickhouse_connect.driver.binding.format_bind_value`); the driver then passes them on unchanged.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

_SPECIAL: Final = re.compile(r"[\\'`\t\n]")


class EscapedText:
    """A text that is already escaped; the driver calls `str` on it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


def escaped(params: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Returns the parameters of a query, with texts and lists of texts escaped."""
    return None if params is None else {name: _escape_value(one) for name, one in params.items()}


def _escape_value(value: Any) -> Any:
    if isinstance(value, str):
        return EscapedText(_escaped(value))
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return EscapedText("['" + "', '".join(map(_escaped, value)) + "']")
    return value


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text) if _SPECIAL.search(text) else text
