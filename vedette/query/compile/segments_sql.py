"""Compiles a typed tree to a condition on segments. All values are bound.

- Segments are read with FINAL. An event is in a single partial row, and a skipping index under
  FINAL can drop the row that another part of the condition needs (`filemod:a modload:b` from two
  posts would be lost), so `SETTINGS` disables indexes under FINAL. A test of events becomes

      key IN (SELECT key FROM segment WHERE <index prefilter> AND <exact predicate>)

  without FINAL: single partial rows decide it, the index works, and the large arrays are never
  merged. NOT is applied outside. The key is two numbers, so even all segments make a small set.
- Metadata is tested on the merged row, because a later partial row may have a better value.
- A token index never decides: the exact predicate always follows. A suffix index does decide
  (`model/suffix_columns.py`), for rows that have it; the store reports which (`SuffixIndexes`).

Column names come from the catalogue and `model/columns.py`. User input is bound, including
patterns, which `query/check/glob.py` builds from escaped text.
"""

from collections.abc import Iterable, Sequence

from vedette.limits import Limit
from vedette.model.columns import KEY
from vedette.query.compile.binder import Binder, either
from vedette.query.compile.condition import EVERY_ROW, Apart, Condition, Narrowing
from vedette.query.compile.document import SEGMENT, Document
from vedette.query.compile.index_sql import IndexSql, indexes_of
from vedette.query.compile.narrowing_sql import any_of_tests, narrowing_of, narrowings_of
from vedette.query.compile.predicate_sql import asked_columns, by_source, tests_sql
from vedette.query.compile.row_sql import RowConditions, row_conditions
from vedette.query.compile.selectivity import estimated_selectivity
from vedette.query.compile.suffix_index import NO_SUFFIX_INDEXES, SuffixIndexes
from vedette.query.nodes import And, Everything, Not, Or
from vedette.query.typed import Checked, Match, Test, source_of

QUERY_SUBQUERIES_MAX: Limit[int] = 8
"""Maximum event subqueries of a condition. Further event tests read the merged rows."""


KEY_COLUMNS = frozenset(column.name for column in KEY)
"""Columns that are equal in all partial rows of a segment."""


def compile_segments(
    tree: Checked, *, prefix: str = "q", indexes: SuffixIndexes = NO_SUFFIX_INDEXES
) -> Condition:
    """Returns the condition for segments that match. Run it with `SETTINGS` and the parameters of
    the scope (`store/sql/scope_filter.py`), which joins need.

    `indexes` are the suffix indexes of the store; results do not depend on them. Parameters are
    named `<prefix>0`, `<prefix>1` ..., so that statements can combine conditions.
    """
    compiler = SegmentCompiler(SEGMENT, Binder(prefix), indexes)
    sql = compiler.node(tree)
    narrowings = narrowings_of(tree, compiler.index)
    found, apart = compiler.found(tree), compiler.apart(tree)
    return Condition(
        sql,
        compiler.bind.params,
        narrowings,
        merged=frozenset(compiler.merged),
        keys=frozenset(compiler.keys),
        looks=compiler.subqueries,
        found=found,
        apart=apart,
        indexes=compiler.indexes,
    )


