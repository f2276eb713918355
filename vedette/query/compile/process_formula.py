"""A query as a boolean formula over event leaves that a process meets (`processes_sql.py`)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from vedette.limits import Limit
from vedette.model.columns import EVENT_KINDS
from vedette.query.compile.document import SEGMENT
from vedette.query.nodes import And, Everything, Not, Or, all_of, any_of, negated
from vedette.query.typed import Checked, Match, Test, source_of

QUERY_GROUPING_LEAVES_MAX: Limit[int] = 64
"""Maximum leaves of one grouping: the bits of a UInt64."""


COUNTS: frozenset[str] = frozenset(f"{kind.name}_count" for kind in EVENT_KINDS)
"""Columns that a comprehensive search sums over the segments of a process."""


def asks_process(test: Test) -> bool:
    """Whether the result depends on other segments of the process: tests of events or counts."""
    source = source_of(test)
    return source in COUNTS or SEGMENT.is_list(source)


def conjuncts_of(node: Checked) -> tuple[Checked, ...]:
    match node:
        case Everything():
            return ()
        case And(children):
            return children
        case _:
            return (node,)


def combine_leaves(node: Checked) -> Checked:
    """Combines the event leaves of an OR, and the negated event leaves of an AND, into one leaf. A
    process meets any of them exactly if it meets their union."""
    match node:
        case Not(child):
            return negated(combine_leaves(child))
        case And(children):
            inner = [combine_leaves(child) for child in children]
            joined = _union(one.child for one in inner if isinstance(one, Not))
            kept = [one for one in inner if not (isinstance(one, Not) and _is_events(one.child))]
            return all_of([*kept, *(negated(leaf) for leaf in joined)])
        case Or(children):
            inner = [combine_leaves(child) for child in children]
            return any_of([*(one for one in inner if not _is_events(one)), *_union(inner)])
        case _:
            return node


def _union(nodes: Iterable[Checked]) -> list[Match]:
    """Returns the event leaves among the nodes, combined into one; [] if there are none."""
    leaves = [node for node in nodes if isinstance(node, Match) and _is_events(node)]
    tests = tuple(dict.fromkeys(test for leaf in leaves for test in leaf.tests))
    return [Match(tests, leaves[0].leaf)] if leaves else []


def _is_events(node: Checked) -> bool:
    """Whether a node is a leaf that tests only events."""
    return (
        isinstance(node, Match)
        and bool(node.tests)
        and all(SEGMENT.is_list(source_of(test)) for test in node.tests)
    )


def _leaves(node: Checked) -> Iterator[Match]:
    match node:
        case Match():
            yield node
        case Not(child):
            yield from _leaves(child)
        case And(children) | Or(children):
            for child in children:
                yield from _leaves(child)
        case Everything():
            return
        case _:
            assert_never(node)


def positive_leaves(node: Checked, *, is_negated: bool = False) -> Iterator[Match]:
    """Yields the leaves under an even number of NOTs."""
    match node:
        case Match():
            if not is_negated:
                yield node
        case Not(child):
            yield from positive_leaves(child, is_negated=not is_negated)
        case And(children) | Or(children):
            for child in children:
                yield from positive_leaves(child, is_negated=is_negated)
        case Everything():
            return
        case _:
            assert_never(node)


def distinct_leaves(node: Checked) -> list[Match]:
    return list(dict.fromkeys(_leaves(node)))


def any_asks_process(node: Checked) -> bool:
    return any(asks_process(test) for leaf in _leaves(node) for test in leaf.tests)


def is_one_grouping(node: Checked) -> bool:
    """Whether a single grouping can evaluate the node: it has only event leaves, and not too
    many."""
    leaves = distinct_leaves(node)
    return len(leaves) <= QUERY_GROUPING_LEAVES_MAX and all(map(_is_events, leaves))


def proves_positive(node: Checked) -> bool:
    """Whether every segment that satisfies the node meets a leaf that is not negated."""
    match node:
        case Match():
            return True
        case And(children):
            return any(map(proves_positive, children))
        case Or(children):
            return all(map(proves_positive, children))
        case _:
            return False


def holds_without_leaves(node: Checked) -> bool:
    """Whether the node is true for a process that meets no leaf."""
    match node:
        case Match():
            return False
        case Not(child):
            return not holds_without_leaves(child)
        case And(children):
            return all(map(holds_without_leaves, children))
        case Or(children):
            return any(map(holds_without_leaves, children))
        case Everything():
            return True
        case _:
            assert_never(node)


def having_sql(node: Checked, leaves: Sequence[Match], met: str = "") -> str:
    """Returns the node as an SQL expression over the bits of the leaves that are met."""
    met = met or "groupBitOr(toUInt64(leaf))"
    match node:
        case Match():
            return f"bitTest({met}, {leaves.index(node)})"
        case Not(child):
            return f"NOT {having_sql(child, leaves, met)}"
        case And(children):
            return f"({' AND '.join(having_sql(child, leaves, met) for child in children)})"
        case Or(children):
            return f"({' OR '.join(having_sql(child, leaves, met) for child in children)})"
        case Everything():
            return "1"
        case _:
            assert_never(node)
