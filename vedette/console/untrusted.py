"""Text from telemetry as a reader may see it.

Nothing is dropped: characters that would hide or reorder what stands beside them (controls,
zero-width and bidirectional marks, lone surrogates) are named in boxes instead, and names that mix
scripts are marked. `static/untrusted.js` does the same; both read `tests/corpus/untrusted.json`.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from vedette import limits

HIDDEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Characters that are not seen, or that move others."""

_CONFUSABLE: Final = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC")
"""Scripts with letters that look like those of another."""


def parts(text: str) -> Iterator[tuple[bool, str]]:
    """The pieces of a text in order: whether a piece is a boxed code, and what to show."""
    at = 0
    for found in HIDDEN.finditer(text):
        if found.start() > at:
            yield False, text[at : found.start()]
        yield True, f"U+{ord(found[0]):04X}"
        at = found.end()
    if at < len(text):
        yield False, text[at:]


def shortened(text: str) -> tuple[str, str]:
    """Head and tail of a text: the tail is "" for one that is short enough to be shown whole. The
    tail of a path is its file name, so that much of it stays."""
    head, tail = limits.SHOWN_HEAD_CHARS, limits.SHOWN_TAIL_CHARS
    if len(text) <= head + tail + 1:
        return text, ""
    return text[:head], text[-tail:]


def mixes_scripts(text: str) -> bool:
    """Whether a word of a text has letters of several scripts that are easily confused."""
    if text.isascii():
        return False
    return any(len(_scripts(word)) > 1 for word in re.findall(r"[^\W\d_]+", text))


def _scripts(word: str) -> set[str]:
    names = (unicodedata.name(one, "").partition(" ")[0] for one in word)
    return {name for name in names if name in _CONFUSABLE}
