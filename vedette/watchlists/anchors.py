"""Values that a document must have to match a query, which make a thousand watchlists cheap.

The *anchors* of a query are tests of single columns; every matching document satisfies one of them.
`And` uses the anchors of any child, `Or` needs those of all children; `Not` has none. A text test
with index tokens has a literal: text that every matching value contains after folding.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from vedette.model.fields import DERIVED, JOINS
from vedette.query.compile.predicate_sql import by_source, on_column
from vedette.query.nodes import And, Or
from vedette.query.typed import (
    AddressTest,
    Checked,
    JoinTest,
    Match,
    PresentTest,
    TagTest,
    Test,
    TextTest,
)

_COMMON: Final = frozenset(
    (
        "exe",
        "dll",
        "com",
        "windows",
        "system32",
        "program",
        "files",
        "users",
        "microsoft",
        "software",
        "currentversion",
        "machine",
        "registry",
        "svchost",
        "svchost.exe",
        "cmd",
    )
)
"""Words that most documents contain."""

_PRESENT, _COMMON_WORD, _RANGE, _TEXT, _JOIN, _EXACT, _TAG = 8.0, 4.0, 2.0, 1.0, 0.8, 0.1, 0.02
"""Estimated selectivity (higher lets more documents through): presence, a common word, a range of
numbers, text without a word, a join, a single address, a tag."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """Tests of one source, one of which must hold. `literals` are texts, one of which a value must
    contain for a test to be true; () if unknown."""

    source: str
    tests: tuple[Test, ...]
    literals: tuple[str, ...] = ()


def anchors_of(node: Checked) -> tuple[Anchor, ...] | None:
    """Returns the cheapest anchors, or None if there are none."""
    found = _best(node)
    return None if found is None else found[1]


def _best(node: Checked) -> tuple[float, tuple[Anchor, ...]] | None:
    match node:
        case Match(tests):
            return _of_tests(tests)
        case And(children):
            known = [found for child in children if (found := _best(child)) is not None]
            return min(known, key=lambda one: one[0], default=None)
        case Or(children):
            cost, joined = 0.0, list[Anchor]()
            for child in children:
                found = _best(child)
                if found is None:
                    return None
                cost += found[0]
                joined += found[1]
            return cost, tuple(joined)
    return None


def _of_tests(tests: Sequence[Test]) -> tuple[float, tuple[Anchor, ...]] | None:
    anchors = []
    for source, found in (on_column(*group) for group in by_source(tests)):
        if source in DERIVED and source not in JOINS:
            return None
        anchors.append(Anchor(source, tuple(found), _literals(found)))
    return sum(map(_cost, tests)), tuple(anchors)


def _literals(tests: Sequence[Test]) -> tuple[str, ...]:
    found = {
        max(test.tokens, key=len) if isinstance(test, TextTest) and test.tokens else ""
        for test in tests
    }
    return () if "" in found else tuple(sorted(found))


def _cost(test: Test) -> float:
    match test:
        case TagTest():
            return _TAG
        case JoinTest():
            return _JOIN
        case PresentTest():
            return _PRESENT
        case AddressTest(_, low, high):
            return _EXACT if low == high else _RANGE
        case TextTest(tokens=()):
            return _EXACT if test.shape == "equals" and len(test.needle) > 8 else _TEXT
        case TextTest(tokens=tokens):
            longest = max(tokens, key=len)
            return _COMMON_WORD if longest in _COMMON else 1 / len(longest)
    return _RANGE
