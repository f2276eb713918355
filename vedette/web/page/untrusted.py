"""Makes text from telemetry safe to show.

Nothing is dropped. Characters that would hide or reorder adjacent text (controls, zero-width and
bidirectional marks, lone surrogates) are shown as codes in boxes, and names that mix scripts are
flagged. `static/untrusted.js` implements the same rules; both read `tests/corpus/untrusted.json`.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from vedette.limits import Limit

SHOWN_HEAD_CHARS: Limit[int] = 40
"""Characters at the start of a shortened value in a list."""

SHOWN_TAIL_CHARS: Limit[int] = 60
"""Characters at its end: the end of a path is its file name."""


HIDDEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Invisible characters, and characters that reorder others."""

_CONFUSABLE: Final = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC")
"""Scripts with letters that resemble letters of another script."""


def parts(text: str) -> Iterator[tuple[bool, str]]:
    """Yields the pieces of a text in order as (is a boxed code, text to show)."""
    at = 0
    for found in HIDDEN.finditer(text):
        if found.start() > at:
            yield False, text[at : found.start()]
        yield True, f"U+{ord(found[0]):04X}"
        at = found.end()
    if at < len(text):
        yield False, text[at:]


def shortened(text: str) -> tuple[str, str]:
    """Returns the start and the end of a text; the end is "" if the text is short enough to show
    completely. The end is longer, because the end of a path is its file name."""
    head, tail = SHOWN_HEAD_CHARS, SHOWN_TAIL_CHARS
    if len(text) <= head + tail + 1:
        return text, ""
    return text[:head], text[-tail:]


def mixes_scripts(text: str) -> bool:
    """Returns whether a word of the text has letters of several scripts that are easily
    confused."""
    if text.isascii():
        return False
    return any(len(_scripts(word)) > 1 for word in re.findall(r"[^\W\d_]+", text))


def _scripts(word: str) -> set[str]:
    names = (unicodedata.name(one, "").partition(" ")[0] for one in word)
    return {name for name in names if name in _CONFUSABLE}
