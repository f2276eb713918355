"""Index prefilters of a query (`Condition.narrowings`): for every match, some partial row satisfies
the prefilter. A search counts those rows first (`store/plan/choose.py`)."""

from collections.abc import Iterator, Sequence

from vedette.limits import Limit
from vedette.model.indexes import INDEX_OF
from vedette.query.compile.binder import either
from vedette.query.compile.condition import (
    TEXT_INDEXES,
    IndexLookup,
    LookupIndex,
    Narrowing,
    union_of,
)
from vedette.query.compile.index_sql import IndexSql
from vedette.query.compile.predicate_sql import by_source, on_column
from vedette.query.compile.selectivity import WORD_INDEXES, estimated_selectivity
from vedette.query.nodes import And, Leaf, Or, Text
from vedette.query.typed import Checked, Match, Test, source_of

QUERY_NARROWINGS_MAX: Limit[int] = 6
"""Maximum index prefilters of a condition. Each is an index lookup before the search starts."""


_NOWHERE = Leaf(None, Text(""))
"""Leaf of combined matches, which have no position in the query."""


def any_of_tests(tests: Sequence[Test]) -> Match:
    """Returns a node that is true if any of the tests is."""
    return Match(tuple(tests), _NOWHERE)


def narrowings_of(tree: Checked, index: IndexSql) -> tuple[Narrowing, ...]:
    """Returns `Condition.narrowings` of a tree."""
    conjuncts = tree.children if isinstance(tree, And) else (tree,)
    selectivities = list(map(estimated_selectivity, conjuncts))
    together: dict[str | int, list[int]] = {}
    for number, one in enumerate(conjuncts):
        if selectivities[number]:
            together.setdefault(_row_column(one, index) or number, []).append(number)
    known = sorted(
        ((max(selectivities[one] for one in found), found) for found in together.values()),
        reverse=True,
    )
    return tuple(
        narrowing_of([conjuncts[one] for one in found], index)
        for _, found in known[:QUERY_NARROWINGS_MAX]
    )


def narrowing_of(nodes: Sequence[Checked], index: IndexSql) -> Narrowing:
    """Returns the prefilter of nodes. All parts that text indexes evaluate form one lookup, which
    reads no column; every other part is a lookup of its own. Several nodes must match the same row.
    Every node must have a selectivity above 0."""
    selectivity = max(map(estimated_selectivity, nodes))
    if len(nodes) > 1:
        required = [one for node in nodes for one in narrowing_of([node], index).lookups]
        return Narrowing(
            (_combined(" AND ".join(one.sql for one in required), required),), selectivity
        )
    lookups = list(_lookups(nodes[0], index))
    by_text = [one for one in lookups if not TEXT_INDEXES.isdisjoint(one.kinds)]
    others = [one for one in lookups if TEXT_INDEXES.isdisjoint(one.kinds)]
    together = [_combined(either(one.sql for one in by_text), by_text)] if by_text else []
    return Narrowing((*together, *others), selectivity)


def _combined(sql: str, lookups: Sequence[IndexLookup]) -> IndexLookup:
    kinds: frozenset[LookupIndex] = frozenset().union(*(one.kinds for one in lookups))
    return IndexLookup(sql, kinds, union_of(one.indexes for one in lookups))


def _row_column(node: Checked, index: IndexSql) -> str:
    """Returns the column of a node that reads a single metadata column with a token index; else "".
    A merged value comes from one row, so that row has the tokens of all nodes on the column."""
    sources = {source_of(test) for test in node.tests} if isinstance(node, Match) else set()
    source = sources.pop() if len(sources) == 1 else ""
    is_words = source not in index.document.lists and INDEX_OF.get(source) in WORD_INDEXES
    return source if is_words else ""


def _lookups(node: Checked, index: IndexSql) -> Iterator[IndexLookup]:
    """Yields the alternative lookups of a node's prefilter."""
    match node:
        case Match(tests):
            for source, found in by_source(tests):
                yield index.lookup(*on_column(source, found))
        case And(children):
            yield from _lookups(max(children, key=estimated_selectivity), index)
        case Or(children):
            together = [t for one in children if isinstance(one, Match) for t in one.tests]
            if together:
                yield from _lookups(any_of_tests(together), index)
            for child in children:
                if not isinstance(child, Match):
                    yield from _lookups(child, index)
        case _:
            raise AssertionError("nothing is known of the rows of this node")
