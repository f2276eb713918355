"""Decides whether a query restricts anything. Bulk changes, suppressions and watchlists reject a
query that matches every document.

Pure constant folding without reading documents. `field:*` is constantly true for a field that every
document has (`Catalogue.always`). A query that happens to match every stored document for another
reason still counts as a restriction.
"""

from collections.abc import Sequence
from typing import assert_never

from vedette.query.check.time import TIME_MAX_US
from vedette.query.nodes import And, Everything, Not, Or
from vedette.query.typed import NUMBER_MAX, Checked, Match, NumberTest, PresentTest, Test, TimeTest


def matches_all(tree: Checked, always: frozenset[str] = frozenset()) -> bool:
    """Whether every possible document matches. `always` are the columns that are set in every
    document."""
    return _constant(tree, always) is True


def _constant(node: Checked, always: frozenset[str]) -> bool | None:
    """Returns True or False if the node is constant, else None."""
    match node:
        case Everything():
            return True
        case Match(tests):
            return _of_tests(tests, always)
        case Not(child):
            found = _constant(child, always)
            return None if found is None else not found
        case And(children):
            return _joined(children, always, absorbing=False)
        case Or(children):
            return _joined(children, always, absorbing=True)
        case _:
            assert_never(node)


def _of_tests(tests: tuple[Test, ...], always: frozenset[str]) -> bool | None:
    if not tests:
        return False
    return True if any(_holds(test, always) for test in tests) else None


def _joined(children: Sequence[Checked], always: frozenset[str], *, absorbing: bool) -> bool | None:
    """Returns the constant of an AND (`absorbing` False) or an OR (`absorbing` True)."""
    found = [_constant(child, always) for child in children]
    if absorbing in found or _has_opposites(children):
        return absorbing
    return None if None in found else not absorbing


def _has_opposites(children: Sequence[Checked]) -> bool:
    """Whether a child is the negation of another child."""
    negated = {child.child for child in children if isinstance(child, Not)}
    return any(child in negated for child in children if not isinstance(child, Not))


def _holds(test: Test, always: frozenset[str]) -> bool:
    """Whether a test is true for every document."""
    match test:
        case PresentTest(column):
            return column in always
        case NumberTest(source, low, high):
            return source in always and low <= 1 and high == NUMBER_MAX
        case TimeTest(column, low_us, high_us):
            return column in always and low_us <= 1 and high_us >= TIME_MAX_US
        case _:
            return False