class SegmentCompiler:
    """State of compiling a condition: bound values, columns read, subqueries used."""

    def __init__(
        self, document: Document, bind: Binder, indexes: SuffixIndexes = NO_SUFFIX_INDEXES
    ) -> None:
        self.document = document
        self.bind = bind
        bind.params.update(indexes.params)
        self.index = IndexSql(document, bind, indexes)
        self.subqueries = 0
        self.merged: set[str] = set()
        self.keys: set[str] = set()
        self.merged_indexes: frozenset[str] = frozenset()
        self.event_indexes: frozenset[str] = frozenset()
        self.events = ""
        self.rows: tuple[str, ...] = ()

    @property
    def indexes(self) -> frozenset[str]:
        """`Condition.indexes` of the nodes compiled so far."""
        return self.merged_indexes | self.event_indexes

    def node(self, node: Checked) -> str:
        match node:
            case Everything():
                return "1"
            case Match(tests):
                return self.any_test(tests)
            case Not(child):
                return f"NOT {self.node(child)}"
            case And(children):
                return self._all_nodes(children)
            case Or(children):
                return self._any_node(children)

    def _all_nodes(self, children: Sequence[Checked]) -> str:
        """Returns SQL for an AND. Combines negated leaves into NOT (a OR b): one pass over each
        column."""
        unwanted: list[Test] = []
        parts: list[str] = []
        for child in children:
            match child:
                case Not(Match(tests)):
                    unwanted.extend(tests)
                case _:
                    parts.append(self.node(child))
        if unwanted:
            parts.append(f"NOT {self.any_test(unwanted)}")
        return f"({' AND '.join(parts)})" if parts else "1"

    def _any_node(self, children: Sequence[Checked]) -> str:
        """Returns SQL for an OR. Combines its leaves: one pass over each column."""
        tests: list[Test] = []
        rest: list[Checked] = []
        for child in children:
            if isinstance(child, Match):
                tests.extend(child.tests)
            else:
                rest.append(child)
        parts = [self.any_test(tests)] if tests or not rest else []
        return either([*parts, *map(self.node, rest)])

    def any_test(self, tests: Sequence[Test]) -> str:
        """Returns SQL that is true if any of the tests is; "0" without tests."""
        of_events = [test for test in tests if self._is_event(test)]
        of_metadata = [test for test in tests if not self._is_event(test)]
        parts = [self._of_merged(source, found) for source, found in by_source(of_metadata)]
        if of_events:
            self.events = self._any_event(by_source(of_events))
            parts.append(self.events)
        return either(parts) if parts else "0"

    def _is_event(self, test: Test) -> bool:
        """Whether single partial rows can decide the test."""
        return bool(self.document.rows) and self.document.is_list(source_of(test))

    def _of_merged(self, source: str, tests: Sequence[Test]) -> str:
        asked = asked_columns(source)
        self.merged |= asked - KEY_COLUMNS
        self.keys |= asked & KEY_COLUMNS
        self.merged_indexes |= indexes_of(source)
        return tests_sql(source, tests, self.bind, self.document)

    def _any_event(self, grouped: list[tuple[str, list[Test]]]) -> str:
        if self.subqueries >= QUERY_SUBQUERIES_MAX:
            return either(self._of_merged(source, found) for source, found in grouped)
        rows = self.row_conditions(grouped)
        # A row source per index, so that a column is read only where its own index matches. Columns
        # without an index are scanned together.
        return self._keys_of(*rows.aided, *([either(rows.unaided)] if rows.unaided else []))

    def row_conditions(self, grouped: Sequence[tuple[str, Sequence[Test]]]) -> RowConditions:
        """Returns the conditions on partial rows for event tests, which are grouped by source."""
        rows = row_conditions(grouped, self.index)
        self.event_indexes |= rows.indexes
        return rows

    def _keys_of(self, *rows: str) -> str:
        """Returns SQL that is true if the segment has a partial row that satisfies one of the
        expressions."""
        self.subqueries += 1
        self.rows = tuple(f"{EVERY_ROW} AND {one}" for one in rows)
        return keys_of(self.document, self.rows)

    def found(self, tree: Checked) -> str:
        """Returns `Condition.found` for a compiled tree that is a leaf or an OR of leaves; else
        ""."""
        tests = _chosen_tests(tree)
        of_metadata = tuple(test for test in tests if not self._is_event(test))
        if not tests:
            return ""
        if not of_metadata:
            return self.events
        metadata = any_of_tests(of_metadata)
        if not estimated_selectivity(metadata) or self.subqueries > 1:
            return ""
        parts = [self.events] if self.subqueries else []
        return either([*parts, keys_of(self.document, self._narrowing(metadata).rows)])

    def apart(self, tree: Checked) -> Apart | None:
        """Returns `Condition.apart` for a compiled tree for which `found` applies; else None."""
        tests = _chosen_tests(tree)
        of_metadata = tuple(test for test in tests if not self._is_event(test))
        if not tests or self.subqueries != 1:
            return None
        if not of_metadata:
            return Apart(self.rows, None, self.event_indexes)
        metadata = any_of_tests(of_metadata)
        if not estimated_selectivity(metadata):
            return None
        others_sql = either(
            self._of_merged(source, found) for source, found in by_source(of_metadata)
        )
        narrowing = self._narrowing(metadata)
        others = Condition(
            others_sql,
            self.bind.params,
            merged=frozenset(self.merged),
            keys=frozenset(self.keys),
            before=keys_of(self.document, narrowing.rows),
            indexes=self.merged_indexes,
        )
        return Apart(self.rows, others, self.event_indexes)

    def _narrowing(self, node: Checked) -> Narrowing:
        """Returns the prefilter of a node that reads only metadata."""
        found = narrowing_of([node], self.index)
        self.merged_indexes |= found.indexes
        return found


def keys_of(document: Document, rows: Iterable[str]) -> str:
    """Returns SQL that is true if the document has a partial row that satisfies one of the
    conditions."""
    selects = " UNION ALL ".join(
        f"SELECT {document.key} FROM {document.rows} WHERE {one}" for one in rows
    )
    return f"({document.key}) IN ({selects})"


def _chosen_tests(tree: Checked) -> list[Test]:
    """Returns the tests of a leaf or of an OR of leaves; [] for other trees."""
    leaves = tree.children if isinstance(tree, Or) else (tree,)
    if not all(isinstance(leaf, Match) for leaf in leaves):
        return []
    return [test for leaf in leaves if isinstance(leaf, Match) for test in leaf.tests]
