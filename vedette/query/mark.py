"""Mark what a query matched in a text: spans of pattern matches, and the text with markers
around them.

Pure and bounded: a search position always moves forward, a value has at most
`HIGHLIGHT_MARKS_MAX` marks, and a `Budget` limits the characters that one page may search.
Values are searched as UTF-8 bytes, because the regular expression library encodes a `str` anew
for every search, which makes many matches in one value quadratic.
"""

from collections.abc import Iterable, Iterator, Sequence

from vedette import limits
from vedette.query.pattern import Pattern

Spans = list[tuple[int, int]]
"""Start and end of marks, in characters, in order, without overlaps."""


class Budget:
    """Characters that may still be searched for marks; each pattern counts its value once."""

    def __init__(self, chars: int = limits.HIGHLIGHT_SEARCHED_CHARS_MAX) -> None:
        self.chars = chars

    def take(self, chars: int) -> bool:
        """Whether something was left, before this."""
        had, self.chars = self.chars > 0, self.chars - chars
        return had


def spans(patterns: Sequence[Pattern], value: str, budget: Budget | None = None) -> Spans:
    """Where the first groups of patterns match; [] when the budget is spent. Empty
    matches mark nothing."""
    encoded = value.encode("utf-8", "surrogatepass")
    found: list[tuple[int, int]] = []
    for pattern in patterns:
        if budget is not None and not budget.take(len(value) + 1):
            break
        found.extend(_matches(pattern, pattern.text(encoded)))
    return _in_characters(encoded, _merged(sorted(found)))


def marked(value: str, found: Spans, before: str, after: str) -> str:
    """The value with markers around its spans."""
    parts = []
    position = 0
    for start, end in found:
        parts += [value[position:start], before, value[start:end], after]
        position = end
    return "".join([*parts, value[position:]])


def _matches(pattern: Pattern, text: bytes) -> Iterator[tuple[int, int]]:
    """Spans in bytes. The next search begins where the group ended, not the match: a separator
    behind one match may be the one in front of the next."""
    position = 0
    for _ in range(limits.HIGHLIGHT_MARKS_MAX):
        match = pattern.regex.search(text, position)
        if match is None:
            return
        start, end = match.span(1)
        if end > start:
            yield start, end
        position = max(end, position + 1)
        if position >= len(text):
            return


def _merged(found: Iterable[tuple[int, int]]) -> Spans:
    """Sorted spans without overlaps, at most `HIGHLIGHT_MARKS_MAX`."""
    merged: Spans = []
    for start, end in found:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged[: limits.HIGHLIGHT_MARKS_MAX]


def _in_characters(text: bytes, found: Spans) -> Spans:
    """Offsets in bytes as offsets in characters, in one pass."""
    if text.isascii():
        return found
    counted: Spans = []
    characters = position = 0
    for start, end in found:
        characters += _length(text[position:start])
        begin = characters
        characters += _length(text[start:end])
        counted.append((begin, characters))
        position = end
    return counted


def _length(text: bytes) -> int:
    return len(text.decode("utf-8", "surrogatepass"))
