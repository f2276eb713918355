"""Compiles a typed tree for a comprehensive search: `svc.comprehensive_search`
(docs/query-evaluation.md#one-segment-at-a-time).

    a test of events      is true if some segment of the process satisfies it
    a test of a count     applies to the sum over the segments
    a test of metadata    applies to the segment, which repeats the metadata of its process
    a test of tags        is true if some segment of the process has such a tag

A segment matches if the query is true in this sense and the segment itself meets at least one leaf
that is not negated. If the query has no such leaf, all segments of the process match. NOT of an
event test therefore means: no segment of the process.

- Grouping all segments by process takes seconds. Only rows that meet a leaf are grouped, each leaf
  is read once by its own index, and the query is evaluated on the set of leaves that a process met:

      SELECT process_id FROM (
          SELECT process_id, 1 AS leaf FROM segment WHERE <first leaf> UNION ALL
          SELECT process_id, 2 FROM segment WHERE <second leaf>
      ) GROUP BY process_id HAVING <the query over bits of leaves>

  Processes that meet no leaf are missing in the result. A query that is true for such processes is
  evaluated negated.
- Tests of a leaf on different columns are separate row sources: an OR over several indexes would
  read every column wherever one index matches.
- An event is in one partial row, so rows need no merging. Sums of counts need none either.
- If the prefilter of a required leaf (`Condition.narrowings`) finds few processes, it restricts the
  other leaves to those processes, by primary key.
- All segments of a process are on one shard, so shards evaluate independently (`SETTINGS`).
"""

from collections.abc import Iterator, Sequence
from typing import assert_never

from vedette.query.compile.binder import Binder, either
from vedette.query.compile.condition import EVERY_ROW, Condition
from vedette.query.compile.document import PROCESS
from vedette.query.compile.narrowing_sql import narrowings_of
from vedette.query.compile.predicate_sql import by_source
from vedette.query.compile.process_formula import (
    COUNTS,
    any_asks_process,
    asks_process,
    combine_leaves,
    conjuncts_of,
    distinct_leaves,
    having_sql,
    holds_without_leaves,
    is_one_grouping,
    positive_leaves,
    proves_positive,
)
from vedette.query.compile.segments_sql import SegmentCompiler
from vedette.query.compile.suffix_index import NO_SUFFIX_INDEXES, SuffixIndexes
from vedette.query.nodes import And, Everything, Not, Or, all_of, negated
from vedette.query.typed import NUMBER_MAX, Checked, Match, NumberTest, Test


def compile_processes(
    tree: Checked, *, prefix: str = "q", indexes: SuffixIndexes = NO_SUFFIX_INDEXES
) -> Condition:
    """Returns the condition for segments that match comprehensively. Parameters, suffix indexes,
    settings and scope are as for `compile_segments`."""
    compiler = _ProcessCompiler(PROCESS, Binder(prefix), indexes)
    sql = compiler.whole(combine_leaves(tree))
    return Condition(
        sql,
        compiler.bind.params,
        narrowings_of(tree, compiler.index),
        of_processes=True,
        indexes=compiler.indexes,
    )


class _ProcessCompiler(SegmentCompiler):
    """A segment compiler that also compiles conditions on processes."""

    def whole(self, tree: Checked) -> str:
        """Returns the whole condition. Conjuncts are grouped by their kind of evaluation."""
        conjuncts = conjuncts_of(tree)
        of_segment = all_of(one for one in conjuncts if not any_asks_process(one))
        asked = [one for one in conjuncts if any_asks_process(one)]
        together = all_of(one for one in asked if is_one_grouping(one))
        mixed = [one for one in asked if not is_one_grouping(one)]
        if not is_one_grouping(together):
            together, mixed = Everything(), asked
        wanted = list(positive_leaves(tree))
        if any(map(proves_positive, conjuncts_of(of_segment))):
            wanted = []
        parts = [] if isinstance(of_segment, Everything) else [self.node(of_segment)]
        if (
            wanted
            and not holds_without_leaves(together)
            and len(wanted) == len(list(positive_leaves(together)))
        ):
            parts.append(self._segments(together))
            wanted = []
        elif not isinstance(together, Everything):
            parts.append(self._processes(together))
        parts.extend(map(self._asked, mixed))
        if wanted:
            parts.append(self._answers_by_itself(wanted))
        return " AND ".join(parts) or "1"

    def _asked(self, node: Checked) -> str:
        """Returns SQL that is true if the node is true for a segment and its process."""
        if not any_asks_process(node):
            return self.node(node)
        if is_one_grouping(node):
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
        """Yields SQL alternatives of a leaf with tests of metadata, events and counts."""
        if of_segment := [test for test in tests if not asks_process(test)]:
            yield self.any_test(of_segment)
        if of_events := tuple(test for test in tests if self._is_event(test)):
            yield f"process_id IN ({self._rows('process_id', of_events)})"
        for test in tests:
            if isinstance(test, NumberTest) and test.source in COUNTS:
                yield self._sum(test)

    def _sum(self, test: NumberTest) -> str:
        """Returns SQL that is true if the sum over all segments of the process is within bounds.
        Only rows above 0 are summed; a process without such rows has sum 0."""
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
        """Returns SQL that is true if the formula is true for the set of leaves that the process
        met."""
        opposite: Checked = negated(formula)
        if isinstance(formula, Match):
            return f"process_id IN ({self._rows('process_id', formula.tests)})"
        if isinstance(formula, Not) and isinstance(formula.child, Match):
            return f"process_id NOT IN ({self._rows('process_id', formula.child.tests)})"
        membership, asked = (
            ("NOT IN", opposite) if holds_without_leaves(formula) else ("IN", formula)
        )
        leaves = distinct_leaves(asked)
        rows = " UNION ALL ".join(
            self._rows(f"process_id, {1 << bit} AS leaf", leaf.tests)
            for bit, leaf in enumerate(leaves)
        )
        return (
            f"process_id {membership} (SELECT process_id FROM ({rows}) GROUP BY process_id "
            f"HAVING {having_sql(asked, leaves)})"
        )

    def _segments(self, formula: Checked) -> str:
        """Like `_processes`; in addition the segment itself must meet a leaf that is not
        negated."""
        key = self.document.key
        if isinstance(formula, Match):
            return f"({key}) IN ({self._rows(key, formula.tests)})"
        leaves = distinct_leaves(formula)
        positive = set(positive_leaves(formula))
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
            f"FROM ({rows}) GROUP BY process_id HAVING {having_sql(formula, leaves, 'met')}"
            ") ARRAY JOIN answers AS found)"
        )

    def _rows(self, selected: str, tests: Sequence[Test]) -> str:
        """Returns a SELECT of the partial rows that satisfy one of the event tests."""
        rows = self.row_conditions(by_source(tests))
        parts = [
            f"SELECT {selected} FROM {self.document.rows} WHERE {EVERY_ROW} AND {which}"
            for which in [*rows.aided, *rows.unaided]
        ]
        return " UNION ALL ".join(parts)

    def _answers_by_itself(self, leaves: Sequence[Match]) -> str:
        """Returns SQL that is true if the segment itself meets one of the leaves. Counts are those
        of the process."""
        tests = list(dict.fromkeys(test for leaf in leaves for test in leaf.tests))
        parts = [self.any_test(found) for source, found in by_source(tests) if source not in COUNTS]
        sums = [test for test in tests if isinstance(test, NumberTest) and test.source in COUNTS]
        return either([*parts, *map(self._sum, sums)]) if tests else "0"
