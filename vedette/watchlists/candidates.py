"""Selects the documents of a batch that each watchlist must examine. None is missed: a document
without an anchor of the query cannot match.

The literals of all watchlists for a column form one automaton, which reads each distinct value
once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from ahocorasick_rs import AhoCorasick, MatchKind

from vedette.limits import Limit
from vedette.model.fields import JOINS
from vedette.model.findings.tag import TAGS
from vedette.model.tokens import fold
from vedette.query.match import ValueForms, compile_match, value_predicate
from vedette.query.nodes import Leaf, Text
from vedette.query.typed import JoinTest, Match
from vedette.watchlists.anchors import Anchor
from vedette.watchlists.batch import Batch

WATCHLIST_VALUES_CHARS: Limit[int] = 4_000_000
"""Characters of the values of one column whose watchlists are cached: the paths and names of a
fleet, but not all its command lines."""


_NOWHERE: Final = Leaf(None, Text(""))


class Candidates:
    """The anchors of watchlists, by watchlist number."""

    def __init__(self, anchors: Mapping[int, tuple[Anchor, ...] | None]) -> None:
        self._always = frozenset(number for number, found in anchors.items() if found is None)
        self._by_value: dict[int, list[Anchor]] = {}
        by_column: dict[str, dict[str, list[tuple[int, Callable[[Any, ValueForms], bool]]]]] = {}
        for number, found in anchors.items():
            for anchor in found or ():
                if anchor.literals:
                    ask = value_predicate(anchor.tests)
                    for literal in anchor.literals:
                        owners = by_column.setdefault(anchor.source, {}).setdefault(literal, [])
                        owners.append((number, ask))
                else:
                    self._by_value.setdefault(number, []).append(anchor)
        self._columns = {column: _Literals(owners) for column, owners in by_column.items()}

    def by_literal(self, batch: Batch) -> dict[int, set[int]]:
        """Maps watchlist to the documents that contain one of its literals."""
        found: dict[int, set[int]] = {}
        for column, literals in self._columns.items():
            for value, places in batch.places(column).items():
                for number in literals.find(value):
                    found.setdefault(number, set()).update(places)
        return found

    def of(
        self, number: int, batch: Batch, literal: Mapping[int, set[int]]
    ) -> Iterable[int] | None:
        """Returns the documents that a watchlist must examine, in order, from `by_literal` and its
        other anchors; None for all documents."""
        if number in self._always:
            return None
        found = set(literal.get(number, ()))
        for anchor in self._by_value.get(number, ()):
            found |= _by_value(anchor, batch)
        return sorted(found)


class _Literals:
    """The watchlists that the literals of one column belong to."""

    def __init__(
        self, owners: Mapping[str, list[tuple[int, Callable[[Any, ValueForms], bool]]]]
    ) -> None:
        literals = sorted(owners)
        self._owners = [owners[literal] for literal in literals]
        self._found: dict[str, Sequence[int]] = {}
        self._chars = 0
        self._automaton = AhoCorasick(literals, matchkind=MatchKind.Standard)

    def find(self, value: str) -> Sequence[int]:
        """Returns the watchlists with an anchor that the value satisfies; cached, since values
        recur."""
        known = self._found.get(value)
        if known is None:
            known = self._look(value)
            self._chars += len(value)
            if self._chars > WATCHLIST_VALUES_CHARS:
                self._found.clear()
                self._chars = len(value)
            self._found[value] = known
        return known

    def _look(self, value: str) -> Sequence[int]:
        if not value:
            return ()
        places = {
            match[0]
            for match in self._automaton.find_matches_as_indexes(fold(value), overlapping=True)
        }
        if not places:
            return ()
        asked = {owner for place in places for owner in self._owners[place]}
        forms: ValueForms = {}
        return [number for number, ask in asked if ask(value, forms)]


def _by_value(anchor: Anchor, batch: Batch) -> set[int]:
    """Returns the documents with a value that satisfies the anchor."""
    found: set[int] = set()
    if anchor.source == TAGS:
        ask = compile_match(Match(anchor.tests, _NOWHERE))
        batch.add_tags()
        return {at for at in range(batch.count) if batch.tags_of(at) and ask(batch.prepared(at))}
    if anchor.source in JOINS:
        joined = (test for test in anchor.tests if isinstance(test, JoinTest))
        binary = compile_match(Match(tuple(one for test in joined for one in test.tests), _NOWHERE))
        for column in JOINS[anchor.source]:
            for digest, places in batch.places(column).items():
                if digest and any(map(binary, batch.binaries(digest))):
                    found.update(places)
        return found
    meets = value_predicate(anchor.tests)
    for value, places in batch.places(anchor.source).items():
        if meets(value, {}):
            found.update(places)
    return found
