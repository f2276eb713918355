"""Patterns of on-sensor filters: globs, and a safe subset of regular expressions.

Both take time linear in the length of the input, which an attacker may choose (paths, command
lines). Expressions run on an automaton (`linear_match`); a glob is a sequence of pieces of fixed
length, each searched once. Expressions for which a backtracking engine may need exponential time
(repeats or choices within a repeat, several unbounded repeats, references, lookaround) are rejected
when the filter arrives, and the sensor's health reports it.

A pattern has the same meaning as on the server: case is ignored, and a path filter is a glob unless
it starts with `regex:` or `^`, or ends with `$`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..limits import PATTERN_CHARS_MAX, PATTERN_CHOICES_MAX, PATTERN_INPUT_CHARS_MAX
from .linear_match import Automaton, UnsupportedError

Match = Callable[[str], bool]
_EXPRESSION_PREFIX = "regex:"
_UNSAFE = {
    "GROUPREF",
    "GROUPREF_EXISTS",
    "ASSERT",
    "ASSERT_NOT",
    "ATOMIC_GROUP",
    "POSSESSIVE_REPEAT",
}
_REPEATS = {"MAX_REPEAT", "MIN_REPEAT"}


def _parser() -> Any:
    """Returns the module with Python's expression parser: `re._parser` since Python 3.11."""
    try:
        return import_module("re._parser")
    except ImportError:  # before 3.11
        return import_module("sre_parse")


class PatternError(ValueError):
    """Raised for a pattern that this sensor does not support; the message tells why."""


def path(text: str) -> Match:
    """Compiles a path filter: a glob, or an expression if it looks like one."""
    if text.startswith(_EXPRESSION_PREFIX):
        return regex(text[len(_EXPRESSION_PREFIX) :])
    if text.startswith("^") or (text.endswith("$") and not text.endswith("\\$")):
        return regex(text)
    return glob(text)


def glob(text: str) -> Match:
    """Compiles a glob for the whole path. `*` matches any characters including `/`, `?` matches
    one."""
    if len(text) > PATTERN_CHARS_MAX:
        raise PatternError("the pattern is too long")
    pieces = [re.compile(_one_by_one(piece), re.I | re.S) for piece in text.split("*")]
    if len(pieces) == 1:
        whole = pieces[0]
        return lambda value: whole.fullmatch(value) is not None
    return lambda value: _in_order(pieces, value)


def _one_by_one(piece: str) -> str:
    return "".join("." if character == "?" else re.escape(character) for character in piece)


def _in_order(pieces: list[re.Pattern[str]], text: str) -> bool:
    """Whether the pieces between the stars occur in the text in order. Each piece has a fixed
    length, so its first match is the best."""
    first = pieces[0].match(text)
    if first is None:
        return False
    at = first.end()
    for piece in pieces[1:-1]:
        found = piece.search(text, at)
        if found is None:
            return False
        at = found.end()
    last = pieces[-1]
    length = _fixed_length(last)
    return len(text) - length >= at and last.fullmatch(text, len(text) - length) is not None


def _fixed_length(piece: re.Pattern[str]) -> int:
    return len(re.sub(r"\\(.)", r"\1", piece.pattern, flags=re.S))


def regex(text: str) -> Match:
    """Compiles a search for a regular expression of the safe subset. Raises PatternError for
    others."""
    if len(text) > PATTERN_CHARS_MAX:
        raise PatternError("the pattern is too long")
    core = text
    for useless in ("^.*", ".*"):
        core = core[len(useless) :] if core.startswith(useless) else core
    for useless in (".*$", ".*"):
        core = core[: -len(useless)] if core.endswith(useless) else core
    try:
        tree = _parser().parse(core)
    except (re.error, RecursionError, OverflowError) as error:
        raise PatternError(str(error)) from error
    if _choices(tree, repeated=False) > PATTERN_CHOICES_MAX:
        raise PatternError("too many repeats")
    try:
        automaton = Automaton(tree)
    except UnsupportedError as error:
        raise PatternError(str(error)) from error
    return lambda value: automaton.found_in(value[:PATTERN_INPUT_CHARS_MAX])


def _choices(tree: Any, *, repeated: bool) -> int:
    """Returns the maximum number of ways to match the pattern at a position. Raises PatternError
    for constructs that may take exponential time."""
    found = 1
    for operation, argument in tree:
        name = str(operation)
        if name in _UNSAFE:
            raise PatternError("references and looking around are not run on a sensor")
        if name in _REPEATS or name == "BRANCH":
            if repeated:
                raise PatternError("a repeat or a choice within a repeat")
            found *= _branches(argument[1]) if name == "BRANCH" else _repeats(*argument)
        elif name == "SUBPATTERN":
            found *= _choices(argument[-1], repeated=repeated)
    return found


def _branches(branches: Any) -> int:
    return sum(_choices(branch, repeated=False) for branch in branches)


def _repeats(least: int, most: Any, inner: Any) -> int:
    _choices(inner, repeated=True)
    longest = min(PATTERN_INPUT_CHARS_MAX, int(most))
    return max(1, longest - least + 1)
