"""How much a look into the indexes promises to narrow a search: what is known of a node before any
row is."""

from collections.abc import Sequence

from vedette.model.fields import JOINS, WRITTEN
from vedette.model.indexes import EXACT, INDEX_OF
from vedette.query.compile.document import SEGMENT
from vedette.query.compile.predicate_sql import few_addresses, is_whole
from vedette.query.nodes import And, Or
from vedette.query.typed import AddressTest, Checked, JoinTest, Match, Test, TextTest

WORD_INDEXES = frozenset({"words", "pieces"})

_CHARS_MIN = 3
"""A shorter index word is in too many rows to be worth a look."""

_CHEAP = frozenset({"group", "host_type", "os_type", "hostname", "process_name", "parent_name"})
"""Columns with few values: without an index they are read through in a moment."""


def decides(source: str, tests: Sequence[Test]) -> bool:
    """Whether a text index tells which rows have what it knows of the tests."""
    kind = INDEX_OF.get(source)
    if kind == "values":
        return all(map(is_whole, tests))
    return kind in WORD_INDEXES and all(isinstance(one, TextTest) and one.tokens for one in tests)


def promise(node: Checked) -> int:
    """How much the partial rows of a node promise to narrow: the length of the shortest of the
    words that it asks of indexes; 0 when its rows cannot be told by indexes."""
    match node:
        case Match(tests):
            return min(map(_test_promise, tests), default=0)
        case And(children):
            return max(map(promise, children), default=0)
        case Or(children):
            return min(map(promise, children), default=0)
    return 0


def _test_promise(test: Test) -> int:
    if isinstance(test, JoinTest):
        is_of_program = not SEGMENT.lists.intersection(JOINS[test.source])
        return _CHARS_MIN if is_of_program else 1
    if isinstance(test, AddressTest):
        return 2 if INDEX_OF.get(test.column) in EXACT and few_addresses([test]) else 0
    if not isinstance(test, TextTest):
        return 0
    if INDEX_OF.get(WRITTEN.get(test.column, test.column)) in EXACT:
        return len(test.needle) if is_whole(test) else 0
    longest = max(map(len, test.tokens), default=0)
    if longest >= _CHARS_MIN:
        return longest
    return _CHARS_MIN if test.column in _CHEAP else 0
