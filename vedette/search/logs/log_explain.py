"""Explanation of a log search: how its query is read, and what each term matches by itself."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vedette.errors import UnavailableError
from vedette.limits import EXPLAIN_TERMS_MAX
from vedette.model.log_fields import LOG
from vedette.model.scope import Scope
from vedette.query import Checked, Tree, print_query
from vedette.query.check.glob import begins_wild
from vedette.query.compile.logs_sql import compile_logs, is_indexed
from vedette.query.nodes import Everything, Leaf, Text
from vedette.query.typed import Match, Test
from vedette.search.explain import matches_of
from vedette.search.processes.process_search import SearchSettings
from vedette.search.query_guards import guarded_check
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.logs.log_rows import count_logs


@dataclass(frozen=True, slots=True)
class LogTerm:
    """A leaf of the query."""

    text: str
    leaf: Leaf
    records: int | None
    """Records that it matches by itself; None when there was no time to count."""
    is_indexed: bool
    """Whether the index of words narrows the records to read."""
    tests: Sequence[Test]
    hints: Sequence[str]


@dataclass(frozen=True, slots=True)
class LogExplanation:
    """Explanation of a log search. Counts are None when there was no time for them."""

    query: str
    """The query in canonical form."""
    tree: Tree
    terms: Sequence[LogTerm]
    """The first `EXPLAIN_TERMS_MAX` leaves, in the query's order."""
    terms_left_out: int
    total: int | None
    records: int | None
    """All records of the scope."""
    elapsed_s: float


def explain_logs(
    engine: Engine, scope: Scope, tree: Tree, settings: SearchSettings, now_us: int
) -> LogExplanation:
    """Explains a log search. Raises QueryError like the search itself."""
    began = time.monotonic()
    checked = guarded_check(engine, tree, LOG, settings, now_us)
    reach = Reach.within(settings.search_deadline_s)
    leaves = list(matches_of(checked))
    return LogExplanation(
        query=print_query(tree, LOG),
        tree=tree,
        terms=[
            LogTerm(
                print_query(match.leaf, LOG),
                match.leaf,
                _count(engine, scope, match, reach),
                is_indexed(match),
                match.tests,
                list(_hints(match)),
            )
            for match in leaves[:EXPLAIN_TERMS_MAX]
        ],
        terms_left_out=max(0, len(leaves) - EXPLAIN_TERMS_MAX),
        total=_count(engine, scope, checked, reach),
        records=_count(engine, scope, Everything(), reach),
        elapsed_s=time.monotonic() - began,
    )


def _count(engine: Engine, scope: Scope, part: Checked, reach: Reach) -> int | None:
    try:
        return count_logs(engine, compile_logs(part), scope, reach=reach)
    except UnavailableError as error:
        if error.reason != "deadline":
            raise
        return None


def _hints(match: Match) -> Iterator[str]:
    value = match.leaf.value
    if not match.tests:
        yield "never matches: no stored value has this form"
    elif isinstance(value, Text) and begins_wild(value.source):
        yield "begins with a wildcard: cannot use an index"
    elif not is_indexed(match):
        yield "does not use an index: combine it with a term that does"
