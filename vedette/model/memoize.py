"""Functions that remember what they gave for the texts of late.

What senders write repeats, and they may write what they like: `functools.lru_cache` bounds how many
texts it keeps, not how long they are. A text that is remembered costs no call at all.
"""

from collections.abc import Callable
from typing import TypeVar

from vedette.limits import MEMOIZED_CHARS_MAX

Value = TypeVar("Value")


class _Memory(dict[str, Value]):
    """Fills itself; begins anew when it is full."""

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


def remembered(texts_max: int) -> Callable[[Callable[[str], Value]], Callable[[str], Value]]:
    """Decorates a function of one text, whose values never change; keeps up to `texts_max`."""

    def decorate(function: Callable[[str], Value]) -> Callable[[str], Value]:
        return _Memory(function, texts_max).__getitem__

    return decorate
