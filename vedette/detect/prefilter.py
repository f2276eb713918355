"""Which rules are worth verifying for an event: for each field an automaton over all anchors of it.

Values repeat, so the rules that a value leads to are cached, and most values lead to none: the
common event costs a look into a dictionary for each field that rules ask about. No false negatives:
a rule without anchors is always a candidate of its classes.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal

from ahocorasick_rs import AhoCorasick, MatchKind

from vedette import limits
from vedette.detect.anchors import Anchor, holds
from vedette.detect.folding import folded
from vedette.detect.nodes import Text
from vedette.detect.rule import Rule
from vedette.detect.views.answered import ANSWERED
from vedette.detect.views.event import ADDED, Event

_NOTHING: Final[tuple[int, ...]] = ()
_ANY_FIELD: Final = ""


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


AnchorsOf = Callable[[int, Rule, int], "frozenset[Anchor] | Literal[False] | None"]
"""Anchors of a rule, by its number, for an event id: False where it cannot fire on such events,
None where it has none."""


Entry = tuple[dict[str, tuple[int, ...]], "FieldIndex"]
"""An index, and its cache, which is read directly where speed counts."""

Entries = dict[str, Entry]


class Prefilter:
    """Candidates among the rules of one class of events, by their numbers.

    `event_id` is that of all events asked about, 0 if it differs: rules for other ids are left out.
    """

    def __init__(
        self,
        rules: Iterable[tuple[int, Rule]],
        anchors: AnchorsOf,
        caches: ValueCaches,
        event_id: int = 0,
    ) -> None:
        self._always: list[int] = []
        by_field: dict[str, Tests] = {}
        for number, rule in rules:
            found = anchors(number, rule, event_id)
            if found is False:
                continue
            if found is None:
                self._always.append(number)
                continue
            for field, test in found:
                by_field.setdefault(field, {}).setdefault(test, []).append(number)
        anywhere = by_field.pop(_ANY_FIELD, {})
        indexes = {
            field: FieldIndex(_joined(tests, anywhere), caches) for field, tests in by_field.items()
        }
        self._own: Entries = {field: (index.cache, index) for field, index in indexes.items()}
        """By field, what values of the event itself lead to: anchors of the field, and of any."""
        self._alone = Alone(by_field, caches) if anywhere else self._own
        """The same without anchors of any field: for what is not the event's own."""
        self._answered = [field for field in by_field if field in ANSWERED]
        rest = KeywordIndex(anywhere, caches) if anywhere else None
        self._rest: Entry | None = (rest.cache, rest) if rest is not None else None
        """For the values of all other fields."""
        self._finds_plain = rest is not None and rest.finds_plain

    @property
    def is_empty(self) -> bool:
        """Whether no event can have a candidate."""
        return not (self._always or self._own or self._rest)

    def candidates(self, event: Event) -> list[int]:
        """Numbers of rules of which an anchor holds, and of those without anchors, ascending."""
        found: set[int] = set()
        data, own, rest, finds_plain = event.data, self._own, self._rest, self._finds_plain
        is_flat = "EventID" in data
        for field, value in data.items():
            if is_flat and field in ADDED:
                entry = self._alone[field] if field in own else None
            else:
                entry = own.get(field, rest)
            if entry is None:
                continue
            kind = type(value)
            if kind is not str:
                if kind is int and entry is rest and not finds_plain:
                    continue  # no number has a literal with other characters in it
                value = event.value(field)
            if value:
                numbers = entry[0].get(value)
                if numbers is None:
                    numbers = entry[1].find(value)
                if numbers:
                    found.update(numbers)
        if event.is_answered:
            for field in self._answered:
                if data.get(field) is None and (value := event.value(field)):
                    entry = self._alone[field]
                    numbers = entry[0].get(value)
                    if numbers is None:
                        numbers = entry[1].find(value)
                    if numbers:
                        found.update(numbers)
        if not found:
            return self._always
        found.update(self._always)
        return sorted(found)


Tests = dict[Text, list[int]]


class Alone(Entries):
    """Indexes by field, made when they are first asked for: many never are."""

    def __init__(self, by_field: Mapping[str, Tests], caches: ValueCaches) -> None:
        super().__init__()
        self._by_field = by_field
        self._caches = caches

    def __missing__(self, field: str) -> Entry:
        index = FieldIndex(self._by_field[field], self._caches)
        entry = self[field] = index.cache, index
        return entry


def _joined(tests: Tests, others: Tests) -> Tests:
    """Two sets of tests of the same values."""
    if not others:
        return tests
    both = {test: list(numbers) for test, numbers in tests.items()}
    for test, numbers in others.items():
        both.setdefault(test, []).extend(numbers)
    return both


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


class KeywordIndex(FieldIndex):
    """The rules that values of any field lead to."""

    def __init__(self, tests: Mapping[Text, Iterable[int]], caches: ValueCaches) -> None:
        super().__init__(tests, caches)
        self._shortest = min(len(test.value) for test in tests)
        self.finds_plain = any(_PLAIN(test.value) for test in tests)
        """Whether a value of plain characters can lead to any."""

    def find(self, value: str) -> tuple[int, ...]:
        # No value of plain characters has a literal with others in it.
        if len(value) < self._shortest or (not self.finds_plain and _PLAIN(value)):
            return _NOTHING
        return super().find(value)
