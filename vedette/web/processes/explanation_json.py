"""Formats the explanation of a query: tree, terms, partitions, cost and hints."""

from typing import Any, assert_never

from vedette.query import Tree
from vedette.query.nodes import And, Everything, Exact, Leaf, Not, Or, Range, Text
from vedette.query.typed import TagTest, Test, TextTest, source_of
from vedette.search.explain import Explanation, Term
from vedette.store.partitions.partition import Partition
from vedette.store.plan.plan import describe
from vedette.web.json.wire_values import elapsed
from vedette.web.processes.models import Body


def explanation_body(found: Explanation) -> Body:
    return {
        "query": found.query,
        "tree": tree_body(found.tree),
        "terms": [_term(one) for one in found.terms],
        "terms_left_out": found.terms_left_out,
        "plan": None if found.plan is None else describe(found.plan),
        "total_results": found.total,
        "segments": found.segments,
        "partitions": [_partition(one) for one in found.partitions],
        "predicted_cost": {
            "segments_read": found.cost.segments_read,
            "level": found.cost.level,
        },
        "hints": [{"term": one.text, "hint": hint} for one in found.terms for hint in one.hints],
        "elapsed": elapsed(found.elapsed_s),
    }


def _term(term: Term) -> Body:
    return {
        "term": term.text,
        "start": term.leaf.start,
        "end": term.leaf.end,
        "segments": term.segments,
        "reads": "index" if term.is_indexed else "all segments",
        "tests": [test_body(test) for test in term.tests],
        "hints": list(term.hints),
    }


def test_body(test: Test) -> Body:
    """A test of a column, as explanations list it."""
    shown: Body = {"column": source_of(test), "kind": type(test).__name__}
    if isinstance(test, TextTest):
        shown |= {"form": test.form, "shape": test.shape, "value": test.needle}
    if isinstance(test, TagTest):
        shown |= {"family": test.family, "name": test.name, "asks": source_of(test.test)}
    return shown


def _partition(partition: Partition) -> Body:
    return {
        "name": partition.name,
        "status": partition.state,
        "searched": True,
    }


def tree_body(tree: Tree) -> dict[str, Any]:
    """Returns the tree as JSON: and, or, not, everything, or a leaf with its character offsets."""
    match tree:
        case Everything():
            return {"everything": True}
        case And(children):
            return {"and": [tree_body(child) for child in children]}
        case Or(children):
            return {"or": [tree_body(child) for child in children]}
        case Not(child):
            return {"not": tree_body(child)}
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
