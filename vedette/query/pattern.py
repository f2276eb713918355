r"""Compiles the RE2 patterns of queries for searches in Python.

RE2 makes a program of every class of characters, and holds the interpreter lock meanwhile: each
`\p{L}` of a pattern, with its 700 ranges, takes half a millisecond, and a query of a hundred words
kept the event loop from its work for 50 ms with each of its patterns. So texts are searched in a
form in which all letters and digits beyond ASCII, and they alone, are characters beyond ASCII:
there the same class is cheap.
"""

from dataclasses import dataclass
from typing import Any, Final

import re2

LETTER: Final = r"[\p{L}\p{N}_]"
"""A character of a word."""

GAP: Final = r"[^\p{L}\p{N}_]"
"""A character between words."""

_ASCII_GAP: Final = r"[\x00-/:-@\[-^`{-\x7f]"
_ASCII_LETTER: Final = r"(?-i:[^\x00-/:-@\[-^`{-\x7f])"
_GAPS_BEYOND_ASCII: Final = re2.compile(r"[^\x00-\x7f\p{L}\p{N}]+")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern and the form of texts that it is searched in."""

    regex: Any
    has_words: bool

    def text(self, encoded: bytes) -> bytes:
        """A text in UTF-8 as it is searched: of the same length."""
        if not self.has_words or encoded.isascii():
            return encoded
        return bytes(_GAPS_BEYOND_ASCII.sub(_spaces, encoded))

    def is_in(self, text: str) -> bool:
        return self.regex.search(self.text(text.encode("utf-8", "surrogatepass"))) is not None


def compile_pattern(pattern: str) -> Pattern:
    """A pattern whose only classes of letters are `LETTER` and `GAP`."""
    cheap = pattern.replace(LETTER, _ASCII_LETTER).replace(GAP, _ASCII_GAP)
    return Pattern(re2.compile(cheap), has_words=cheap != pattern)


def _spaces(match: Any) -> bytes:
    return b" " * len(match[0])
