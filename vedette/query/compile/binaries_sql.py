"""Compiles a typed tree to a condition on binaries. Binaries have no partial rows: the condition is
evaluated on aggregates (`binary_sql.py`)."""

from collections.abc import Iterator
from typing import Final

from vedette.model.findings.tag import TAGS
from vedette.query.compile.binary_sql import ROW_COLUMNS, seen_sql
from vedette.query.compile.binder import Binder
from vedette.query.compile.condition import BinaryCondition
from vedette.query.compile.document import BINARY
from vedette.query.compile.segments_sql import SegmentCompiler
from vedette.query.nodes import And, Not, Or
from vedette.query.typed import Checked, Match, Test, source_of

_OF_ROWS: Final = ROW_COLUMNS | {TAGS}
"""Sources of tests that can be evaluated on single rows."""

_BROAD: Final = frozenset(
    (
        "digsig_result",
        "digsig_result_code",
        "is_executable_image",
        "is_64bit",
        "tampered",
        "os_type",
        "image_format",
        "orig_mod_len",
        "first_seen",
        "last_seen",
        "added",
    )
)
"""Columns of which many files share each value, or which queries search by ranges."""


def compile_binaries(tree: Checked, *, prefix: str = "q") -> BinaryCondition:
    """Returns the condition for binaries that match."""
    compiler = SegmentCompiler(BINARY, Binder(prefix))
    rows = tuple(
        seen_sql(compiler.any_test(tests), {source_of(test) for test in tests} - {TAGS})
        for tests in _narrowing(tree)
    )
    sql = compiler.node(tree)
    columns = frozenset(map(source_of, _all_tests(tree))) - {TAGS}
    return BinaryCondition(rows, sql, compiler.bind.params, columns)


def _narrowing(tree: Checked) -> list[list[Test]]:
    """Returns the tests of conjuncts that can be evaluated on single rows. Leaves out conjuncts
    that most files satisfy if there are others, because such a large set of hashes costs more than
    it saves."""
    required = map(_required_tests, tree.children if isinstance(tree, And) else (tree,))
    found = [tests for tests in required if tests and _OF_ROWS.issuperset(map(source_of, tests))]
    rare = [tests for tests in found if _BROAD.isdisjoint(map(source_of, tests))]
    return rare or found


def _all_tests(node: Checked) -> Iterator[Test]:
    match node:
        case Match(tests):
            yield from tests
        case Not(child):
            yield from _all_tests(child)
        case And(children) | Or(children):
            for child in children:
                yield from _all_tests(child)


def _required_tests(node: Checked) -> list[Test]:
    """Returns the tests of a conjunct that is a leaf or an OR of leaves; else []."""
    match node:
        case Match(tests):
            return list(tests)
        case Or(children) if all(isinstance(child, Match) for child in children):
            return [test for child in children for test in _required_tests(child)]
    return []
