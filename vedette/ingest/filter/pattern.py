r"""Texts of a filter as RE2 expressions.

A path filter is a glob unless it looks like an expression: one that begins with `regex:`, or
with `^`, or ends with an unescaped `$`. In a glob `*` stands for any characters, separators too,
`?` for one; it must fit the whole path. All other lists are expressions that must be found
somewhere in the text. Upper and lower case are the same, unless an expression says `(?-i)`.
"""

from functools import cache

import re2

from vedette.model.ingress_filter import EVENT_LISTS, IngressFilter

EXPRESSION_PREFIX = "regex:"

_PROGRAM_BYTES_MAX = 1 << 20
"""Memory limit of one expression: larger ones would slow down every match of their set."""

_FOUND_ANYWHERE = ("cmdline_filters", *EVENT_LISTS)


class PatternError(ValueError):
    """An expression that RE2 rejects. `field` and `index` locate it, `why` is RE2's message."""

    def __init__(self, field: str, index: int, why: str) -> None:
        super().__init__(f"{field}[{index}]: {why}")
        self.field = field
        self.index = index
        self.why = why


@cache
def options() -> re2.Options:
    """RE2 options of all filter expressions."""
    chosen = re2.Options()
    chosen.case_sensitive = False
    chosen.dot_nl = True
    chosen.never_capture = True
    chosen.log_errors = False
    chosen.max_mem = _PROGRAM_BYTES_MAX
    return chosen


def path_expression(text: str) -> str:
    """RE2 expression of a path filter."""
    if text.startswith(EXPRESSION_PREFIX):
        return text[len(EXPRESSION_PREFIX) :]
    if text.startswith("^") or _ends_in_anchor(text):
        return text
    return "^" + "".join(map(_of_glob, text)) + "$"


def check_patterns(wanted: IngressFilter) -> None:
    """Raise PatternError for the first expression that RE2 rejects."""
    for index, text in enumerate(wanted.path_filters):
        _check("path_filters", index, path_expression(text))
    for field in _FOUND_ANYWHERE:
        for index, text in enumerate(getattr(wanted, field)):
            _check(field, index, text)


def _check(field: str, index: int, expression: str) -> None:
    try:
        re2.compile(expression, options())
    except re2.error as error:
        why = error.args[0] if error.args else "it cannot be read"
        text = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
        raise PatternError(field, index, text) from None
    except UnicodeEncodeError:
        raise PatternError(field, index, "it is not valid Unicode") from None


def _of_glob(character: str) -> str:
    match character:
        case "*":
            return ".*"
        case "?":
            return "."
    escaped: str = re2.escape(character)
    return escaped


def _ends_in_anchor(text: str) -> bool:
    stem = text.removesuffix("$")
    return stem != text and (len(stem) - len(stem.rstrip("\\"))) % 2 == 0
