"""Marks the matches of a query in a text: spans of pattern matches, and the text with markers
around them.

Pure and bounded: a search position always moves forward, a value has at most `HIGHLIGHT_MARKS_MAX`
marks, and a `Budget` limits the characters that a page may search. Values are searched as UTF-8
bytes, because the regular expression library encodes a `str` again for every search, which makes
many matches in one value quadratic.
"""

from collections.abc import Iterable, Iterator, Sequence

from vedette.limits import Limit
from vedette.query.pattern import Pattern

HIGHLIGHT_MARKS_MAX: Limit[int] = 500
"""Maximum marks in a value; later matches are not marked. Nobody reads more, and every mark costs a
search."""

HIGHLIGHT_SEARCHED_CHARS_MAX: Limit[int] = 100_000_000
"""Maximum characters of values that a response searches for marks, counted once per pattern: about
a second. A page of 10,000 long command lines with a query of 100 words would take minutes."""


Spans = list[tuple[int, int]]
"""Start and end of each mark, in characters, ascending, without overlaps."""


class Budget:
    """Remaining characters that may be searched for marks. Each pattern counts its value once."""

    def __init__(self, chars: int = HIGHLIGHT_SEARCHED_CHARS_MAX) -> None:
        self.chars = chars

    def take(self, chars: int) -> bool:
        """Deducts `chars`. Returns whether any budget remained before."""
        had, self.chars = self.chars > 0, self.chars - chars
        return had


def spans(patterns: Sequence[Pattern], value: str, budget: Budget | None = None) -> Spans:
    """Returns the spans of the patterns' first groups; stops when the budget is exhausted. Empty
    matches are not marked."""
    encoded = value.encode("utf-8", "surrogatepass")
    found: list[tuple[int, int]] = []
    for pattern in patterns:
        if budget is not None and not budget.take(len(value) + 1):
            break
        found.extend(_matches(pattern, pattern.text(encoded)))
    return _in_characters(encoded, _merged(sorted(found)))


def marked(value: str, found: Spans, before: str, after: str) -> str:
    """Returns the value with markers around its spans."""
    parts = []
    position = 0
    for start, end in found:
        parts += [value[position:start], before, value[start:end], after]
        position = end
    return "".join([*parts, value[position:]])


def _matches(pattern: Pattern, text: bytes) -> Iterator[tuple[int, int]]:
    """Yields spans in bytes. The next search starts at the end of the group, not of the match: a
    separator after one match may be the separator before the next."""
    position = 0
    for _ in range(HIGHLIGHT_MARKS_MAX):
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
    """Returns sorted spans without overlaps, at most `HIGHLIGHT_MARKS_MAX`."""
    merged: Spans = []
    for start, end in found:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged[:HIGHLIGHT_MARKS_MAX]


def _in_characters(text: bytes, found: Spans) -> Spans:
    """Converts byte offsets to character offsets in one pass."""
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
