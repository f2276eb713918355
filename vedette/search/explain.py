"""Explaining a query: how it was read, what each term finds by itself, what it will cost.

Nothing here guesses what a term means: tree and tests are those that the search itself uses.
The cost is told in segments that have to be read, because that is what time goes into.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar, assert_never

from vedette import limits
from vedette.errors import UnavailableError
from vedette.model.fields import PROCESS
from vedette.model.indexes import EXACT, INDEX_OF
from vedette.model.scope import Scope
from vedette.query import Checked, Tree, compile_segments, print_query
from vedette.query.check.glob import begins_wild
from vedette.query.nodes import And, Everything, Exact, Leaf, Not, Or, Range, Text
from vedette.query.typed import Match, Test, TextTest, source_of
from vedette.search.bodies.process import Body
from vedette.search.processes.process_search import SearchSettings
from vedette.search.query_guards import guarded_check
from vedette.search.search_request import ROWS_DEFAULT
from vedette.store.engine.client import Engine
from vedette.store.partitions.lifecycle import list_partitions
from vedette.store.plan.choose import choose_plan
from vedette.store.plan.plan import describe
from vedette.store.plan.scope_filter import ALL
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.segment_search import NEWEST_FIRST, count_segments

Answer = TypeVar("Answer")

CHEAP_SEGMENTS: Final = 100_000
"""Segments that are read in a moment, whatever the query."""


def explain(
    engine: Engine, scope: Scope, tree: Tree, settings: SearchSettings, now_us: int
) -> Body:
    """What a process search would do. Raises QueryError like the search itself."""
    began = time.perf_counter()
    checked = guarded_check(engine, tree, PROCESS, settings, now_us)
    counter = _Counter(engine, scope, began + settings.search_deadline_s)
    leaves = list(_matches(checked))
    terms = [_term(match, counter) for match in leaves[: limits.EXPLAIN_TERMS_MAX]]
    segments = counter.count(None)
    return {
        "query": print_query(tree),
        "tree": _shown(tree),
        "terms": terms,
        "terms_left_out": max(0, len(leaves) - len(terms)),
        "plan": counter.plan(checked),
        "total_results": counter.count(checked),
        "segments": segments,
        "partitions": _partitions(engine),
        "predicted_cost": _cost(leaves, terms, segments),
        "hints": [{"term": term["term"], "hint": hint} for term in terms for hint in term["hints"]],
        "elapsed": time.perf_counter() - began,
    }


class _Counter:
    """Counts until the deadline; None for what there was no time for."""

    def __init__(self, engine: Engine, scope: Scope, until_s: float) -> None:
        self._engine = engine
        self._scope = scope
        self._until_s = until_s

    def count(self, part: Checked | None) -> int | None:
        """Segments that a part of the query finds by itself; all of them for None."""
        where = ALL if part is None else compile_segments(part)
        return self._in_time(
            lambda reach: count_segments(self._engine, where, self._scope, reach=reach)
        )

    def plan(self, checked: Checked) -> dict[str, Any] | None:
        """How the first page of the whole query is searched."""
        where, order = compile_segments(checked), NEWEST_FIRST
        return self._in_time(
            lambda reach: describe(
                choose_plan(self._engine, where, self._scope, order, ROWS_DEFAULT, reach)
            )
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


def _matches(checked: Checked) -> Iterator[Match]:
    """The leaves in the query's order."""
    match checked:
        case Match():
            yield checked
        case Not(child):
            yield from _matches(child)
        case And(children) | Or(children):
            for child in children:
                yield from _matches(child)
        case Everything():
            return
        case _:
            assert_never(checked)


def _term(match: Match, counter: _Counter) -> dict[str, Any]:
    leaf = match.leaf
    return {
        "term": print_query(leaf),
        "start": leaf.start,
        "end": leaf.end,
        "segments": counter.count(match),
        "reads": "index" if _is_indexed(match) else "all segments",
        "tests": [_test(test) for test in match.tests],
        "hints": list(_hints(match)),
    }


def _hints(match: Match) -> Iterator[str]:
    leaf = match.leaf
    if not match.tests:
        yield "can never match: nothing stored has this form"
    if isinstance(leaf.value, Text) and begins_wild(leaf.value.source):
        yield "begins with a wildcard: no index can narrow it"
    elif match.tests and not _is_indexed(match):
        yield "is not narrowed by an index: combine it with a term that is"
    if leaf.field is None:
        yield f"names no field: {len(match.tests)} tests are tried; name the field you mean"


def _is_indexed(match: Match) -> bool:
    """Whether an index narrows every test of a leaf."""
    return bool(match.tests) and all(map(_is_narrowed, match.tests))


def _is_narrowed(test: Test) -> bool:
    if not isinstance(test, TextTest):
        return False
    kind = INDEX_OF.get(source_of(test))
    return kind in EXACT if not test.tokens else kind is not None


def _test(test: Test) -> dict[str, Any]:
    shown: dict[str, Any] = {"column": source_of(test), "kind": type(test).__name__}
    if isinstance(test, TextTest):
        shown |= {"form": test.form, "shape": test.shape, "value": test.needle}
    return shown


def _cost(leaves: list[Match], terms: list[dict[str, Any]], segments: int | None) -> dict[str, Any]:
    """Segments to read, and a word for it. An indexed term that is required reads its own."""
    narrowed = [term["segments"] for term in terms if term["reads"] == "index"]
    known = [count for count in narrowed if count is not None]
    is_narrow = bool(leaves) and len(known) == len(leaves)
    read = max(known, default=0) if is_narrow else segments
    if read is None:
        return {"segments_read": None, "level": "high"}
    level = "low" if read <= CHEAP_SEGMENTS else "medium" if is_narrow else "high"
    return {"segments_read": read, "level": level}


def _partitions(engine: Engine) -> list[dict[str, Any]]:
    return [
        {
            "name": partition.name,
            "status": partition.state,
            "searched": partition.state in {"hot", "warm"},
        }
        for partition in list_partitions(engine)
    ]


def _shown(tree: Tree) -> dict[str, Any]:
    """The tree as JSON: and, or, not, everything, or a leaf with its place in the text."""
    match tree:
        case Everything():
            return {"everything": True}
        case And(children):
            return {"and": [_shown(child) for child in children]}
        case Or(children):
            return {"or": [_shown(child) for child in children]}
        case Not(child):
            return {"not": _shown(child)}
        case Leaf():
            return {"field": tree.field, "start": tree.start, "end": tree.end} | _value(tree)
        case _:
            assert_never(tree)


def _value(leaf: Leaf) -> dict[str, Any]:
    match leaf.value:
        case Text(source):
            return {"value": source}
        case Exact(text):
            return {"exact": text}
        case Range(low, high, excludes_low, excludes_high):
            return {
                "from": low,
                "to": high,
                "excludes_from": excludes_low,
                "excludes_to": excludes_high,
            }
        case _:
            assert_never(leaf.value)
