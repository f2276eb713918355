"""Which indexes evaluate a condition, as the compiler says it; the store relies on it."""

import pytest

from tests.unit.query.test_corpus import NOW_US, cases
from vedette.model.columns import METADATA
from vedette.model.indexes import INDEXES, index_name
from vedette.model.suffix_columns import SUFFIX_COLUMNS, suffix_index_name, suffix_tokens_sql
from vedette.query import Condition, check, compile_segments, parse
from vedette.query.compile.processes_sql import compile_processes
from vedette.query.compile.suffix_index import NO_SUFFIX_INDEXES, SuffixIndexes

EVERYWHERE = SuffixIndexes(indexed=(1,), everywhere=frozenset(SUFFIX_COLUMNS))
STATES = {
    "no suffix index": NO_SUFFIX_INDEXES,
    "some rows have them": SuffixIndexes(indexed=(1,), merging=(2,)),
    "all rows have them": EVERYWHERE,
}
QUERIES = [lines[0] for name, lines in cases() if name == "process.txt"]


def compiled(text: str, indexes: SuffixIndexes = NO_SUFFIX_INDEXES) -> Condition:
    return compile_segments(check(parse(text), now_us=NOW_US), indexes=indexes)


STORED = {column.name: column.physical for column in METADATA}


def named_in(sql: str) -> set[str]:
    """The skip indexes of the columns that a statement names."""
    by_column = {
        index_name(column)
        for column, _ in INDEXES
        if f"`{column}`" in sql or f"`{STORED.get(column, column)}`" in sql
    }
    return by_column | {
        suffix_index_name(column) for column in SUFFIX_COLUMNS if suffix_tokens_sql(column) in sql
    }


@pytest.mark.parametrize("indexes", STATES.values(), ids=STATES)
def test_no_index_that_a_condition_could_use_is_left_out(indexes: SuffixIndexes) -> None:
    for text in QUERIES:
        checked = check(parse(text), now_us=NOW_US)
        for compiler in (compile_segments, compile_processes):
            where = compiler(checked, indexes=indexes)
            sql = where.sql + where.found
            assert where.indexes is not None
            # A join also names columns of binaries, some of which have the name of another here.
            missing = named_in(sql) - where.indexes
            assert not missing or "GLOBAL IN" in sql, (text, missing)
            assert where.indexes <= named_in(sql), text
            for narrowing in where.narrowings:
                rows = " ".join(narrowing.rows)
                assert narrowing.indexes <= named_in(rows), text
                assert narrowing.indexes == named_in(rows) or "binary" in rows, text


@pytest.mark.parametrize(
    ("text", "indexes", "kinds", "is_token_lookup"),
    [
        ("filemod:evil.exe", NO_SUFFIX_INDEXES, {"words"}, True),
        ("filemod:evil.exe", EVERYWHERE, {"suffix"}, True),
        ("ipaddr:192.0.2.1", EVERYWHERE, {"suffix"}, True),
        ("ipaddr:192.0.2.1", NO_SUFFIX_INDEXES, {"whole"}, False),
        ("filemod:evil.exe OR modload:evil.dll", NO_SUFFIX_INDEXES, {"words"}, True),
        ("sensor_id:1 process_name:*x", NO_SUFFIX_INDEXES, set(), False),
    ],
)
def test_a_narrowing_says_what_evaluates_it(
    text: str, indexes: SuffixIndexes, kinds: set[str], is_token_lookup: bool
) -> None:
    (narrowing,) = compiled(text, indexes).narrowings
    (lookup,) = narrowing.lookups
    assert (lookup.kinds, narrowing.is_token_lookup) == (kinds, is_token_lookup)


def test_a_lookup_of_tokens_beside_another_one_is_no_lookup_of_tokens() -> None:
    (narrowing,) = compiled("filemod:evil.exe OR process_name:*x").narrowings
    assert [lookup.kinds for lookup in narrowing.lookups] == [{"words"}, set()]
    assert not narrowing.is_token_lookup


def test_narrowings_stand_by_their_selectivity() -> None:
    found = compiled("filemod:abc.exe domain:a-much-longer-name.example").narrowings
    selectivities = [narrowing.selectivity for narrowing in found]
    assert len(selectivities) == 2
    assert selectivities == sorted(selectivities, reverse=True)
