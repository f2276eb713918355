"""Substring prefilter: cheap case-insensitive checks of raw values before an exact test.

Normal forms of paths and word patterns cost ten times as much as a substring search, and a segment
has dozens of values. The prefilter is valid only for ASCII values, because case folding turns some
other letters into ASCII. The SQL passes all other values on to the exact test.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from vedette.limits import Limit
from vedette.query.typed import Test, TextTest

QUERY_PREFILTER_SUBSTRINGS_MAX: Limit[int] = 16
"""Maximum substrings of a prefilter; more cost as much as the exact test."""

QUERY_PREFILTER_WORD_CHARS_MIN: Limit[int] = 3
"""Minimum length (characters) of a word in a prefilter. Shorter words occur in most values."""


_PATHS: Final = frozenset({"path", "registry"})
_RENAMED: Final = "currentcontrolset"
"""Name that replaces others in the registry form."""


@dataclass(frozen=True, slots=True)
class Substring:
    """A folded ASCII substring, or suffix, of matching values."""

    text: str
    is_end: bool


def prefilter_substrings(tests: Iterable[Test]) -> list[Substring] | None:
    """Returns substrings of which every matching ASCII value contains at least one. None if a test
    has no substring, or if there are more than `QUERY_PREFILTER_SUBSTRINGS_MAX`."""
    found = dict.fromkeys(map(_substring_of, tests))
    if None in found or len(found) > QUERY_PREFILTER_SUBSTRINGS_MAX:
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
        Substring(word, is_end=False)
        if word.isascii() and len(word) >= QUERY_PREFILTER_WORD_CHARS_MIN
        else None
    )


def _is_renamed(test: TextTest, end: str) -> bool:
    """Whether the stored path may end in the replaced name, or in part of it."""
    is_whole_name = "\\" in test.needle or end.startswith(".")
    return end.startswith(_RENAMED) or not is_whole_name
