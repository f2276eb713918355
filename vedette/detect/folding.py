"""Text as anchors compare it."""

from typing import Final

_SAME: Final = str.maketrans({"\u017f": "s", "\u03c2": "\u03c3"})


def folded(text: str) -> str:
    """Lower case, and one letter for all that stand for it.

    Patterns without regard to case take the long s for an s, and Python writes a sigma in lower
    case after its place in a word. Where a text contains another without regard to case, it does
    so folded.
    """
    lower = text.lower()
    return lower if lower.isascii() else lower.translate(_SAME)
