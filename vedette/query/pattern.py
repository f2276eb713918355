r"""Compiles the RE2 patterns of queries for searches in Python.

RE2 compiles every character class to a program and holds the interpreter lock meanwhile. Each
`\p{L}` of a pattern, with its 700 ranges, takes half a millisecond; each pattern of a query of a
hundred words blocked the event loop for 50 ms. Texts are therefore searched in a form in which the
only characters beyond ASCII are letters and digits. In that form an equivalent class is cheap.
"""

from dataclasses import dataclass
from typing import Any, Final

import re2

LETTER: Final = r"[\p{L}\p{N}_]"
"""Character of a word."""

GAP: Final = r"[^\p{L}\p{N}_]"
"""Character between words."""

_ASCII_GAP: Final = r"[\x00-/:-@\[-^`{-\x7f]"
_ASCII_LETTER: Final = r"(?-i:[^\x00-/:-@\[-^`{-\x7f])"
_GAPS_BEYOND_ASCII: Final = re2.compile(r"[^\x00-\x7f\p{L}\p{N}]+")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern, and whether texts must be converted for it."""

    regex: Any
    has_words: bool

    def text(self, encoded: bytes) -> bytes:
        """Returns a UTF-8 text in the form to search, with the same length."""
        if not self.has_words or encoded.isascii():
            return encoded
        return bytes(_GAPS_BEYOND_ASCII.sub(_spaces, encoded))

    def is_in(self, text: str) -> bool:
        return self.regex.search(self.text(text.encode("utf-8", "surrogatepass"))) is not None


def compile_pattern(pattern: str) -> Pattern:
    """Compiles a pattern whose only classes of letters are `LETTER` and `GAP`."""
    cheap = pattern.replace(LETTER, _ASCII_LETTER).replace(GAP, _ASCII_GAP)
    return Pattern(re2.compile(cheap), has_words=cheap != pattern)


def _spaces(match: Any) -> bytes:
    return b" " * len(match[0])
