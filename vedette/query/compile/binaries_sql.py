"""Compile a typed tree to a condition on binaries, which have no partial rows: they are tested as
aggregates (`binary_sql.py`)."""

from typing import Final

from vedette.model.findings.tag import TAGS
from vedette.query.compile.binary_sql import ROW_COLUMNS, seen_sql
from vedette.query.compile.binder import Binder
from vedette.query.compile.condition import BinaryCondition
from vedette.query.compile.document import BINARY
from vedette.query.compile.segments_sql import SegmentCompiler
from vedette.query.nodes import And, Or
from vedette.query.typed import Checked, Match, Test, source_of

_OF_ROWS: Final = ROW_COLUMNS | {TAGS}
"""Sources of tests that single rows answer."""


def compile_binaries(tree: Checked, *, prefix: str = "q") -> BinaryCondition:
    """The condition that a binary matches."""
    compiler = SegmentCompiler(BINARY, Binder(prefix))
    required = map(_required_tests, tree.children if isinstance(tree, And) else (tree,))
    rows = [
        seen_sql(compiler.any_test(tests), {source_of(test) for test in tests} - {TAGS})
        for tests in required
        if tests and _OF_ROWS.issuperset(map(source_of, tests))
    ]
    sql = compiler.node(tree)
    return BinaryCondition(" AND ".join(rows) or "1", sql, compiler.bind.params)


def _required_tests(node: Checked) -> list[Test]:
    """The tests of a conjunct that is a leaf or an OR of leaves; else []."""
    match node:
        case Match(tests):
            return list(tests)
        case Or(children) if all(isinstance(child, Match) for child in children):
            return [test for child in children for test in _required_tests(child)]
    return []
