"""Anchors: texts that every event that matches a rule contains. They make thousands of rules cheap.

An *anchor* is a text test of a field; the field is "" if any value may contain the text. An *anchor
set* of a condition is a set of anchors of which at least one is true for every event that satisfies
the condition. For `And`, the best set of any node suffices; `Or` needs the sets of all nodes;
`Not`, numbers, addresses and absent fields have none.

The best set is the set that the fewest events pass: according to measured frequencies, or, where
there are none, by the length of the literals.
"""

from collections.abc import Mapping
from typing import Final

from vedette import limits
from vedette.detect.folding import folded
from vedette.detect.nodes import And, FieldTest, Keyword, Like, Node, Not, Or, Regex, Text
from vedette.detect.regex_literals import literals_of

Anchor = tuple[str, Text]
"""A field, and a test of its folded value."""


def anchors_of(node: Node, frequency: Mapping[Anchor, float]) -> frozenset[Anchor] | None:
    """Returns the cheapest anchor set, or None if there is none. `frequency` maps measured anchors
    to the share of events that pass them."""
    match node:
        case FieldTest(field=field, test=Text() as test):
            return _anchor(field, test)
        case FieldTest(field=field, test=Like() as test):
            return anchors_of(_pieces(field, test), frequency)
        case FieldTest(field=field, test=Regex() as test):
            inner = literals_of(field, test)
            return None if inner is None else anchors_of(inner, frequency)
        case Keyword(test=Text() as test):
            return _anchor("", test)
        case Keyword(test=Like() as test):
            return anchors_of(_pieces("", test), frequency)
        case And(nodes=nodes):
            sets = [found for one in nodes if (found := anchors_of(one, frequency)) is not None]
            return min(sets, key=lambda found: _cost(found, frequency), default=None)
        case Or(nodes=nodes):
            joined: set[Anchor] = set()
            for one in nodes:
                found = anchors_of(one, frequency)
                if found is None:
                    return None
                joined |= found
            return frozenset(joined)
    return None


def all_anchors(node: Node) -> frozenset[Anchor]:
    """Returns every anchor that may be chosen for a condition, and is therefore worth measuring."""
    match node:
        case FieldTest(field=field, test=Text() as test):
            return _anchor(field, test) or frozenset()
        case FieldTest(field=field, test=Like() as test):
            return all_anchors(_pieces(field, test))
        case FieldTest(field=field, test=Regex() as test):
            inner = literals_of(field, test)
            return frozenset() if inner is None else all_anchors(inner)
        case Keyword(test=Text() as test):
            return _anchor("", test) or frozenset()
        case Keyword(test=Like() as test):
            return all_anchors(_pieces("", test))
        case And(nodes=nodes) | Or(nodes=nodes):
            return frozenset().union(*map(all_anchors, nodes))
    return frozenset()


def assume(node: Node, field: str, value: str) -> Node | bool:
    """Simplifies a condition for events in which the field has this nonempty value. Returns True or
    False if that decides it."""
    match node:
        case FieldTest(field=tested, test=Text(cased=cased) as test) if tested == field:
            return holds(test, value if cased else value.lower())
        case Not(node=inner):
            left = assume(inner, field, value)
            return Not(left) if not isinstance(left, bool) else not left
        case And(nodes=nodes):
            rest: list[Node] = []
            for one in nodes:
                left = assume(one, field, value)
                if left is False:
                    return False
                if not isinstance(left, bool):
                    rest.append(left)
            return And(tuple(rest)) if rest else True
        case Or(nodes=nodes):
            rest = []
            for one in nodes:
                left = assume(one, field, value)
                if left is True:
                    return True
                if not isinstance(left, bool):
                    rest.append(left)
            return Or(tuple(rest)) if rest else False
    return node


def holds(test: Text, text: str) -> bool:
    """Whether a folded value passes an anchor's test."""
    match test.where:
        case "equals":
            return text == test.value
        case "startswith":
            return text.startswith(test.value)
        case "endswith":
            return text.endswith(test.value)
    return test.value in text


def _anchor(field: str, test: Text) -> frozenset[Anchor] | None:
    literal = folded(test.value)
    # most values contain any given ASCII character
    if len(literal) < limits.ANCHOR_CHARS_MIN and literal.isascii():
        return None
    return frozenset(((field, Text(test.where, literal)),))


def _pieces(field: str, test: Like) -> Node:
    """Returns the literal pieces of a wildcard test, all of which are required."""
    runs = [run for piece in test.pieces for run in piece if run is not None]
    return And(tuple(FieldTest(field, Text("contains", run)) for run in runs))


def _cost(anchors: frozenset[Anchor], frequency: Mapping[Anchor, float]) -> tuple[float, float]:
    """Returns the sort key of an anchor set: measured share of events, then the estimated share."""
    measured = sum(frequency.get(anchor, 0.0) for anchor in anchors)
    return measured, sum(map(_guess, anchors))


_COMMON: Final = (
    "c:\\windows\\system32\\",
    "c:\\users\\",
    "\\appdata\\local\\",
    "\\currentversion\\",
    "software\\microsoft\\windows",
    "\\services\\",
    "/usr/bin/",
    ".exe",
    ".dll",
    "https://",
    "\\powershell.exe",
    "\\cmd.exe",
    "\\svchost.exe",
    "\\explorer.exe",
    "setvalue",
    "true",
)
"""Literals that occur in a large share of events."""


def _guess(anchor: Anchor) -> float:
    """Estimates the share of events that pass an anchor."""
    test = anchor[1]
    if any(test.value in common for common in _COMMON):
        return 0.2
    return 0.5 ** min(len(test.value), 24)
