"""Memoization of functions of one text, for values that repeat in telemetry.

`functools.lru_cache` bounds the number of entries but not their length, and senders may write texts
of any length. A hit is one dictionary lookup, without a Python call.
"""

from collections.abc import Callable
from typing import TypeVar

from vedette.limits import MEMOIZED_CHARS_MAX

Value = TypeVar("Value")


class _Cache(dict[str, Value]):
    """Computes missing values; is cleared when it is full."""

    def __init__(self, function: Callable[[str], Value], texts_max: int) -> None:
        super().__init__()
        self._function = function
        self._texts_max = texts_max

    def __missing__(self, text: str) -> Value:
        value = self._function(text)
        if len(text) <= MEMOIZED_CHARS_MAX:
            if len(self) >= self._texts_max:
                self.clear()
            self[text] = value
        return value


def memoize(texts_max: int) -> Callable[[Callable[[str], Value]], Callable[[str], Value]]:
    """Decorator for a pure function of one text; caches up to `texts_max` results."""

    def decorate(function: Callable[[str], Value]) -> Callable[[str], Value]:
        return _Cache(function, texts_max).__getitem__

    return decorate
