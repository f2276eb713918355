"""Compares two texts line by line."""

from collections.abc import Sequence
from difflib import unified_diff
from typing import Literal

from vedette.limits import Limit

DIFF_LINES_MAX: Limit[int] = 2_000
"""Total lines of two texts that a page compares. Texts constructed to be slow take a second at this
size."""


Line = tuple[Literal["added", "removed", "same", "place"], str]
"""Kind of change and text of a line."""


def differences(before: str, after: str) -> Sequence[Line] | None:
    """Returns the lines that differ, with three lines of context; None if the texts are too
    long."""
    old, new = before.splitlines(), after.splitlines()
    if len(old) + len(new) > DIFF_LINES_MAX:
        return None
    found = list(unified_diff(old, new, lineterm=""))[2:]  # skips the file names
    return [_line(one) for one in found]


def _line(text: str) -> Line:
    match text[:1]:
        case "+":
            return "added", text[1:]
        case "-":
            return "removed", text[1:]
        case "@":
            return "place", text
        case _:
            return "same", text[1:]
