"""Which literals every event that fires a rule must contain: what makes thousands of rules cheap.

An *anchor* is a field and a literal that occurs in its value, in lower case; the field is "" where
any value will do. An *anchor set* of a condition is a set of which at least one holds for every
event for which the condition is true. `And` may take the best set of any of its nodes, `Or` needs
the sets of all; `Not`, numbers, addresses and absent fields give none.
"""

from collections.abc import Mapping
from typing import Final

from vedette.detect.nodes import And, FieldTest, Keyword, Like, Node, Or, Text

Anchor = tuple[str, str]
"""A field and a literal."""

LITERAL_CHARS_MIN: Final = 2
"""Shorter literals occur nearly everywhere."""

_UNSEEN: Final = 0.0


def anchors_of(node: Node, frequency: Mapping[str, float]) -> frozenset[Anchor] | None:
    """The cheapest anchor set, or None where there is none. `frequency` has the share of events
    that a literal occurs in, where it was measured."""
    match node:
        case FieldTest(field=field, test=Text() | Like() as test):
            return _anchor(field, test)
        case Keyword(test=Text() | Like() as test):
            return _anchor("", test)
        case And(nodes=nodes):
            sets = [found for one in nodes if (found := anchors_of(one, frequency)) is not None]
            return min(sets, key=lambda found: _cost(found, frequency), default=None)
        case Or(nodes=nodes):
            joined: frozenset[Anchor] = frozenset()
            for one in nodes:
                found = anchors_of(one, frequency)
                if found is None:
                    return None
                joined |= found
            return joined
    return None


def _anchor(field: str, test: Text | Like) -> frozenset[Anchor] | None:
    literal = _literal(test)
    return frozenset(((field, literal),)) if literal else None


def _literal(test: Text | Like) -> str:
    """The longest literal that the value of a test contains; "" where it is too short to help."""
    if isinstance(test, Text):
        best = test.value
    else:
        best = max((run for piece in test.pieces for run in _runs(piece)), key=len, default="")
    best = best.lower()
    return best if len(best) >= LITERAL_CHARS_MIN else ""


def _runs(piece: tuple[str | None, ...]) -> list[str]:
    return [part for part in piece if part is not None]


def _cost(anchors: frozenset[Anchor], frequency: Mapping[str, float]) -> tuple[float, float]:
    """How many events a set lets through: by what was measured, else by length and number."""
    measured = sum(frequency.get(literal, _UNSEEN) for _, literal in anchors)
    guessed = sum(_guess(literal) for _, literal in anchors)
    return measured, guessed


_COMMON: Final = (
    *(".exe", ".dll", "c:\\windows\\", "\\system32\\", "\\windows\\system32\\", "c:\\users\\"),
    *("\\appdata\\", "\\currentversion\\", "software\\microsoft", "\\services\\", "/bin/", "/usr/"),
    *("powershell", "\\powershell.exe", "\\cmd.exe", "\\svchost.exe", "\\explorer.exe", "http"),
)


def _guess(literal: str) -> float:
    """A guess at the share of events with a literal: common ones are named, others shrink with
    their length."""
    if any(literal in common or common == literal for common in _COMMON):
        return 0.2
    return 0.5 ** min(len(literal), 24)
