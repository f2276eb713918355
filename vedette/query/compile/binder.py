"""Bound values of a statement, and OR of expressions."""

from collections.abc import Iterable
from typing import Any


class Binder:
    """Collects the bound values of a statement. Parameters are named `<prefix>0`, `<prefix>1`
    ..."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.params: dict[str, Any] = {}

    def __call__(self, kind: str, value: Any) -> str:
        """Binds a value of a ClickHouse type. Returns its placeholder."""
        name = f"{self.prefix}{len(self.params)}"
        self.params[name] = value
        return f"{{{name}:{kind}}}"


def either(parts: Iterable[str]) -> str:
    """Returns the OR of the distinct expressions, in brackets if there are several."""
    found = list(dict.fromkeys(parts))
    return found[0] if len(found) == 1 else f"({' OR '.join(found)})"
