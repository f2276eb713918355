"""Which rules are worth verifying for an event: for each field an automaton over all anchors of it.

Values repeat, so the rules that a value leads to are cached, and most values lead to none: the
common event costs a look into a dictionary for each field that rules ask about. No false negatives:
a rule without anchors is always a candidate of its classes.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from ahocorasick_rs import AhoCorasick, MatchKind

from vedette import limits
from vedette.detect.anchors import Anchor, anchors_of, assume, holds
from vedette.detect.folding import folded
from vedette.detect.nodes import Text
from vedette.detect.rule import Rule
from vedette.detect.views.event import Event

_NOTHING: Final[tuple[int, ...]] = ()
_ANY_FIELD: Final = ""
_EVENT_ID: Final = "EventID"


class ValueCaches:
    """The caches of many fields, with one bound on all of them: they are emptied together."""

    def __init__(self) -> None:
        self._caches: list[dict[str, tuple[int, ...]]] = []
        self._chars = 0

    def new(self) -> dict[str, tuple[int, ...]]:
        """A cache of candidates by value."""
        cache: dict[str, tuple[int, ...]] = {}
        self._caches.append(cache)
        return cache

    def forget(self) -> None:
        """Gives up all caches: their owners are not used any more."""
        self._caches.clear()
        self._chars = 0

    def add(self, cache: dict[str, tuple[int, ...]], value: str, found: tuple[int, ...]) -> None:
        """Caches what a value leads to, unless the value is long: long ones seldom repeat."""
        if len(value) > limits.DETECT_CACHED_VALUE_CHARS_MAX:
            return
        self._chars += len(value) + limits.DETECT_CACHED_VALUE_COST_CHARS
        if self._chars > limits.DETECT_CACHE_CHARS_MAX:
            for one in self._caches:
                one.clear()
            self._chars = len(value) + limits.DETECT_CACHED_VALUE_COST_CHARS
        cache[value] = found


class Prefilter:
    """Candidates among the rules of one class of events, by their numbers.

    `event_id` is that of all events asked about, 0 if it differs: rules for other ids are left out.
    """

    def __init__(
        self,
        rules: Iterable[tuple[int, Rule]],
        frequency: Mapping[Anchor, float],
        caches: ValueCaches,
        event_id: int = 0,
    ) -> None:
        self._always: list[int] = []
        by_field: dict[str, dict[Text, list[int]]] = {}
        for number, rule in rules:
            left = assume(rule.condition, _EVENT_ID, str(event_id)) if event_id else rule.condition
            if left is False:
                continue
            anchors = None if left is True else anchors_of(left, frequency)
            if anchors is None:
                self._always.append(number)
                continue
            for field, test in anchors:
                by_field.setdefault(field, {}).setdefault(test, []).append(number)
        anywhere = by_field.pop(_ANY_FIELD, None)
        self._anywhere = KeywordIndex(anywhere, caches) if anywhere else None
        indexes = [(field, FieldIndex(tests, caches)) for field, tests in by_field.items()]
        self._fields = [(field, index.cache, index) for field, index in indexes]

    @property
    def is_empty(self) -> bool:
        """Whether no event can have a candidate."""
        return not (self._always or self._fields or self._anywhere)

    def candidates(self, event: Event) -> list[int]:
        """Numbers of rules of which an anchor holds, and of those without anchors, ascending."""
        found: set[int] | None = None
        data = event.data
        for field, cache, index in self._fields:
            value = data.get(field)
            if type(value) is not str:
                value = event.value(field)
            if value:
                numbers = cache.get(value)
                if numbers is None:
                    numbers = index.find(value)
                if numbers:
                    found = set(numbers) if found is None else found.union(numbers)
        if self._anywhere is not None and (anywhere := self._anywhere.find(event)):
            found = anywhere if found is None else found.union(anywhere)
        if found is None:
            return self._always
        found.update(self._always)
        return sorted(found)


class FieldIndex:
    """The rules that values of one field lead to."""

    def __init__(self, tests: Mapping[Text, Iterable[int]], caches: ValueCaches) -> None:
        by_literal: dict[str, list[tuple[Text, tuple[int, ...]]]] = {}
        for test, numbers in tests.items():
            by_literal.setdefault(test.value, []).append((test, tuple(numbers)))
        literals = sorted(by_literal)
        self._tests = [by_literal[literal] for literal in literals]
        self._automaton = AhoCorasick(literals, matchkind=MatchKind.Standard)
        self._caches = caches
        self.cache = caches.new()
        """Rules by value; read directly where speed counts."""

    def find(self, value: str) -> tuple[int, ...]:
        """Numbers of the rules that have an anchor which the value passes."""
        cached = self.cache.get(value)
        if cached is not None:
            return cached
        text = folded(value)
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
        self._caches.add(self.cache, value, found)
        return found


_PLAIN: Final = re.compile(r"[0-9A-Fa-f{}:. -]*").fullmatch
"""Numbers, times, GUIDs and hashes: they are in every event and seldom repeat."""


class KeywordIndex:
    """The rules that values of any field lead to."""

    def __init__(self, tests: Mapping[Text, Iterable[int]], caches: ValueCaches) -> None:
        self._index = FieldIndex(tests, caches)
        self._shortest = min(len(test.value) for test in tests)
        self._finds_plain = any(_PLAIN(test.value) for test in tests)

    def find(self, event: Event) -> set[int] | None:
        """Numbers of the rules that have an anchor which any value of the event passes."""
        found: set[int] | None = None
        cache, shortest = self._index.cache, self._shortest
        data = event.data
        for field in event.own_fields():
            value = data[field]
            if type(value) is not str:
                if type(value) is int and not self._finds_plain:
                    continue
                value = event.value(field)
            if len(value) < shortest:
                continue
            numbers = cache.get(value)
            if numbers is None:
                # No value of plain characters has a literal with others in it.
                if not self._finds_plain and _PLAIN(value):
                    continue
                numbers = self._index.find(value)
            if numbers:
                found = set(numbers) if found is None else found.union(numbers)
        return found
