"""Values with `*` and `?`. Simple shapes become plain comparisons, others become RE2 patterns.

`*` matches any run of characters, including separators and the empty run; `?` matches one
character. Patterns are built from escaped text and never contain user syntax.
"""

import re
from collections.abc import Iterable

from vedette.model.field import is_member
from vedette.model.indexes import INDEX_OF
from vedette.model.log_fields import LOG_WORDS
from vedette.model.tokens import whole_index_words
from vedette.query.typed import Form, PresentTest, Shape, Tests, TextTest

_WILD_RUN = re.compile(r"[*?]+")
_WILD = re.compile(r"[*?]")
_SPECIAL = re.compile(r"[^0-9A-Za-z_\x80-\U0010ffff]")


def is_wild(value: str) -> bool:
    return "*" in value or "?" in value


def wild_runs(value: str) -> list[str]:
    """Returns the runs of wildcards in a value."""
    return _WILD_RUN.findall(value)


def is_any(value: str) -> bool:
    """Whether the value consists only of stars, which match any nonempty field."""
    return value != "" and not value.strip("*")


def begins_wild(value: str) -> bool:
    """Whether the value starts with a wildcard, so that no index applies
    (docs/query-values.md)."""
    return value[:1] in ("*", "?") and not is_any(value)


def literal(text: str) -> str:
    """Returns the text as a literal RE2 pattern."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def pattern(value: str, star: str = ".*", one: str = ".") -> str:
    """Returns the RE2 pattern of a value with wildcards. `star` and `one` are the patterns of `*`
    and `?`."""
    if not is_wild(value):
        return literal(value)
    found = []
    position = 0
    for wild in _WILD.finditer(value):
        found.append(literal(value[position : wild.start()]))
        found.append(star if wild[0] == "*" else one)
        position = wild.end()
    found.append(literal(value[position:]))
    return "".join(found)


def index_words(column: str, value: str) -> tuple[str, ...]:
    """Returns index tokens that every match contains. Put a separator or space into `value` where a
    match starts or ends at a token boundary."""
    if INDEX_OF.get(column) != "words" and column not in LOG_WORDS and not is_member(column):
        return ()
    found: dict[str, None] = {}
    for run in _WILD_RUN.split(value):
        if run:
            found.update(dict.fromkeys(whole_index_words(run)))
    return tuple(found)


def whole(column: str, form: Form, value: str) -> TextTest:
    """Returns a test that the whole text in a form matches the folded value."""
    shape, needle = _whole_shape(value)
    return TextTest(column, form, shape, needle, index_words(column, f" {value} "))


def _whole_shape(value: str) -> tuple[Shape, str]:
    if not is_wild(value):
        return "equals", value
    core = value.strip("*")
    if is_wild(core):
        return "matches", f"(?s)^{pattern(value)}$"
    if value.startswith("*"):
        return ("contains" if value.endswith("*") else "ends"), core
    if value.endswith("*"):
        return "starts", core
    raise AssertionError(f"no wildcards: {value!r}")


def suffix(column: str, form: Form, value: str, separator: str) -> TextTest:
    """Returns a test that the folded value matches a suffix after a separator
    (docs/query-values.md#path, docs/query-values.md#domain). The form starts with a separator,
    so the whole text is one of the suffixes."""
    shape, needle = _suffix_shape(value, separator)
    tokens = index_words(column, f"{separator}{value} ")
    return TextTest(column, form, shape, needle, tokens)


def _suffix_shape(value: str, separator: str) -> tuple[Shape, str]:
    if not is_wild(value):
        return "ends", separator + value
    core = value.strip("*")
    if not is_wild(core):
        if not value.startswith("*"):
            return "contains", separator + core
        if not value.endswith("*"):
            return "ends_after", core
        if not core.startswith(separator):
            return "contains", core
    # With a leading star, the longest suffix matches whenever any suffix does.
    start = "^" if value.startswith("*") else ""
    body = pattern(value.rstrip("*"))
    end = "" if value.endswith("*") else "$"
    return "matches", f"(?s){start}{literal(separator)}{body}{end}"


def present(columns: Iterable[str]) -> Tests:
    """Returns tests that a column has a value."""
    return tuple(PresentTest(column) for column in columns)


def without_outer_stars(words: list[str]) -> list[str]:
    """Returns the words of a phrase without the words at either end that match any word."""
    first, last = 0, len(words)
    while first < last and is_any(words[first]):
        first += 1
    while last > first and is_any(words[last - 1]):
        last -= 1
    return words[first:last]
