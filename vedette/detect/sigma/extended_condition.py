"""Parses extended conditions of temporal correlations: `a and (b or c)` over names of rules.

A parser of our own, because pySigma's takes exponential time for nested parentheses. `not` is
rejected: it can be true only at the end of the time span, when nothing happens any more.
"""

import re
from typing import Final, Literal

from vedette.detect.sigma.errors import UnsupportedError
from vedette.limits import Limit

EXTENDED_CONDITION_CHARS_MAX: Limit[int] = 4_096
"""Maximum characters of the condition of a temporal correlation."""

EXTENDED_CONDITION_DEPTH_MAX: Limit[int] = 32
"""Maximum nested parentheses in the condition of a temporal correlation."""

Operation = Literal["and", "or"]
Expression = tuple[int | Operation, ...]
"""A condition in postfix order: indexes of rules, and operations over the two values before."""

_TOKEN: Final = re.compile(r"\s+|[()]|[A-Za-z0-9_][A-Za-z0-9_.-]*")


def parsed_condition(text: str) -> tuple[tuple[str, ...], Expression]:
    """Returns the rules that a condition names, in order of appearance, and the condition over
    their indexes. Raises UnsupportedError."""
    if len(text) > EXTENDED_CONDITION_CHARS_MAX:
        message = f"condition: longer than {EXTENDED_CONDITION_CHARS_MAX} characters"
        raise UnsupportedError("too_large", message)
    return _Parser(_tokens(text)).parsed()


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise UnsupportedError("malformed", f"condition: unexpected {text[at : at + 20]!r}")
        tokens.append(found.group())
        at = found.end()
    return [one for one in tokens if not one.isspace()]


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._rules: dict[str, int] = {}
        self._output: list[int | Operation] = []

    def parsed(self) -> tuple[tuple[str, ...], Expression]:
        self._alternatives()
        if self._at < len(self._tokens):
            raise _unexpected(self._tokens[self._at])
        return tuple(self._rules), tuple(self._output)

    def _alternatives(self) -> None:
        self._all()
        while self._takes("or"):
            self._all()
            self._output.append("or")

    def _all(self) -> None:
        self._operand()
        while self._takes("and"):
            self._operand()
            self._output.append("and")

    def _operand(self) -> None:
        if self._takes("("):
            self._depth += 1
            if self._depth > EXTENDED_CONDITION_DEPTH_MAX:
                raise UnsupportedError("too_large", "condition: nested too deeply")
            self._alternatives()
            self._depth -= 1
            if not self._takes(")"):
                raise UnsupportedError("malformed", "condition: a parenthesis is not closed")
            return
        if self._at == len(self._tokens):
            raise UnsupportedError("malformed", "condition: ends after an operator")
        word = self._tokens[self._at]
        if word == "not":
            message = "condition: not is only certain when the time span has ended"
            raise UnsupportedError("unsupported_correlation", message)
        if word in (")", "and", "or"):
            raise _unexpected(word)
        self._at += 1
        self._output.append(self._rules.setdefault(word, len(self._rules)))

    def _takes(self, token: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at] == token:
            self._at += 1
            return True
        return False


def _unexpected(token: str) -> UnsupportedError:
    return UnsupportedError("malformed", f"condition: unexpected {token[:40]!r}")
