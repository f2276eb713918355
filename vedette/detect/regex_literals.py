"""Extracts literals that every match of a pattern contains, so that rules with patterns have
anchors.

Parses a subset of RE2 syntax: literals, escaped punctuation, classes, groups, alternatives and
counts. It gives up on any other syntax, which costs only speed. The result is a condition over
plain text that is true wherever the pattern matches. Characters are compared as by `folded`.
"""

from collections.abc import Iterable
from typing import Final

from vedette import limits
from vedette.detect.nodes import And, FieldTest, Node, Or, Regex, Text
from vedette.limits import Limit

REGEX_LITERAL_CHARS_MAX: Limit[int] = 10_000
"""Maximum length (characters) of a pattern from which literals are extracted."""

REGEX_LITERAL_DEPTH_MAX: Limit[int] = 20
"""Maximum nesting of groups in such a pattern."""


_SPECIAL: Final = frozenset("\\.^$*+?{}[]|()")
_SHORTHANDS: Final = frozenset("dDwWsSbBAzntrfv")
"""Letters that after a backslash denote a class, a position or a control character."""


class _GiveUpError(Exception):
    """Raised for unsupported syntax."""


def literals_of(field: str, test: Regex) -> Node | None:
    """Returns a condition on the field that is true for every value that the pattern matches; None
    if none can be derived."""
    if len(test.pattern) > REGEX_LITERAL_CHARS_MAX or "x" in test.flags:
        return None
    try:
        reader = _Reader(test.pattern)
        found = reader.alternatives(0)
        if not reader.is_at_end():
            return None
    except _GiveUpError:
        return None
    return _node(field, found)


_Needs = list["str | list[_Needs]"]
"""Required texts, and lists of alternatives of which one is required."""


def _node(field: str, branches: "list[_Needs]") -> Node | None:
    """Returns the condition that any branch is satisfied; None if a branch requires nothing."""
    found: list[Node] = []
    for needs in branches:
        parts: list[Node] = []
        for need in needs:
            if isinstance(need, str):
                parts.append(FieldTest(field, Text("contains", need)))
            elif (inner := _node(field, need)) is not None:
                parts.append(inner)
        if not parts:
            return None
        found.append(parts[0] if len(parts) == 1 else And(tuple(parts)))
    return found[0] if len(found) == 1 else Or(tuple(found))


class _Reader:
    """Parses a pattern in a single pass."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def is_at_end(self) -> bool:
        return self._at == len(self._pattern)

    def alternatives(self, depth: int) -> "list[_Needs]":
        """Reads the branches up to the end of the group. Raises _GiveUpError."""
        if depth > REGEX_LITERAL_DEPTH_MAX:
            raise _GiveUpError
        branches = [self._sequence(depth)]
        while self._take("|"):
            branches.append(self._sequence(depth))
        return branches

    def _sequence(self, depth: int) -> _Needs:
        needs: _Needs = []
        run = ""
        while not self.is_at_end() and self._pattern[self._at] not in "|)":
            literal, group = self._atom(depth)
            least, is_once = self._count()
            if literal and least and is_once:
                run += literal
                continue
            if literal and least:
                run += literal
            needs += _long_enough(run)
            run = ""
            if group is not None and least:
                needs.append(group)
        needs += _long_enough(run)
        return needs

    def _atom(self, depth: int) -> "tuple[str, list[_Needs] | None]":
        """Returns a literal character, or "" and the branches of a group, or ("", None) for other
        atoms."""
        sign = self._pattern[self._at]
        self._at += 1
        if sign == "(":
            return "", self._group(depth)
        if sign == "[":
            self._skip_class()
            return "", None
        if sign == "\\":
            return self._escape(), None
        if sign in ".^$":
            return "", None
        if sign in _SPECIAL or not sign.isascii():
            raise _GiveUpError
        return sign.lower(), None

    def _group(self, depth: int) -> "list[_Needs]":
        if self._take("?") and not self._take(":"):
            end = self._pattern.find(")", self._at)
            flags = self._pattern[self._at : end]
            if end < 0 or not set(flags) <= set("ims"):
                raise _GiveUpError
            self._at = end + 1
            return [[]]
        branches = self.alternatives(depth + 1)
        if not self._take(")"):
            raise _GiveUpError
        return branches

    def _escape(self) -> str:
        if self.is_at_end():
            raise _GiveUpError
        sign = self._pattern[self._at]
        self._at += 1
        if sign in _SHORTHANDS:
            return ""
        if sign.isalnum() or not sign.isascii():
            raise _GiveUpError
        return sign

    def _skip_class(self) -> None:
        self._take("^")
        self._take("]")
        while not self.is_at_end():
            sign = self._pattern[self._at]
            self._at += 1
            if sign == "]":
                return
            if sign == "[":
                raise _GiveUpError
            if sign == "\\":
                self._at += 1
        raise _GiveUpError

    def _count(self) -> tuple[bool, bool]:
        """Returns whether the atom occurs at least once, and whether exactly once."""
        if self.is_at_end():
            return True, True
        sign = self._pattern[self._at]
        if sign == "{":
            end = self._pattern.find("}", self._at)
            least, _, most = self._pattern[self._at + 1 : max(end, 0)].partition(",")
            if end < 0 or not least.isdecimal() or not (most.isdecimal() or not most):
                raise _GiveUpError
            self._at = end + 1
            counted = int(least) > 0, False
        elif sign in "*+?":
            self._at += 1
            counted = sign == "+", False
        else:
            return True, True
        self._take("?")
        if not self.is_at_end() and self._pattern[self._at] in "*+?{":
            raise _GiveUpError
        return counted

    def _take(self, sign: str) -> bool:
        if self._pattern.startswith(sign, self._at):
            self._at += 1
            return True
        return False


def _long_enough(run: str) -> Iterable[str]:
    return (run,) if len(run) >= limits.ANCHOR_CHARS_MIN else ()
