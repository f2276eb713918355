r"""Regular expressions in linear time: an automaton instead of Python's backtracking engine.

`Automaton` is built from the tree of Python's own parser and decides whether the expression occurs
in a text. The time is at most (length of the text) x (size of the program) for any text. Usually it
is a dictionary lookup per character, because sets of states are cached (a lazily built DFA).

Semantics are those of the server's engine (RE2): case is ignored, `.` is any character, `$` is only
the end of the text, `\w`, `\d`, `\s` are ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ..limits import PATTERN_CACHE_MAX, PATTERN_PROGRAM_MAX

_FLAGS = re.I | re.S | re.U | re.X | re.A
_START, _OTHER, _WORD = 0, 1, 2  # character before a position; _START also marks the end
_CHAR, _SPLIT, _JUMP, _ASSERT, _MATCH = range(5)

Test = Callable[[str], bool]


class UnsupportedError(ValueError):
    """Raised for an expression that this engine does not support; the message tells why."""


class _Step(NamedTuple):
    """An instruction: `test` for _CHAR, `to` and `other` for jumps, `at` for _ASSERT."""

    kind: int
    test: Test | None = None
    to: int = 0
    other: int = 0
    at: str = ""


class _State:
    """Program positions before the next character, with cached transitions by character."""

    __slots__ = ("before", "next", "positions")

    def __init__(self, positions: frozenset[int], before: int) -> None:
        self.positions, self.before = positions, before
        self.next: dict[str, _State | None] = {}


class Automaton:
    """A compiled expression. `found_in` is thread-safe."""

    def __init__(self, tree: Any) -> None:
        """`tree` is from Python's parser. Raises UnsupportedError."""
        if tree.state.flags & ~int(_FLAGS):
            raise UnsupportedError("flags other than i, s and x")
        self._program: list[_Step] = []
        self._compile(tree)
        self._emit(_Step(_MATCH))
        self._clear()

    def found_in(self, text: str) -> bool:
        """Whether the expression occurs anywhere in the text."""
        state = self._first
        for character in text:
            try:
                following = state.next[character]
            except KeyError:
                following = self._advance(state, character)
            if following is None:
                return True
            state = following
        return self._reach(state, _START) is None

    def _clear(self) -> None:
        self._states: dict[tuple[frozenset[int], int], _State] = {}
        self._cached = 0
        self._first = _State(frozenset(), _START)

    def _advance(self, state: _State, character: str) -> _State | None:
        """Returns the state after a further character; None if the expression was completed before
        it."""
        kind = _WORD if _is_word(character) else _OTHER
        reached = self._reach(state, kind)
        following: _State | None = None
        if reached is not None:
            program = self._program
            taken = [at + 1 for at in reached if _takes(program[at], character)]
            following = self._state(frozenset(taken), kind)
        state.next[character] = following
        return following

    def _state(self, positions: frozenset[int], before: int) -> _State:
        self._cached += 1
        known = self._states.get((positions, before))
        if known is not None:
            return known
        self._cached += len(positions)
        if self._cached > PATTERN_CACHE_MAX:
            self._clear()
        made = self._states[positions, before] = _State(positions, before)
        return made

    def _reach(self, state: _State, after: int) -> set[int] | None:
        """Returns the next character tests, from the state and from the start of the program (an
        occurrence may start anywhere); None if the end of the expression is reached."""
        seen, waiting, tests = set[int](), [0, *state.positions], set[int]()
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            step = self._program[at]
            if step.kind == _MATCH:
                return None
            if step.kind == _CHAR:
                tests.add(at)
            elif step.kind == _JUMP:
                waiting.append(step.to)
            elif step.kind == _SPLIT:
                waiting += (step.to, step.other)
            elif _ASSERTIONS[step.at](state.before, after):
                waiting.append(at + 1)
        return tests

    # --- from the tree to the program ---------------------------------------------------

    def _emit(self, step: _Step) -> int:
        if len(self._program) >= PATTERN_PROGRAM_MAX:
            raise UnsupportedError("the expression is too large")
        self._program.append(step)
        return len(self._program) - 1

    def _compile(self, tree: Any) -> None:
        for operation, argument in tree:
            name = str(operation)
            if name in {"MAX_REPEAT", "MIN_REPEAT"}:
                self._repeat(*argument)
            elif name == "SUBPATTERN":
                _, added, removed, inner = argument
                if (int(added) & ~int(_FLAGS)) or removed:
                    raise UnsupportedError("flags within the expression")
                self._compile(inner)
            elif name == "BRANCH":
                self._branch(argument[1])
            elif name == "AT" and str(argument) in _ASSERTIONS:
                self._emit(_Step(_ASSERT, at=str(argument)))
            else:
                self._emit(_Step(_CHAR, _test(name, argument)))

    def _branch(self, branches: list[Any]) -> None:
        ends = []
        for branch in branches[:-1]:
            split = self._emit(_Step(_SPLIT))
            self._compile(branch)
            ends.append(self._emit(_Step(_JUMP)))
            self._program[split] = _Step(_SPLIT, to=split + 1, other=len(self._program))
        self._compile(branches[-1])
        for end in ends:
            self._program[end] = _Step(_JUMP, to=len(self._program))

    def _repeat(self, least: int, most: Any, inner: Any) -> None:
        if int(least) > PATTERN_PROGRAM_MAX:
            raise UnsupportedError("the expression is too large")
        for _ in range(least):
            self._compile(inner)
        if str(most) == "MAXREPEAT":
            split = self._emit(_Step(_SPLIT))
            self._compile(inner)
            self._emit(_Step(_JUMP, to=split))
            self._program[split] = _Step(_SPLIT, to=split + 1, other=len(self._program))
            return
        splits = []
        for _ in range(int(most) - least):
            splits.append(self._emit(_Step(_SPLIT)))
            self._compile(inner)
        for split in splits:
            self._program[split] = _Step(_SPLIT, to=split + 1, other=len(self._program))


