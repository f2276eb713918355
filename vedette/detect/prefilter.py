"""Which rules are worth verifying for an event: for each field an automaton over all anchors of it.

Values repeat, so the rules that a value leads to are cached, and most values lead to none: the
common event costs a look into a dictionary for each field that rules ask about. No false negatives:
a rule without anchors is always a candidate of its classes.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from ahocorasick_rs import AhoCorasick, MatchKind

from vedette import limits
from vedette.detect.anchors import Anchor, anchors_of, holds
from vedette.detect.nodes import Text
from vedette.detect.rule import Rule
from vedette.detect.views.event import Event

_NOTHING: Final[tuple[int, ...]] = ()
_NO_CANDIDATES: Final[list[int]] = []
_ANY_FIELD: Final = ""

_NO_TEXT: Final = ("Guid", "GUID", "Id", "ID", "Time", "Port", "Ip", "SID", "Sid")
"""Endings of fields with numbers, times and ids, in which keywords are not looked for: their values
differ from event to event, and no keyword of more than digits can be in them."""


class Prefilter:
    """Candidates among the rules of one class of events, by their numbers."""

    def __init__(
        self, rules: Iterable[tuple[int, Rule]], frequency: Mapping[Anchor, float]
    ) -> None:
        self._always: list[int] = []
        by_field: dict[str, dict[Text, list[int]]] = {}
        for number, rule in rules:
            anchors = anchors_of(rule.condition, frequency)
            if anchors is None:
                self._always.append(number)
                continue
            for field, test in anchors:
                by_field.setdefault(field, {}).setdefault(test, []).append(number)
        anywhere = by_field.pop(_ANY_FIELD, None)
        self._anywhere = FieldIndex(anywhere) if anywhere else None
        self._fields = [(field, FieldIndex(tests)) for field, tests in by_field.items()]

    def candidates(self, event: Event) -> list[int]:
        """Numbers of rules of which an anchor holds, and of those without anchors, ascending."""
        found: set[int] = set(self._always)
        data = event.data
        for field, index in self._fields:
            value = data.get(field)
            if type(value) is not str:
                value = event.value(field)
            if value:
                numbers = index.cache.get(value)
                if numbers is None:
                    numbers = index.find(value)
                if numbers:
                    found.update(numbers)
        if self._anywhere is not None:
            for field, value in data.items():
                if field.endswith(_NO_TEXT):
                    continue
                text = value if type(value) is str else event.value(field)
                numbers = self._anywhere.cache.get(text)
                if numbers is None:
                    numbers = self._anywhere.find(text)
                if numbers:
                    found.update(numbers)
        return sorted(found) if found else _NO_CANDIDATES


class FieldIndex:
    """The rules that values of one field lead to."""

    def __init__(self, tests: Mapping[Text, Iterable[int]]) -> None:
        by_literal: dict[str, list[tuple[Text, tuple[int, ...]]]] = {}
        for test, numbers in tests.items():
            by_literal.setdefault(test.value, []).append((test, tuple(numbers)))
        literals = sorted(by_literal)
        self._tests = [by_literal[literal] for literal in literals]
        self._automaton = AhoCorasick(literals, matchkind=MatchKind.Standard)
        self.cache: dict[str, tuple[int, ...]] = {}
        """Rules by value; read directly where speed counts."""
        self._cached_chars = 0

    def find(self, value: str) -> tuple[int, ...]:
        """Numbers of the rules that have an anchor which the value passes."""
        cached = self.cache.get(value)
        if cached is not None:
            return cached
        text = value.lower()
        matches = self._automaton.find_matches_as_indexes(text, overlapping=True)
        found = _NOTHING
        if matches:
            found = tuple(
                {
                    number
                    for place in {match[0] for match in matches}
                    for test, numbers in self._tests[place]
                    if holds(test, text)
                    for number in numbers
                }
            )
        if len(value) <= limits.DETECT_CACHED_VALUE_CHARS_MAX:
            self._cached_chars += len(value)
            if self._cached_chars > limits.DETECT_CACHE_CHARS_MAX:
                self.cache.clear()
                self._cached_chars = len(value)
            self.cache[value] = found
        return found
