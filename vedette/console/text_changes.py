"""How two texts differ, line by line."""

from collections.abc import Sequence
from difflib import unified_diff
from typing import Literal

from vedette.limits import DIFF_LINES_MAX

Line = tuple[Literal["added", "removed", "same", "place"], str]
"""What became of a line, and the line."""


def differences(before: str, after: str) -> Sequence[Line] | None:
    """The lines that differ, with three around each; None for texts too long to be compared."""
    old, new = before.splitlines(), after.splitlines()
    if len(old) + len(new) > DIFF_LINES_MAX:
        return None
    found = list(unified_diff(old, new, lineterm=""))[2:]  # without the names of files
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
