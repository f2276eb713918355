"""Which rules are worth verifying for an event: one automaton over all anchors of its classes.

Values repeat, so the literals found in a value are cached; the cache is dropped when it is full. No
false negatives: a rule without anchors is always a candidate of its classes.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from ahocorasick_rs import AhoCorasick, MatchKind

from vedette import limits
from vedette.detect.anchors import anchors_of
from vedette.detect.rule import Rule
from vedette.detect.views.event import Event

_NOTHING: Final[tuple[int, ...]] = ()
_ANY_FIELD: Final = ""


class Prefilter:
    """Candidates among the rules of one class of events, by their numbers."""

    def __init__(self, rules: Iterable[tuple[int, Rule]], frequency: Mapping[str, float]) -> None:
        self._always: list[int] = []
        by_anchor: dict[str, dict[str, list[int]]] = {}
        for number, rule in rules:
            anchors = anchors_of(rule.condition, frequency)
            if anchors is None:
                self._always.append(number)
                continue
            for field, literal in anchors:
                by_anchor.setdefault(field, {}).setdefault(literal, []).append(number)
        literals = sorted({literal for found in by_anchor.values() for literal in found})
        self._automaton = AhoCorasick(literals, matchkind=MatchKind.Standard) if literals else None
        places = {literal: place for place, literal in enumerate(literals)}
        self._rules_of: dict[str, dict[int, tuple[int, ...]]] = {
            field: {places[literal]: tuple(numbers) for literal, numbers in found.items()}
            for field, found in by_anchor.items()
        }
        self._anywhere = self._rules_of.pop(_ANY_FIELD, None)
        self._cache: dict[str, tuple[int, ...]] = {}
        self._cached_chars = 0

    def candidates(self, event: Event) -> list[int]:
        """Numbers of rules of which an anchor holds, and of those without anchors, ascending."""
        found: set[int] = set(self._always)
        folded, cache = event.folded, self._cache
        for field, rules_of in self._rules_of.items():
            text = folded(field)
            if not text:
                continue
            places = cache.get(text)
            if places is None:
                places = self._literals_in(text)
            for place in places:
                found.update(rules_of.get(place, _NOTHING))
        if self._anywhere is not None:
            for text in event.texts():
                for place in self._literals_in(text):
                    found.update(self._anywhere.get(place, _NOTHING))
        return sorted(found)

    def _literals_in(self, text: str) -> tuple[int, ...]:
        """Places of the literals that a value contains."""
        cached = self._cache.get(text)
        if cached is not None:
            return cached
        if self._automaton is None:
            return _NOTHING
        matches = self._automaton.find_matches_as_indexes(text, overlapping=True)
        found = tuple({place for place, _, _ in matches})
        if len(text) <= limits.DETECT_CACHED_VALUE_CHARS_MAX:
            self._cached_chars += len(text)
            if self._cached_chars > limits.DETECT_CACHE_CHARS_MAX:
                self._cache.clear()
                self._cached_chars = len(text)
            self._cache[text] = found
        return found
