"""Compile a typed tree to a condition on event records, which are single rows of `record`.

The index of words only narrows (`Condition.before`): the exact predicate always follows it.
"""

from collections.abc import Sequence
from typing import Final

from vedette.limits import QUERY_TOKEN_SETS_MAX
from vedette.model.field import is_member
from vedette.model.indexes import WORDS_SQL
from vedette.model.log_fields import LOG_TEXT_SQL, LOG_WORDS
from vedette.query.compile.binder import Binder, either
from vedette.query.compile.condition import Condition
from vedette.query.compile.document import LOG
from vedette.query.compile.segments_sql import SegmentCompiler
from vedette.query.nodes import And, Everything, Not, Or
from vedette.query.typed import Checked, Match, Test, TextTest

_WORDS: Final = WORDS_SQL.format(LOG_TEXT_SQL)


def compile_logs(tree: Checked, *, prefix: str = "q") -> Condition:
    """The condition that a record matches. Run it with `SETTINGS`, within a scope."""
    compiler = SegmentCompiler(LOG, Binder(prefix))
    sql = compiler.node(tree)
    return Condition(sql, compiler.bind.params, before=_narrowed(tree, compiler.bind))


def is_indexed(match: Match) -> bool:
    """Whether the index of words narrows what a leaf has to read."""
    return _token_sets(match.tests) is not None


def _narrowed(node: Checked, bind: Binder) -> str:
    """SQL that is true of every match, and that the index answers; "" where it cannot."""
    match node:
        case Match(tests):
            sets = _token_sets(tests)
            return "" if sets is None else _has_words(sets, bind)
        case And(children):
            parts = [part for child in children if (part := _narrowed(child, bind))]
            return " AND ".join(parts)
        case Or(children):
            parts = [_narrowed(child, bind) for child in children]
            return either(f"({part})" for part in parts) if all(parts) else ""
        case Everything() | Not():
            return ""


def _token_sets(tests: Sequence[Test]) -> list[tuple[str, ...]] | None:
    """The words that a match of each test has; None when one of the tests has none, or there is no
    test."""
    sets: dict[tuple[str, ...], None] = {}
    for test in tests:
        if not isinstance(test, TextTest) or not test.tokens or not _has_index(test.column):
            return None
        sets[test.tokens] = None
    return list(sets) or None


def _has_index(column: str) -> bool:
    return column in LOG_WORDS or is_member(column)


def _has_words(sets: Sequence[tuple[str, ...]], bind: Binder) -> str:
    if len(sets) > QUERY_TOKEN_SETS_MAX:
        rarest = list(dict.fromkeys(max(tokens, key=len) for tokens in sets))
        return f"hasAnyTokens({_WORDS}, {bind('Array(String)', rarest)})"
    return either(
        f"hasAllTokens({_WORDS}, {bind('Array(String)', list(tokens))})" for tokens in sets
    )
