"""Event tests as conditions on partial rows, each with the index prefilter that applies to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from vedette.query.compile.binder import either
from vedette.query.compile.index_sql import IndexSql, indexes_of
from vedette.query.compile.predicate_sql import tests_sql
from vedette.query.compile.suffix_tokens import deciding_tokens, shown_tokens
from vedette.query.typed import Test


@dataclass(slots=True)
class RowConditions:
    """Conditions on partial rows, one per row source. A row matches if it satisfies any of them."""

    aided: list[str] = field(default_factory=list)
    """Conditions with an index prefilter."""
    unaided: list[str] = field(default_factory=list)
    indexes: frozenset[str] = frozenset()
    """Names of the skip indexes of the columns in the conditions."""


def row_conditions(grouped: Sequence[tuple[str, Sequence[Test]]], index: IndexSql) -> RowConditions:
    """Returns the conditions of event tests, which are grouped by source."""
    rows = RowConditions()
    decided: dict[str, list[str]] = {}
    for source, tests in grouped:
        rows.indexes |= indexes_of(source)
        indexed = index.indexes.where(source)
        tokens, others = deciding_tokens(tests) if indexed is not None else ([], tests)
        if tokens and indexed is not None:
            decided.setdefault(indexed, []).append(_has_suffix(source, tokens, index, rows))
        for which, found in _undecided(source, tests, others, index, rows):
            words = index.words(source, found)
            exact = tests_sql(source, found, index.bind, index.document)
            if words or which:
                rows.aided.append(" AND ".join(part for part in (which, words, exact) if part))
            else:
                rows.unaided.append(exact)
    # Suffix tokens are looked up together, without reading a column.
    rows.aided[:0] = [
        " AND ".join(part for part in (indexed, either(found)) if part)
        for indexed, found in decided.items()
    ]
    return rows


def _undecided(
    source: str,
    tests: Sequence[Test],
    others: Sequence[Test],
    index: IndexSql,
    rows: RowConditions,
) -> Iterator[tuple[str, Sequence[Test]]]:
    """Yields tests that suffix tokens do not decide, each with its row filter: all tests for rows
    without the index, and the undecided tests, prefiltered by their tokens, for rows with the
    index."""
    indexed = index.indexes.where(source)
    shown = shown_tokens(others) if indexed is not None and others else []
    if indexed is None or (len(others) == len(tests) and not shown):
        yield "", tests
        return
    if indexed:
        yield f"NOT {indexed}", tests
    if others:
        parts = (indexed, _has_suffix(source, shown, index, rows) if shown else "")
        yield " AND ".join(part for part in parts if part), others


def _has_suffix(source: str, tokens: Sequence[str], index: IndexSql, rows: RowConditions) -> str:
    lookup = index.suffix(source, tokens)
    rows.indexes |= lookup.indexes
    return lookup.sql
