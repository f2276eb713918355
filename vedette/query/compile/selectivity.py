"""Estimates the selectivity of index prefilters from the query alone, without statistics."""

from collections.abc import Sequence

from vedette.limits import Limit
from vedette.model.fields import JOINS, RULE_HITS, WRITTEN
from vedette.model.indexes import EXACT, INDEX_OF, IndexKind
from vedette.query.compile.binary_sql import ROW_COLUMNS
from vedette.query.compile.document import SEGMENT
from vedette.query.compile.value_sql import few_addresses, is_whole
from vedette.query.nodes import And, Or
from vedette.query.typed import (
    AddressTest,
    Checked,
    JoinTest,
    Match,
    TagTest,
    Test,
    TextTest,
    source_of,
)

QUERY_INDEX_TOKEN_CHARS_MIN: Limit[int] = 3
"""Minimum length (characters) of a token for an index lookup. Shorter tokens are in too many
rows."""


WORD_INDEXES = frozenset({"words", "pieces"})


_CHEAP = frozenset({"group", "host_type", "os_type", "hostname", "process_name", "parent_name"})
"""Columns of low cardinality, which are cheap to scan."""


def evaluating_index(source: str, tests: Sequence[Test]) -> IndexKind | None:
    """Returns the kind of the column's index if that index alone evaluates the prefilter of the
    tests. None if the column has no index or a test cannot use it."""
    kind = INDEX_OF.get(source)
    if kind in WORD_INDEXES:
        is_known = all(isinstance(one, TextTest) and one.tokens for one in tests)
    else:
        is_known = all(map(is_whole, tests)) or bool(few_addresses(tests))
    return kind if is_known else None


def estimated_selectivity(node: Checked) -> int:
    """Returns the estimated selectivity of a node's index prefilter: the length of the shortest
    token that is looked up; 0 if indexes cannot narrow the node."""
    match node:
        case Match(tests):
            return min(map(_test_selectivity, tests), default=0)
        case And(children):
            return max(map(estimated_selectivity, children), default=0)
        case Or(children):
            return min(map(estimated_selectivity, children), default=0)
    return 0


def _test_selectivity(test: Test) -> int:
    if isinstance(test, JoinTest):
        if not ROW_COLUMNS.issuperset(map(source_of, test.tests)):
            return 0  # Counting the hosts of files takes longer than the narrowing saves.
        is_of_program = not SEGMENT.lists.intersection(JOINS[test.source])
        return QUERY_INDEX_TOKEN_CHARS_MIN if is_of_program else 1
    if isinstance(test, TagTest):
        return QUERY_INDEX_TOKEN_CHARS_MIN
    if isinstance(test, AddressTest):
        return 2 if INDEX_OF.get(test.column) in EXACT and few_addresses([test]) else 0
    if not isinstance(test, TextTest):
        return 0
    if test.column in RULE_HITS:
        return QUERY_INDEX_TOKEN_CHARS_MIN
    if INDEX_OF.get(WRITTEN.get(test.column, test.column)) in EXACT:
        return len(test.needle) if is_whole(test) else 0
    longest = max(map(len, test.tokens), default=0)
    if longest >= QUERY_INDEX_TOKEN_CHARS_MIN:
        return longest
    return QUERY_INDEX_TOKEN_CHARS_MIN if test.column in _CHEAP else 0
