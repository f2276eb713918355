"""Converts filter texts to RE2 expressions.

A path filter is a glob unless it looks like an expression: it starts with `regex:` or `^`, or ends
with an unescaped `$`. In a glob, `*` matches any characters including separators, and `?` matches
one character; the glob must match the whole path. All other lists contain expressions that may
match anywhere in the text. Letter case is ignored unless an expression contains `(?-i)`.
"""

from functools import cache

import re2

from vedette.limits import Limit
from vedette.model.ingress_filter import EVENT_LISTS
from vedette.record.objects.ingress_filter import IngressFilter

FILTER_PATTERN_PROGRAM_BYTES_MAX: Limit[int] = 1 << 20
"""Memory limit (bytes) of an expression of an ingress filter. Larger expressions would slow down
every match of their set."""


EXPRESSION_PREFIX = "regex:"


_FOUND_ANYWHERE = ("cmdline_filters", *EVENT_LISTS)


class PatternError(ValueError):
    """Raised for an expression that RE2 rejects. `field` and `index` locate it, `why` is RE2's
    message."""

    def __init__(self, field: str, index: int, why: str) -> None:
        super().__init__(f"{field}[{index}]: {why}")
        self.field = field
        self.index = index
        self.why = why


@cache
def options() -> re2.Options:
    """Returns the RE2 options of all filter expressions."""
    chosen = re2.Options()
    chosen.case_sensitive = False
    chosen.dot_nl = True
    chosen.never_capture = True
    chosen.log_errors = False
    chosen.max_mem = FILTER_PATTERN_PROGRAM_BYTES_MAX
    return chosen


def path_expression(text: str) -> str:
    """Returns the RE2 expression of a path filter."""
    if text.startswith(EXPRESSION_PREFIX):
        return text[len(EXPRESSION_PREFIX) :]
    if text.startswith("^") or _ends_in_anchor(text):
        return text
    return "^" + "".join(map(_of_glob, text)) + "$"


def check_patterns(wanted: IngressFilter) -> None:
    """Raises PatternError for the first expression that RE2 rejects."""
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
