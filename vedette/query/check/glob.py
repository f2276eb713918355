"""Values with `*` and `?` as shapes: the plain ones become comparisons, the rest RE2 patterns.

`*` is any run, separators included, and the empty run; `?` is one character. The patterns are
made here from escaped pieces and never come from a user.
"""

import re

from vedette.model.indexes import INDEX_OF
from vedette.model.tokens import whole_index_words
from vedette.query.typed import Form, Shape, TextTest

_WILD_RUN = re.compile(r"[*?]+")
_WILD = re.compile(r"[*?]")
_SPECIAL = re.compile(r"[^0-9A-Za-z_\x80-\U0010ffff]")


def is_wild(value: str) -> bool:
    return "*" in value or "?" in value


def is_any(value: str) -> bool:
    """Whether the value only asks for something to be there."""
    return value != "" and not value.strip("*")


def begins_wild(value: str) -> bool:
    """Whether a search would have to look through every value (query-language 3)."""
    return value[:1] in ("*", "?") and not is_any(value)


def literal(text: str) -> str:
    """The text as an RE2 pattern."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def pattern(value: str, star: str = ".*", one: str = ".") -> str:
    """The RE2 pattern of a value with wildcards."""
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
    """Words of the column's index that every match of the value holds. The value is given with
    a separator or a space where a match is known to begin and end."""
    if INDEX_OF.get(column) != "words":
        return ()
    found: dict[str, None] = {}
    for run in _WILD_RUN.split(value):
        if run:
            found.update(dict.fromkeys(whole_index_words(run)))
    return tuple(found)


def whole(column: str, form: Form, value: str) -> TextTest:
    """The whole stored text matches the folded value, from its first to its last character."""
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
    raise AssertionError(f"wildcards at neither end nor inside: {value!r}")


def suffix(column: str, form: Form, value: str, separator: str) -> TextTest:
    """One of the suffixes that follow a separator matches the folded value (query-language
    3.4 and 3.7). The form begins with a separator, so that the whole text is one of them."""
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
    # The longest suffix is the best chance of a leading star.
    start = "^" if value.startswith("*") else ""
    body = pattern(value.rstrip("*"))
    end = "" if value.endswith("*") else "$"
    return "matches", f"(?s){start}{literal(separator)}{body}{end}"
