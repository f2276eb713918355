"""What a raw value surely shows when a test of its form is true: looked at first, because the
forms of paths and the patterns of words cost ten times as much, and a segment has dozens.

Only about values that are ASCII: case folding makes ASCII letters out of others.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from vedette.query.typed import Test, TextTest

TRAITS_MAX: Final = 16
"""More looks than this cost as much as the form itself."""

_WORD_CHARS_MIN: Final = 3
"""A shorter word is in most values."""

_PATHS: Final = frozenset({"path", "registry"})
_RENAMED: Final = "currentcontrolset"
"""What the registry form puts in the place of another name."""


@dataclass(frozen=True, slots=True)
class Trait:
    """Folded ASCII text that the value ends with, or else holds somewhere."""

    text: str
    is_end: bool


def traits(tests: Iterable[Test]) -> list[Trait] | None:
    """One of them shows in every ASCII value of which one of the tests is true; None when that
    cannot be said of all the tests, or is not worth it."""
    found = dict.fromkeys(map(_trait, tests))
    if None in found or len(found) > TRAITS_MAX:
        return None
    return [trait for trait in found if trait is not None]


def _trait(test: Test) -> Trait | None:
    if not isinstance(test, TextTest):
        return None
    if test.form in _PATHS and test.shape in ("equals", "ends", "ends_after"):
        end = test.needle.rpartition("\\")[2]
        if end and end.isascii() and not (test.form == "registry" and _is_renamed(test, end)):
            return Trait(end, is_end=True)
    if test.form not in _PATHS and test.shape != "matches":
        return None
    word = max(test.tokens, key=len, default="")
    return Trait(word, is_end=False) if word.isascii() and len(word) >= _WORD_CHARS_MIN else None


def _is_renamed(test: TextTest, end: str) -> bool:
    """Whether the stored path may end otherwise: with the other name, or a part of it."""
    is_whole_name = "\\" in test.needle or end.startswith(".")
    return end.startswith(_RENAMED) or not is_whole_name
