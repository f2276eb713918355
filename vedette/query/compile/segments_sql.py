r"""Compile a typed tree to a condition on segments, or on binaries, with every value bound.

- Segments are read with FINAL. An event lies in one partial row, and a skipping index under FINAL
  can drop the row that another part of the condition needs (`filemod:a modload:b` from two posts
  would be lost), so `SETTINGS` switches indexes under FINAL off. A test of events becomes

      key IN (SELECT key FROM segment WHERE <index prefilter> AND <exact predicate>)

  without FINAL: it is true of single partial rows, the index works, and the large arrays are never
  merged. NOT is applied outside. The key is two numbers, so even all segments make a small set.
- Metadata is tested on the merged row, because a later partial row may have a better value.
- A token index never decides: the exact predicate always follows. A suffix index does
  (`model/suffix_columns.py`); `Condition.with_ends` compiles the query for a store that has them.
- Binaries have no partial rows; they are tested as aggregates (`binary_sql.py`).
- `narrowings` are index prefilters: conditions that some partial row of every match meets. A
  search counts those rows first and restricts the query to their segments
  (`store/plan/index_pruning.py`).

Column names come from the catalogue and `model/columns.py`; user input is bound, patterns too,
which `query/check/glob.py` builds from escaped text.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from vedette.model.columns import KEY
from vedette.model.fields import JOINS
from vedette.model.indexes import EXACT, INDEX_OF, indexed_sql
from vedette.model.suffix_columns import ends_sql
from vedette.query.compile.binary_sql import ROW_COLUMNS, seen_sql
from vedette.query.compile.condition import EVERY_ROW, Apart, BinaryCondition, Condition
from vedette.query.compile.document import BINARY, SEGMENT, Document
from vedette.query.compile.predicate_sql import (
    Binder,
    asked_columns,
    by_source,
    either,
    is_whole,
    on_column,
    rarely_joined,
    tests_sql,
)
from vedette.query.compile.selectivity import WORD_INDEXES, decides, estimated_selectivity
from vedette.query.compile.suffix_index import NO_ENDS, IndexedEnds
from vedette.query.compile.suffix_tokens import deciding_tokens, shown_tokens
from vedette.query.nodes import And, Everything, Leaf, Not, Or, Text
from vedette.query.typed import (
    Checked,
    Match,
    Test,
    TextTest,
    source_of,
)

SUBQUERIES_MAX = 8
"""Event subqueries of one condition; further tests of events read the merged rows."""

NARROWINGS_MAX = 6
"""Index prefilters of one condition: each is an index lookup before the search begins."""

KEY_COLUMNS = frozenset(column.name for column in KEY)
"""Columns that are equal in all partial rows of a segment."""

_TOKEN_SETS_MAX = 64
"""Token sets of one prefilter; of more, one token each is looked up."""


def compile_segments(tree: Checked, *, prefix: str = "q") -> Condition:
    """The condition that a segment matches. Run it with `SETTINGS` and the scope's parameters
    (`store/sql/scope_filter.py`), which joins need.

    Parameters are named `<prefix>0`, `<prefix>1` ..., so that statements can combine several.
    """
    return replace(_segments(tree, prefix), with_ends=partial(_segments, tree, prefix))


def _segments(tree: Checked, prefix: str, ends: IndexedEnds = NO_ENDS) -> Condition:
    compiler = _Compiler(SEGMENT, Binder(prefix), ends)
    compiler.bind.params.update(ends.params)
    sql = compiler.node(tree)
    return Condition(
        sql,
        compiler.bind.params,
        compiler.narrowings(tree),
        merged=frozenset(compiler.merged),
        keys=frozenset(compiler.keys),
        looks=compiler.subqueries,
        found=compiler.found(tree),
        apart=compiler.apart(tree),
    )


def compile_binaries(tree: Checked, *, prefix: str = "q") -> BinaryCondition:
    """The condition that a binary matches."""
    compiler = _Compiler(BINARY, Binder(prefix))
    required = map(_required_tests, tree.children if isinstance(tree, And) else (tree,))
    rows = [
        seen_sql(compiler.any_test(tests))
        for tests in required
        if tests and ROW_COLUMNS.issuperset(map(source_of, tests))
    ]
    sql = compiler.node(tree)
    return BinaryCondition(" AND ".join(rows) or "1", sql, compiler.bind.params)


class _Compiler:
    """State of compiling one condition: bound values, columns read, subqueries used."""

    def __init__(self, document: Document, bind: Binder, ends: IndexedEnds = NO_ENDS) -> None:
        self.document = document
        self.bind = bind
        self.ends = ends
        self.subqueries = 0
        self.merged: set[str] = set()
        self.keys: set[str] = set()
        self.events = ""
        self.rows: tuple[str, ...] = ()

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
        """Negated leaves are combined, NOT (a OR b): one pass over each column."""
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
        """Leaves of one OR are combined: one pass over each column."""
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
        """SQL: one of the tests is true. "0" without tests."""
        of_events = [test for test in tests if self._is_event(test)]
        of_metadata = [test for test in tests if not self._is_event(test)]
        parts = [self._of_merged(source, found) for source, found in by_source(of_metadata)]
        if of_events:
            self.events = self._any_event(by_source(of_events))
            parts.append(self.events)
        return either(parts) if parts else "0"

    def _is_event(self, test: Test) -> bool:
        """Whether single partial rows can answer the test."""
        return bool(self.document.rows) and self.document.is_list(source_of(test))

    def _of_merged(self, source: str, tests: Sequence[Test]) -> str:
        asked = asked_columns(source)
        self.merged |= asked - KEY_COLUMNS
        self.keys |= asked & KEY_COLUMNS
        return self._exact(source, tests)

    def _exact(self, source: str, tests: Sequence[Test]) -> str:
        return tests_sql(source, tests, self.bind, self.document)

    def _any_event(self, grouped: list[tuple[str, list[Test]]]) -> str:
        if self.subqueries >= SUBQUERIES_MAX:
            return either(self._of_merged(source, found) for source, found in grouped)
        rows, unaided = self._row_conditions(grouped)
        # A row source for each index, so that a column is read only where its own index matches;
        # columns without an index are scanned together.
        return self._keys_of(*rows, *([either(unaided)] if unaided else []))

    def _row_conditions(
        self, grouped: Sequence[tuple[str, Sequence[Test]]]
    ) -> tuple[list[str], list[str]]:
        """Conditions on partial rows, one for each row source: those with an index prefilter, and
        those without."""
        decided: dict[str, list[str]] = {}
        aided: list[str] = []
        unaided: list[str] = []
        for source, tests in grouped:
            indexed = self.ends.where(source)
            tokens, others = deciding_tokens(tests) if indexed is not None else ([], tests)
            if tokens and indexed is not None:
                decided.setdefault(indexed, []).append(self._has_end(source, tokens))
            for which, found in self._undecided(source, tests, others, indexed):
                words, exact = self._index_words(source, found), self._exact(source, found)
                if words or which:
                    aided.append(" AND ".join(part for part in (which, words, exact) if part))
                else:
                    unaided.append(exact)
        # Suffix tokens are looked up together: no column is read for them.
        together = [
            " AND ".join(part for part in (indexed, either(found)) if part)
            for indexed, found in decided.items()
        ]
        return [*together, *aided], unaided

    def _undecided(
        self, source: str, tests: Sequence[Test], others: Sequence[Test], indexed: str | None
    ) -> Iterator[tuple[str, Sequence[Test]]]:
        """Tests that suffix tokens do not decide, each with its row filter: all tests for rows
        without the index; for rows with it the undecided ones, prefiltered by their tokens."""
        shown = shown_tokens(others) if indexed is not None and others else []
        if indexed is None or (len(others) == len(tests) and not shown):
            yield "", tests
            return
        if indexed:
            yield f"NOT {indexed}", tests
        if others:
            parts = (indexed, self._has_end(source, shown) if shown else "")
            yield " AND ".join(part for part in parts if part), others

    def _has_end(self, source: str, tokens: Sequence[str]) -> str:
        if len(tokens) == 1:
            return f"has({ends_sql(source)}, {self.bind('String', tokens[0])})"
        return f"hasAny({ends_sql(source)}, {self.bind('Array(String)', list(tokens))})"

    def _keys_of(self, *rows: str) -> str:
        """SQL: the segment has a partial row that meets one of the expressions."""
        self.subqueries += 1
        self.rows = tuple(f"{EVERY_ROW} AND {one}" for one in rows)
        return keys_of(self.document, self.rows)

    def found(self, tree: Checked) -> str:
        """`Condition.found` of a compiled tree that is a leaf or an OR of leaves, else ""."""
        tests = _chosen_tests(tree)
        of_metadata = tuple(test for test in tests if not self._is_event(test))
        if not tests:
            return ""
        if not of_metadata:
            return self.events
        metadata = Match(of_metadata, _NOWHERE)
        if not estimated_selectivity(metadata) or self.subqueries > 1:
            return ""
        parts = [self.events] if self.subqueries else []
        return either([*parts, keys_of(self.document, self._narrowing([metadata]))])

    def apart(self, tree: Checked) -> Apart | None:
        """`Condition.apart` of a compiled tree that `found` applies to, else None."""
        tests = _chosen_tests(tree)
        of_metadata = tuple(test for test in tests if not self._is_event(test))
        if not tests or self.subqueries != 1:
            return None
        if not of_metadata:
            return Apart(self.rows, None)
        metadata = Match(of_metadata, _NOWHERE)
        if not estimated_selectivity(metadata):
            return None
        others = Condition(
            either(self._of_merged(source, found) for source, found in by_source(of_metadata)),
            self.bind.params,
            merged=frozenset(self.merged),
            keys=frozenset(self.keys),
            before=keys_of(self.document, self._narrowing([metadata])),
        )
        return Apart(self.rows, others)

    def narrowings(self, tree: Checked) -> tuple[tuple[str, ...], ...]:
        """`Condition.narrowings` of a tree."""
        conjuncts = tree.children if isinstance(tree, And) else (tree,)
        selectivities = list(map(estimated_selectivity, conjuncts))
        together: dict[str | int, list[int]] = {}
        for number, one in enumerate(conjuncts):
            if selectivities[number]:
                together.setdefault(self._row_column(one) or number, []).append(number)
        known = sorted(
            (
                (max(estimated_selectivity(conjuncts[one]) for one in found), found)
                for found in together.values()
            ),
            reverse=True,
        )
        return tuple(
            self._narrowing([conjuncts[one] for one in found])
            for _, found in known[:NARROWINGS_MAX]
        )

    def _row_column(self, node: Checked) -> str:
        """The only column that a node reads, when it is metadata with a token index; else "". The
        merged value comes from one row, so that row has the tokens of all nodes on the column."""
        sources = {source_of(test) for test in node.tests} if isinstance(node, Match) else set()
        source = sources.pop() if len(sources) == 1 else ""
        is_words = source not in self.document.lists and INDEX_OF.get(source) in WORD_INDEXES
        return source if is_words else ""

    def _narrowing(self, nodes: Sequence[Checked]) -> tuple[str, ...]:
        """The prefilter of a node: one condition for all that text indexes evaluate, which reads no
        column, and one for each of the rest. Several nodes are required of the same row."""
        if len(nodes) > 1:
            return (" AND ".join(one for node in nodes for one in self._narrowing([node])),)
        shown = list(self._shown_by(nodes[0]))
        decided = [one for one, by_text_index in shown if by_text_index]
        others = [one for one, by_text_index in shown if not by_text_index]
        return (either(decided), *others) if decided else tuple(others)

    def _shown_by(self, node: Checked) -> Iterator[tuple[str, bool]]:
        """The alternatives of a node's prefilter, each with whether a text index evaluates it. The
        node must have a selectivity above 0."""
        match node:
            case Match(tests):
                for source, found in (on_column(*one) for one in by_source(tests)):
                    if source in JOINS and SEGMENT.lists.issuperset(JOINS[source]):
                        yield rarely_joined(source, found, self.bind), False
                        continue
                    if (ended := self._shown_ends(source, found)) is not None:
                        yield ended, True
                        continue
                    words = self._index_words(source, found)
                    yield words or self._exact(source, found), decides(source, found)
            case And(children):
                yield from self._shown_by(max(children, key=estimated_selectivity))
            case Or(children):
                together = [t for one in children if isinstance(one, Match) for t in one.tests]
                if together:
                    yield from self._shown_by(Match(tuple(together), _NOWHERE))
                for child in children:
                    if not isinstance(child, Match):
                        yield from self._shown_by(child)
            case _:
                raise AssertionError("nothing is known of the rows of this node")

    def _shown_ends(self, source: str, tests: Sequence[Test]) -> str | None:
        """Prefilter by suffix tokens, when all rows have the index and every test has tokens; else
        None."""
        if self.ends.where(source) != "":
            return None
        tokens, others = deciding_tokens(tests)
        shown = shown_tokens(others)
        return None if others and not shown else self._has_end(source, [*tokens, *shown])

    def _index_words(self, source: str, tests: Sequence[Test]) -> str | None:
        """Prefilter by the index of a column; None when one of the tests cannot use it."""
        kind = INDEX_OF.get(source)
        found = [test for test in tests if isinstance(test, TextTest)]
        if kind is None or len(found) < len(tests):
            return None
        if kind in EXACT:
            # For arrays the exact predicate is in the form that the index evaluates.
            is_list = source in self.document.lists
            return None if is_list else self._whole_values(source, found)
        indexed = indexed_sql(source)
        token_sets = list(dict.fromkeys(test.tokens for test in found))
        if () in token_sets:
            return None
        if len(token_sets) > _TOKEN_SETS_MAX:
            rarest = list(dict.fromkeys(max(tokens, key=len) for tokens in token_sets))
            return f"hasAnyTokens({indexed}, {self.bind('Array(String)', rarest)})"
        return either(
            f"hasAllTokens({indexed}, {self.bind('Array(String)', list(tokens))})"
            for tokens in token_sets
        )

    def _whole_values(self, source: str, tests: Sequence[TextTest]) -> str | None:
        if not all(map(is_whole, tests)):
            return None
        values = list(dict.fromkeys(test.needle for test in tests))
        return f"`{source}` IN {self.bind('Array(String)', values)}"


def keys_of(document: Document, rows: Iterable[str]) -> str:
    """SQL: the document has a partial row that meets one of the conditions."""
    selects = " UNION ALL ".join(
        f"SELECT {document.key} FROM {document.rows} WHERE {one}" for one in rows
    )
    return f"({document.key}) IN ({selects})"


_NOWHERE = Leaf(None, Text(""))
"""Leaf of combined matches, which have no place in the query."""


def _chosen_tests(tree: Checked) -> list[Test]:
    """The tests of a leaf or of an OR of leaves; [] for other trees."""
    leaves = tree.children if isinstance(tree, Or) else (tree,)
    if not all(isinstance(leaf, Match) for leaf in leaves):
        return []
    return [test for leaf in leaves if isinstance(leaf, Match) for test in leaf.tests]


def _required_tests(node: Checked) -> list[Test]:
    """The tests of a conjunct that is a leaf or an OR of leaves; else []."""
    match node:
        case Match(tests):
            return list(tests)
        case Or(children) if all(isinstance(child, Match) for child in children):
            return [test for child in children for test in _required_tests(child)]
    return []