def _takes(step: _Step, character: str) -> bool:
    return step.test is not None and step.test(character)


def _is_word(character: str) -> bool:
    return character == "_" or (character.isascii() and character.isalnum())


_CATEGORIES: dict[str, Test] = {
    "CATEGORY_DIGIT": lambda one: one.isascii() and one.isdigit(),
    "CATEGORY_NOT_DIGIT": lambda one: not (one.isascii() and one.isdigit()),
    "CATEGORY_SPACE": lambda one: one in " \t\n\r\f\v",
    "CATEGORY_NOT_SPACE": lambda one: one not in " \t\n\r\f\v",
    "CATEGORY_WORD": _is_word,
    "CATEGORY_NOT_WORD": lambda one: not _is_word(one),
}
_ASSERTIONS: dict[str, Callable[[int, int], bool]] = {
    "AT_BEGINNING": lambda before, _: before == _START,
    "AT_BEGINNING_STRING": lambda before, _: before == _START,
    "AT_END": lambda _, after: after == _START,
    "AT_END_STRING": lambda _, after: after == _START,
    "AT_BOUNDARY": lambda before, after: (before == _WORD) != (after == _WORD),
    "AT_NON_BOUNDARY": lambda before, after: (before == _WORD) == (after == _WORD),
}


def _test(name: str, argument: Any) -> Test:
    """Returns the test for a single character."""
    if name == "ANY":
        return lambda _: True
    if name == "IN":
        return _class_test(argument)
    if name not in {"LITERAL", "NOT_LITERAL"}:
        raise UnsupportedError("references and looking around are not run on a sensor")
    variants = frozenset(_cases(chr(argument)))
    is_wanted = name == "LITERAL"
    return lambda one: (not variants.isdisjoint(_cases(one))) == is_wanted


def _class_test(items: Any) -> Test:
    """Returns the test for a bracketed class or a category."""
    categories: list[Test] = []
    ranges: list[tuple[int, int]] = []
    is_negated = False
    for kind, argument in items:
        name = str(kind)
        if name == "NEGATE":
            is_negated = True
        elif name == "CATEGORY":
            categories.append(_CATEGORIES[str(argument)])
        else:
            ranges.append(argument if name == "RANGE" else (argument, argument))

    def is_in(one: str) -> bool:
        if any(category(one) for category in categories):
            return not is_negated
        codes = [ord(variant) for variant in _cases(one)]
        found = any(low <= code <= high for code in codes for low, high in ranges)
        return found != is_negated

    return is_in


def _cases(character: str) -> tuple[str, ...]:
    """Returns the character in lower and upper case, if those are single characters."""
    return tuple(one for one in (character, character.lower(), character.upper()) if len(one) == 1)
