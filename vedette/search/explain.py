"""Explains a query: its parse, the matches of each term by itself, and a predicted cost.

The tree and tests are those of the search itself. The cost is the number of segments to read, which
dominates the time of a search.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar, assert_never

from vedette import limits
from vedette.errors import UnavailableError
from vedette.limits import EXPLAIN_TERMS_MAX, Limit
from vedette.model.fields import PROCESS, RULE_HITS
from vedette.model.indexes import EXACT, INDEX_OF
from vedette.model.scope import Scope
from vedette.query import Checked, Condition, Tree, compile_segments, print_query
from vedette.query.check.glob import begins_wild
from vedette.query.compile.processes_sql import compile_processes
from vedette.query.compile.suffix_index import SuffixIndexes
from vedette.query.nodes import And, Everything, Leaf, Not, Or, Text
from vedette.query.typed import Match, TagTest, Test, TextTest, source_of
from vedette.search.partition_coverage import searched_partitions
from vedette.search.processes.process_search import SearchSettings
from vedette.search.query_guards import guarded_check
from vedette.store.engine.client import Engine
from vedette.store.partitions.index_build import suffix_indexes
from vedette.store.partitions.partition import Partition
from vedette.store.plan.choose import choose_plan
from vedette.store.plan.plan import Plan, Want
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.segment_search import NEWEST_FIRST, count_segments
from vedette.store.sql.scope_filter import ALL

EXPLAIN_CHEAP_SEGMENTS_MAX: Limit[int] = 100_000
"""Segments up to which the cost of a query is `low`."""


Answer = TypeVar("Answer")


class Compile(Protocol):
    """Signature of `compile_segments` and `compile_processes`."""

    def __call__(self, tree: Checked, *, indexes: SuffixIndexes = ...) -> Condition: ...


@dataclass(frozen=True, slots=True)
class Term:
    """A leaf of the query."""

    text: str
    leaf: Leaf
    segments: int | None
    """Number of segments that match the term alone; None if there was no time to count."""
    is_indexed: bool
    """Whether an index narrows the segments to read."""
    tests: Sequence[Test]
    hints: Sequence[str]


@dataclass(frozen=True, slots=True)
class Cost:
    """Predicted cost of a search."""

    segments_read: int | None
    level: Literal["low", "medium", "high"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explanation of a search. Counts are None if there was no time for them."""

    query: str
    """The query in canonical form."""
    tree: Tree
    terms: Sequence[Term]
    """The first `EXPLAIN_TERMS_MAX` leaves, in the order of the query."""
    terms_left_out: int
    plan: Plan | None
    """The plan for the first page."""
    total: int | None
    """Number of results of the whole query."""
    segments: int | None
    """Number of all segments in scope."""
    partitions: Sequence[Partition]
    """The partitions that the search reads."""
    cost: Cost
    elapsed_s: float


def explain(
    engine: Engine,
    scope: Scope,
    tree: Tree,
    settings: SearchSettings,
    now_us: int,
    *,
    is_comprehensive: bool = False,
) -> Explanation:
    """Explains a process search. With `is_comprehensive`, the counts are those of a comprehensive
    search. Raises the QueryError that the search would raise."""
    began = time.perf_counter()
    checked = guarded_check(engine, tree, PROCESS, settings, now_us)
    compiled = compile_processes if is_comprehensive else compile_segments
    counter = _Counter(engine, scope, compiled, began + settings.search_deadline_s)
    leaves = list(matches_of(checked))
    terms = [_term(match, counter) for match in leaves[:EXPLAIN_TERMS_MAX]]
    segments = counter.count(None)
    return Explanation(
        query=print_query(tree),
        tree=tree,
        terms=terms,
        terms_left_out=max(0, len(leaves) - len(terms)),
        plan=counter.plan(checked),
        total=counter.count(checked),
        segments=segments,
        partitions=searched_partitions(engine, checked),
        cost=_cost(leaves, terms, segments),
        elapsed_s=time.perf_counter() - began,
    )


class _Counter:
    """Counts segments until the deadline. Returns None after it."""

    def __init__(
        self,
        engine: Engine,
        scope: Scope,
        compiled: Compile,
        until_s: float,
    ) -> None:
        self._engine = engine
        self._scope = scope
        self._compiled = compiled
        self._until_s = until_s

    def count(self, part: Checked | None) -> int | None:
        """Counts the segments that match `part` alone; None counts all segments."""
        where = ALL if part is None else self._compiled(part)
        return self._in_time(
            lambda reach: count_segments(self._engine, where, self._scope, reach=reach)
        )

    def plan(self, checked: Checked) -> Plan | None:
        """Returns the plan for the first page of the whole query."""
        where = self._compiled(checked, indexes=suffix_indexes(self._engine))
        want = Want(NEWEST_FIRST, limits.ROWS_DEFAULT)
        return self._in_time(
            lambda reach: choose_plan(self._engine, where, self._scope, want, reach)
        )

    def _in_time(self, ask: Callable[[Reach], Answer]) -> Answer | None:
        left_s = self._until_s - time.perf_counter()
        if left_s <= 0:
            return None
        try:
            return ask(Reach.within(left_s))
        except UnavailableError as error:
            if error.reason != "deadline":
                raise
            return None


def matches_of(checked: Checked) -> Iterator[Match]:
    """Yields the leaves in the order of the query."""
    match checked:
        case Match():
            yield checked
        case Not(child):
            yield from matches_of(child)
        case And(children) | Or(children):
            for child in children:
                yield from matches_of(child)
        case Everything():
            return
        case _:
            assert_never(checked)


def _term(match: Match, counter: _Counter) -> Term:
    return Term(
        text=print_query(match.leaf),
        leaf=match.leaf,
        segments=counter.count(match),
        is_indexed=_is_indexed(match),
        tests=match.tests,
        hints=list(_hints(match)),
    )


def _hints(match: Match) -> Iterator[str]:
    leaf = match.leaf
    if not match.tests:
        yield "never matches: no stored value has this form"
    if isinstance(leaf.value, Text) and begins_wild(leaf.value.source):
        yield "begins with a wildcard: cannot use an index"
    elif match.tests and not _is_indexed(match):
        yield "does not use an index: combine it with a term that does"
    if leaf.field is None:
        yield f"has no field: runs {len(match.tests)} tests; specify the field"


def _is_indexed(match: Match) -> bool:
    """Whether an index narrows every test of a leaf."""
    return bool(match.tests) and all(map(_is_narrowed, match.tests))


def _is_narrowed(test: Test) -> bool:
    if isinstance(test, TagTest):
        return True  # tags are stored ordered by watchlist and feed
    if not isinstance(test, TextTest):
        return False
    if test.column in RULE_HITS:
        return True
    kind = INDEX_OF.get(source_of(test))
    return kind in EXACT if not test.tokens else kind is not None


def _cost(leaves: Sequence[Match], terms: Sequence[Term], segments: int | None) -> Cost:
    """Returns the predicted cost. If an index narrows every leaf, it is the largest number of
    matches of a leaf; otherwise it is all segments."""
    known = [one.segments for one in terms if one.is_indexed and one.segments is not None]
    is_narrow = bool(leaves) and len(known) == len(leaves)
    read = max(known, default=0) if is_narrow else segments
    if read is None:
        return Cost(None, "high")
    return Cost(
        read, "low" if read <= EXPLAIN_CHEAP_SEGMENTS_MAX else "medium" if is_narrow else "high"
    )
