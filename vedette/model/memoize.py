"""Memoization of functions of a single text, for values that repeat in telemetry.

`functools.lru_cache` bounds the number of entries but not their length, and senders may write texts
of any length. A cache hit is one dictionary lookup without a Python call.
"""

from collections.abc import Callable
from typing import TypeVar

from vedette.limits import Limit

MEMOIZED_CHARS_MAX: Limit[int] = 512
"""Longest text (characters) whose conversion is cached. Longer texts are converted each time, to
bound memory."""


Value = TypeVar("Value")


class _Cache(dict[str, Value]):
    """Computes missing values. Clears itself when full."""

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
    """Decorates a pure function of a single text. Caches up to `texts_max` results."""

    def decorate(function: Callable[[str], Value]) -> Callable[[str], Value]:
        return _Cache(function, texts_max).__getitem__

    return decorate
