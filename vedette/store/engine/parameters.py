"""Values of a question, written for the driver.

The driver looks at every character of every text by itself, which for a thousand process ids
costs more than the question they are asked in. So texts and lists of texts are written here, in
its own form (`clickhouse_connect.driver.binding.format_bind_value`), and it takes them as they
are.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

_SPECIAL: Final = re.compile(r"[\\'`\t\n]")


class Written:
    """A value that needs no writing any more."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


def written(params: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The values of a question, with its texts and lists of texts written."""
    return None if params is None else {name: _written(one) for name, one in params.items()}


def _written(value: Any) -> Any:
    if isinstance(value, str):
        return Written(_escaped(value))
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return Written("['" + "', '".join(map(_escaped, value)) + "']")
    return value


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text) if _SPECIAL.search(text) else text
