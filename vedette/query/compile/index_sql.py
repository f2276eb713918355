"""Lookups in the skip indexes of a column (`model/indexes.py`, `model/suffix_columns.py`)."""

from collections.abc import Sequence
from functools import cache

from vedette.limits import QUERY_TOKEN_SETS_MAX
from vedette.model.fields import JOINS
from vedette.model.indexes import EXACT, INDEX_OF, index_name, indexed_sql
from vedette.model.suffix_columns import suffix_index_name, suffix_tokens_sql
from vedette.query.compile.binder import Binder, either
from vedette.query.compile.condition import IndexLookup
from vedette.query.compile.document import SEGMENT, Document
from vedette.query.compile.predicate_sql import asked_columns, rarely_joined, tests_sql
from vedette.query.compile.selectivity import evaluating_index
from vedette.query.compile.suffix_index import SuffixIndexes
from vedette.query.compile.suffix_tokens import deciding_tokens, shown_tokens
from vedette.query.compile.value_sql import is_whole
from vedette.query.typed import Test, TextTest


@cache
def indexes_of(source: str) -> frozenset[str]:
    """Returns the names of the skip indexes of a source's columns, without suffix indexes."""
    return frozenset(index_name(one) for one in asked_columns(source) if one in INDEX_OF)


class IndexSql:
    """Builds the index lookups of a statement, for the indexes that the store has."""

    def __init__(self, document: Document, bind: Binder, indexes: SuffixIndexes) -> None:
        self.document = document
        self.bind = bind
        self.indexes = indexes

    def lookup(self, source: str, tests: Sequence[Test]) -> IndexLookup:
        """Returns the prefilter for tests of a source. Uses the best available index, or the exact
        tests if no index applies."""
        indexes = indexes_of(source)
        if source in JOINS and SEGMENT.lists.issuperset(JOINS[source]):
            return IndexLookup(rarely_joined(source, tests, self.bind), indexes=indexes)
        if (ended := self._by_suffix(source, tests)) is not None:
            return ended
        words = self.words(source, tests)
        sql = words or tests_sql(source, tests, self.bind, self.document)
        kind = evaluating_index(source, tests)
        return IndexLookup(sql, frozenset({kind} if kind else ()), indexes)

    def _by_suffix(self, source: str, tests: Sequence[Test]) -> IndexLookup | None:
        """Returns a prefilter by suffix tokens; None unless all rows have the index and every test
        has tokens."""
        if self.indexes.where(source) != "":
            return None
        tokens, others = deciding_tokens(tests)
        shown = shown_tokens(others)
        return None if others and not shown else self.suffix(source, [*tokens, *shown])

    def suffix(self, source: str, tokens: Sequence[str]) -> IndexLookup:
        """Returns a lookup for rows that have one of the suffix tokens."""
        if len(tokens) == 1:
            sql = f"has({suffix_tokens_sql(source)}, {self.bind('String', tokens[0])})"
        else:
            sql = f"hasAny({suffix_tokens_sql(source)}, {self.bind('Array(String)', list(tokens))})"
        return IndexLookup(
            sql, frozenset({"suffix"}), indexes_of(source) | {suffix_index_name(source)}
        )

    def words(self, source: str, tests: Sequence[Test]) -> str | None:
        """Returns a prefilter by a column's index; None if some test cannot use it."""
        kind = INDEX_OF.get(source)
        found = [test for test in tests if isinstance(test, TextTest)]
        if kind is None or len(found) < len(tests):
            return None
        if kind in EXACT:
            # For arrays, the exact predicate already has the form that the index evaluates.
            is_list = source in self.document.lists
            return None if is_list else self._whole_values(source, found)
        indexed = indexed_sql(source)
        token_sets = list(dict.fromkeys(test.tokens for test in found))
        if () in token_sets:
            return None
        if len(token_sets) > QUERY_TOKEN_SETS_MAX:
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
