"""Selects the rules that need verification for an event. Each field has an automaton over all its
anchors.

Values repeat, so the rules of a value are cached, and most values have none: a typical event costs
a dictionary lookup for each field with anchors, plus a single search for all keywords. There are no
false negatives: a rule without anchors is a candidate for every event of its classes.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal

from ahocorasick_rs import AhoCorasick, MatchKind

from vedette.detect.anchors import Anchor, holds
from vedette.detect.folding import folded
from vedette.detect.nodes import Text
from vedette.detect.rule import Rule
from vedette.detect.views.answered import ANSWERED, COLUMN_OF
from vedette.detect.views.event import Event, text_of
from vedette.limits import Limit

DETECT_CACHED_VALUE_CHARS_MAX: Limit[int] = 1_024
"""Maximum length (characters) of an event's value whose candidate rules are cached. Longer values
seldom repeat."""

DETECT_CACHE_CHARS_MAX: Limit[int] = 16 * 1024 * 1024
"""Maximum characters of all values whose candidate rules are cached, per process that evaluates
events."""

DETECT_CACHED_VALUE_COST_CHARS: Limit[int] = 100
"""Overhead of a cached value, in equivalent characters."""


_NOTHING: Final[tuple[int, ...]] = ()
_ANY_FIELD: Final = ""


class ValueCaches:
    """The caches of many fields with one bound on their total size. All are emptied together."""

    def __init__(self) -> None:
        self._caches: list[dict[str, tuple[int, ...]]] = []
        self._chars = 0

    def new(self) -> dict[str, tuple[int, ...]]:
        """Adds a cache that maps values to candidate rules."""
        cache: dict[str, tuple[int, ...]] = {}
        self._caches.append(cache)
        return cache

    def forget(self) -> None:
        """Drops all caches. Call it when their owners are no longer in use."""
        self._caches.clear()
        self._chars = 0

    def add(self, cache: dict[str, tuple[int, ...]], value: str, found: tuple[int, ...]) -> None:
        """Caches the rules of a value, unless the value is long: long values seldom repeat."""
        if len(value) > DETECT_CACHED_VALUE_CHARS_MAX:
            return
        self._chars += len(value) + DETECT_CACHED_VALUE_COST_CHARS
        if self._chars > DETECT_CACHE_CHARS_MAX:
            for one in self._caches:
                one.clear()
            self._chars = len(value) + DETECT_CACHED_VALUE_COST_CHARS
        cache[value] = found


AnchorsOf = Callable[[int, Rule, int], "frozenset[Anchor] | Literal[False] | None"]
"""Returns the anchors of a rule, given by number, for an event id. False if the rule cannot match
such events, None if it has no anchors."""


FieldEntry = tuple[str, dict[str, tuple[int, ...]], "FieldIndex", str | None]
"""A field; the cache of its index, for direct reads in the hot path; its index; and the source of
values that the event's data lack: a metadata column of the process, "" for another source
(`views/answered.py`), None if there is none."""

Tests = dict[Text, list[int]]


class Prefilter:
    """Finds candidates, by number, among the rules of one class of events.

    `event_id` is the id of all events passed to this prefilter, or 0 if it varies. Rules for other
    ids are left out. Only fields with anchors are read. Keywords, which any value may contain, are
    searched in all values of an event at once.
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
        indexes = [(field, FieldIndex(tests, caches)) for field, tests in by_field.items()]
        self._fields: list[FieldEntry] = [
            (field, index.cache, index, COLUMN_OF.get(field, "") if field in ANSWERED else None)
            for field, index in indexes
        ]
        self._keywords = KeywordIndex(anywhere, caches) if anywhere else None

    @property
    def is_empty(self) -> bool:
        """Whether no event can have a candidate."""
        return not (self._always or self._fields or self._keywords)

    def candidates(self, event: Event) -> list[int]:
        """Returns the numbers of rules with a true anchor and of rules without anchors,
        ascending."""
        return self.candidates_of(event.data, None, lambda: event)

    def candidates_of(
        self,
        data: Mapping[str, Any],
        facts: Callable[[], Mapping[str, Any]] | None,
        event: Callable[[], Event],
    ) -> list[int]:
        """Like `candidates`, for an event that is only created if needed. `facts` returns the
        metadata of the acting process; None if only the event has them. Where metadata do not apply
        to this kind of event, the result may contain a few surplus rules."""
        found: set[int] = set()
        for field, cache, index, column in self._fields:
            value = data.get(field)
            if type(value) is not str:
                if value is not None or field in data:
                    value = event().value(field)
                elif column is None:
                    continue
                elif column and facts is not None:
                    value = facts().get(column)
                    if type(value) is not str:
                        value = text_of(value)
                else:
                    value = event().value(field)
            if value:
                numbers = cache.get(value)
                if numbers is None:
                    numbers = index.find(value)
                if numbers:
                    found.update(numbers)
        if self._keywords is not None and self._keywords.may_occur(data):
            found.update(self._keywords.in_values(event()))
        return self._with_always(found)

    def _with_always(self, found: set[int]) -> list[int]:
        if not found:
            return self._always
        found.update(self._always)
        return sorted(found)


class FieldIndex:
    """Maps the values of a field to rules."""

    def __init__(self, tests: Mapping[Text, Iterable[int]], caches: ValueCaches) -> None:
        by_literal: dict[str, list[tuple[Text, tuple[int, ...]]]] = {}
        for test, numbers in tests.items():
            by_literal.setdefault(test.value, []).append((test, tuple(numbers)))
        literals = sorted(by_literal)
        self._tests = [by_literal[literal] for literal in literals]
        self._automaton = AhoCorasick(literals, matchkind=MatchKind.Standard)
        self._caches = caches
        self.cache = caches.new()
        """Rule numbers by value. The hot path reads it directly."""

    def find(self, value: str) -> tuple[int, ...]:
        """Returns the numbers of the rules with an anchor that the value passes."""
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
    """Maps the values of any field to rules with keywords."""

    def __init__(self, tests: Mapping[Text, Iterable[int]], caches: ValueCaches) -> None:
        super().__init__(tests, caches)
        self._shortest = min(len(test.value) for test in tests)
        self._finds_plain = any(_PLAIN(test.value) for test in tests)
        """Whether any keyword consists of plain characters."""
        literals = sorted({test.value for test in tests})
        # The search for the first match compares several positions at once; the search for all does
        # not.
        self._first = AhoCorasick(literals, matchkind=MatchKind.LeftmostFirst)

    def may_occur(self, data: Mapping[str, Any]) -> bool:
        """Returns False if no value contains any literal. Searches all values as one text, so it
        may also return True for a match across the boundary of two values."""
        try:
            text = "\n".join(data.values())
        except TypeError:  # numbers and lists are not text yet
            if any(value is None and field in ANSWERED for field, value in data.items()):
                return True
            text = "\n".join(map(text_of, data.values()))
        return bool(self._first.find_matches_as_indexes(folded(text)))

    def in_values(self, event: Event) -> set[int]:
        """Returns the numbers of the rules that match the event's own values."""
        found: set[int] = set()
        for field in event.own_fields():
            value = event.data[field]
            if type(value) is not str:
                if type(value) is int and not self._finds_plain:
                    continue  # a number cannot contain a literal with other characters
                value = event.value(field)
            if value:
                found.update(self.find(value))
        return found

    def find(self, value: str) -> tuple[int, ...]:
        # A value of plain characters cannot contain a literal with others.
        if len(value) < self._shortest or (not self._finds_plain and _PLAIN(value)):
            return _NOTHING
        return super().find(value)
