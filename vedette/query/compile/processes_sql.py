r"""Compile a typed tree for a comprehensive search: `svc.comprehensive_search`
(docs/query-language.md#one-segment-at-a-time).

    a test of events      true when some segment of the process meets it
    a test of a count     on the sum over the segments
    a test of metadata    on the segment itself, which repeats the metadata of its process

A segment matches when the query holds in this sense and the segment itself meets at least one leaf
that is not negated; without such a leaf all segments of the process match. So NOT of a test of
events means: no segment of the process.

- Grouping all segments by process takes seconds. Only rows that meet a leaf are grouped, each leaf
  read once by its own index, and the query is evaluated on the set of leaves that a process met:

      SELECT process_id FROM (
          SELECT process_id, 1 AS leaf FROM segment WHERE <first leaf> UNION ALL
          SELECT process_id, 2 FROM segment WHERE <second leaf>
      ) GROUP BY process_id HAVING <the query over bits of leaves>

  Processes that meet no leaf are missing there: a query that holds for them is evaluated negated.
- Tests of one leaf on different columns are row sources of their own: an OR over several indexes
  would read every column wherever one index matches.
- An event is in one partial row, so rows need no merging. Sums of counts need none either.
- The prefilter of a required leaf (`Condition.narrowings`) restricts the other leaves to its
  processes, by primary key, when those are few.
- All segments of a process are on one shard, so each shard answers by itself (`SETTINGS`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import assert_never

from vedette.model.columns import EVENT_KINDS
from vedette.query.compile.condition import EVERY_ROW, Condition
from vedette.query.compile.document import SEGMENT
from vedette.query.compile.predicate_sql import Binder, by_source, either
from vedette.query.compile.segments_sql import _Compiler
from vedette.query.compile.suffix_index import NO_ENDS, IndexedEnds
from vedette.query.nodes import And, Everything, Not, Or, all_of, any_of, negated
from vedette.query.typed import NUMBER_MAX, Checked, Match, NumberTest, Test, source_of

COUNTS: frozenset[str] = frozenset(f"{kind.name}_count" for kind in EVENT_KINDS)
"""Columns that a comprehensive search sums over the segments of a process."""

_LEAVES_MAX = 64
"""Leaves of one grouping: bits of an UInt64."""


def compile_processes(tree: Checked, *, prefix: str = "q") -> Condition:
    """The condition that a segment matches comprehensively. Parameters, settings and scope are as
    for `compile_segments`."""
    return replace(_processes(tree, prefix), with_ends=partial(_processes, tree, prefix))


def _processes(tree: Checked, prefix: str, ends: IndexedEnds = NO_ENDS) -> Condition:
    compiler = _ProcessCompiler(SEGMENT, Binder(prefix), ends)
    compiler.bind.params.update(ends.params)
    sql = compiler.whole(_combined(tree))
    return Condition(
        sql,
        compiler.bind.params,
        compiler.narrowings(tree),
        of_processes=True,
    )


def asks_process(test: Test) -> bool:
    """Whether the test depends on the segment: on events or on a count."""
    source = source_of(test)
    return source in COUNTS or SEGMENT.is_list(source)


class _ProcessCompiler(_Compiler):
    """Compiler of segments, extended by conditions on processes."""

    def whole(self, tree: Checked) -> str:
        """The whole condition, its conjuncts grouped by how they are evaluated."""
        conjuncts = _conjuncts(tree)
        of_segment = all_of(one for one in conjuncts if not _asks_process(one))
        asked = [one for one in conjuncts if _asks_process(one)]
        together = all_of(one for one in asked if _is_together(one))
        mixed = [one for one in asked if not _is_together(one)]
        if not _is_together(together):
            together, mixed = Everything(), asked
        wanted = list(_positive(tree))
        if any(map(_proves_positive, _conjuncts(of_segment))):
            wanted = []
        parts = [] if isinstance(of_segment, Everything) else [self.node(of_segment)]
        if wanted and not _holds(together) and len(wanted) == len(list(_positive(together))):
            parts.append(self._segments(together))
            wanted = []
        elif not isinstance(together, Everything):
            parts.append(self._processes(together))
        parts.extend(map(self._asked, mixed))
        if wanted:
            parts.append(self._answers_by_itself(wanted))
        return " AND ".join(parts) or "1"

    def _asked(self, node: Checked) -> str:
        """SQL: the node holds for a segment and its process."""
        if not _asks_process(node):
            return self.node(node)
        if _is_together(node):
            return self._processes(node)
        match node:
            case Match(tests):
                return either(self._leaf(tests))
            case Not(child):
                return f"NOT {self._asked(child)}"
            case And(children):
                return f"({' AND '.join(map(self._asked, children))})"
            case Or(children):
                return either(map(self._asked, children))
            case Everything():
                return "1"
            case _:
                assert_never(node)

    def _leaf(self, tests: Sequence[Test]) -> Iterator[str]:
        """SQL alternatives of a leaf with tests of metadata, events and counts."""
        if of_segment := [test for test in tests if not asks_process(test)]:
            yield self.any_test(of_segment)
        if of_events := tuple(test for test in tests if self._is_event(test)):
            yield f"process_id IN ({self._rows('process_id', of_events)})"
        for test in tests:
            if isinstance(test, NumberTest) and test.source in COUNTS:
                yield self._sum(test)

    def _sum(self, test: NumberTest) -> str:
        """SQL: the sum over all segments of the process is within bounds. Only rows above 0 are
        summed; a process without any has 0."""
        if test.low > test.high or test.high < 0:
            return "0"
        if test.low <= 0 and test.high >= NUMBER_MAX:
            return "1"
        count, rows = f"`{test.source}`", self.document.rows
        if test.low <= 0:
            having = f"sum({count}) > {self.bind('Int64', test.high)}"
        else:
            high = self.bind("Int64", test.high)
            having = f"sum({count}) BETWEEN {self.bind('Int64', test.low)} AND {high}"
        return (
            f"process_id {'NOT IN' if test.low <= 0 else 'IN'} (SELECT process_id FROM {rows} "
            f"WHERE {EVERY_ROW} AND {count} > 0 GROUP BY process_id HAVING {having})"
        )

    def _processes(self, formula: Checked) -> str:
        """SQL: the formula holds for the set of leaves that the process met."""
        opposite: Checked = negated(formula)
        if isinstance(formula, Match):
            return f"process_id IN ({self._rows('process_id', formula.tests)})"
        if isinstance(formula, Not) and isinstance(formula.child, Match):
            return f"process_id NOT IN ({self._rows('process_id', formula.child.tests)})"
        membership, asked = ("NOT IN", opposite) if _holds(formula) else ("IN", formula)
        leaves = _distinct(asked)
        rows = " UNION ALL ".join(
            self._rows(f"process_id, {1 << bit} AS leaf", leaf.tests)
            for bit, leaf in enumerate(leaves)
        )
        return (
            f"process_id {membership} (SELECT process_id FROM ({rows}) GROUP BY process_id "
            f"HAVING {_having(asked, leaves)})"
        )

    def _segments(self, formula: Checked) -> str:
        """SQL: as `_processes`, and the segment itself met a leaf that is not negated."""
        key = self.document.key
        if isinstance(formula, Match):
            return f"({key}) IN ({self._rows(key, formula.tests)})"
        leaves = _distinct(formula)
        positive = set(_positive(formula))
        rows = " UNION ALL ".join(
            self._rows(
                f"process_id, {key}, {1 << bit} AS leaf, {int(leaf in positive)} AS wanted",
                leaf.tests,
            )
            for bit, leaf in enumerate(leaves)
        )
        return (
            f"({key}) IN (SELECT found.1, found.2 FROM ("
            "SELECT process_id, groupBitOr(toUInt64(leaf)) AS met, "
            f"groupArrayIf(({key}), wanted) AS answers "
            f"FROM ({rows}) GROUP BY process_id HAVING {_having(formula, leaves, 'met')}"
            ") ARRAY JOIN answers AS found)"
        )

    def _rows(self, selected: str, tests: Sequence[Test]) -> str:
        """A SELECT from the partial rows that meet one of some tests of events."""
        aided, unaided = self._row_conditions(by_source(tests))
        parts = [
            f"SELECT {selected} FROM {self.document.rows} WHERE {EVERY_ROW} AND {which}"
            for which in [*aided, *unaided]
        ]
        return " UNION ALL ".join(parts)

    def _answers_by_itself(self, leaves: Sequence[Match]) -> str:
        """SQL: the segment itself meets one of the leaves; counts are those of the process."""
        tests = list(dict.fromkeys(test for leaf in leaves for test in leaf.tests))
        parts = [self.any_test(found) for source, found in by_source(tests) if source not in COUNTS]
        sums = [test for test in tests if isinstance(test, NumberTest) and test.source in COUNTS]
        return either([*parts, *map(self._sum, sums)]) if tests else "0"


def _conjuncts(node: Checked) -> tuple[Checked, ...]:
    match node:
        case Everything():
            return ()
        case And(children):
            return children
        case _:
            return (node,)


def _combined(node: Checked) -> Checked:
    """Combine the event leaves of an OR, and the negated ones of an AND, into one leaf: a process
    meets one of them when it meets their union."""
    match node:
        case Not(child):
            return negated(_combined(child))
        case And(children):
            inner = [_combined(child) for child in children]
            joined = _union(one.child for one in inner if isinstance(one, Not))
            kept = [one for one in inner if not (isinstance(one, Not) and _is_events(one.child))]
            return all_of([*kept, *(negated(leaf) for leaf in joined)])
        case Or(children):
            inner = [_combined(child) for child in children]
            return any_of([*(one for one in inner if not _is_events(one)), *_union(inner)])
        case _:
            return node


def _union(nodes: Iterable[Checked]) -> list[Match]:
    """The event leaves among some nodes, combined; [] for none."""
    leaves = [node for node in nodes if isinstance(node, Match) and _is_events(node)]
    tests = tuple(dict.fromkeys(test for leaf in leaves for test in leaf.tests))
    return [Match(tests, leaves[0].leaf)] if leaves else []


def _is_events(node: Checked) -> bool:
    """Whether a node is a leaf with tests of events only."""
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


def _positive(node: Checked, *, is_negated: bool = False) -> Iterator[Match]:
    """The leaves under an even number of NOTs."""
    match node:
        case Match():
            if not is_negated:
                yield node
        case Not(child):
            yield from _positive(child, is_negated=not is_negated)
        case And(children) | Or(children):
            for child in children:
                yield from _positive(child, is_negated=is_negated)
        case Everything():
            return
        case _:
            assert_never(node)


def _distinct(node: Checked) -> list[Match]:
    return list(dict.fromkeys(_leaves(node)))


def _asks_process(node: Checked) -> bool:
    return any(asks_process(test) for leaf in _leaves(node) for test in leaf.tests)


def _is_together(node: Checked) -> bool:
    """Whether one grouping can evaluate the node: event leaves only, and not too many."""
    leaves = _distinct(node)
    return len(leaves) <= _LEAVES_MAX and all(map(_is_events, leaves))


def _proves_positive(node: Checked) -> bool:
    """Whether a segment that meets the node always meets a leaf that is not negated."""
    match node:
        case Match():
            return True
        case And(children):
            return any(map(_proves_positive, children))
        case Or(children):
            return all(map(_proves_positive, children))
        case _:
            return False


def _holds(node: Checked) -> bool:
    """Whether the node holds for a process that met no leaf."""
    match node:
        case Match():
            return False
        case Not(child):
            return not _holds(child)
        case And(children):
            return all(map(_holds, children))
        case Or(children):
            return any(map(_holds, children))
        case Everything():
            return True
        case _:
            assert_never(node)


def _having(node: Checked, leaves: Sequence[Match], met: str = "") -> str:
    """SQL: the node as an expression over the bits of the leaves met."""
    met = met or "groupBitOr(toUInt64(leaf))"
    match node:
        case Match():
            return f"bitTest({met}, {leaves.index(node)})"
        case Not(child):
            return f"NOT {_having(child, leaves, met)}"
        case And(children):
            return f"({' AND '.join(_having(child, leaves, met) for child in children)})"
        case Or(children):
            return f"({' OR '.join(_having(child, leaves, met) for child in children)})"
        case Everything():
            return "1"
        case _:
            assert_never(node)
