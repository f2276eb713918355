"""Substring prefilter: cheap case-insensitive checks on raw values before an exact test.

Normal forms of paths and word patterns cost ten times as much as a substring search, and a segment
has dozens of values. Holds for ASCII values only, because case folding makes ASCII letters out of
others; the SQL passes all other values on.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from vedette.query.typed import Test, TextTest

SUBSTRINGS_MAX: Final = 16
"""Substrings of one prefilter; more cost as much as the exact test."""

_WORD_CHARS_MIN: Final = 3
"""Shorter words occur in most values."""

_PATHS: Final = frozenset({"path", "registry"})
_RENAMED: Final = "currentcontrolset"
"""The name that the registry form replaces others with."""


@dataclass(frozen=True, slots=True)
class Substring:
    """A folded ASCII substring, or suffix, that matching values have."""

    text: str
    is_end: bool


def prefilter_substrings(tests: Iterable[Test]) -> list[Substring] | None:
    """Substrings of which every matching ASCII value has one; None when a test has none, or there
    are more than `SUBSTRINGS_MAX`."""
    found = dict.fromkeys(map(_substring_of, tests))
    if None in found or len(found) > SUBSTRINGS_MAX:
        return None
    return [trait for trait in found if trait is not None]


def _substring_of(test: Test) -> Substring | None:
    if not isinstance(test, TextTest):
        return None
    if test.form in _PATHS and test.shape in ("equals", "ends", "ends_after"):
        end = test.needle.rpartition("\\")[2]
        if end and end.isascii() and not (test.form == "registry" and _is_renamed(test, end)):
            return Substring(end, is_end=True)
    if test.form not in _PATHS and test.shape != "matches":
        return None
    word = max(test.tokens, key=len, default="")
    return (
        Substring(word, is_end=False) if word.isascii() and len(word) >= _WORD_CHARS_MIN else None
    )


def _is_renamed(test: TextTest, end: str) -> bool:
    """Whether the stored path may end in the replaced name, or in a part of it."""
    is_whole_name = "\\" in test.needle or end.startswith(".")
    return end.startswith(_RENAMED) or not is_whole_name
