"""The corpora of `tests/corpus/query`: queries, their canonical spelling, their SQL.

SQL is written short: `fold(x)`, `path(x)` and so on for the forms of `text_sql.form_sql`,
values in place of their placeholders, `words(x)` for what the index of x is made of, `some(c)` for
"a partial row of the segment has c", and `binaries(c)` for the hashes of all binaries of the scope
for which c is true. `look` is what partial rows are counted by before (`Condition.narrowings`). Run
this file with VEDETTE_REWRITE=1 to write the corpora anew after a change; then read the diff.
"""

import os
import re
from pathlib import Path

import pytest

from vedette.model.binary_fields import BINARY
from vedette.model.fields import PROCESS
from vedette.model.indexes import INDEXES, indexed_sql
from vedette.query import (
    BinaryCondition,
    Condition,
    check,
    compile_binaries,
    compile_segments,
    parse,
    print_query,
)
from vedette.query.compile.condition import EVERY_ROW
from vedette.query.compile.document import SEGMENT
from vedette.query.compile.text_sql import form_sql
from vedette.query.typed import Form

FOLDER = Path(__file__).parents[2] / "corpus" / "query"
CORPORA = {
    "process.txt": (PROCESS, compile_segments),
    "binary.txt": (BINARY, compile_binaries),
}
NOW_US = 1_700_000_000_000_000
FORMS: tuple[Form, ...] = ("registry", "path", "domain", "labels", "account", "pieces", "folded")
SUBQUERY = f"({SEGMENT.key}) IN (SELECT {SEGMENT.key} FROM segment WHERE {EVERY_ROW} AND "
HASHES = re.compile(r"SELECT arrayJoin\(arrayFilter\(.*?max\(is_added\)\)\)\) WHERE ")


def blocks(name: str) -> list[str]:
    return (FOLDER / name).read_text(encoding="utf-8").split("\n\n")


def cases() -> list[tuple[str, list[str]]]:
    return [
        (name, block.strip().splitlines())
        for name in CORPORA
        for block in blocks(name)[1:]
        if block.strip()
    ]


def shape(condition: Condition | BinaryCondition) -> str:
    return shortened(condition.sql, condition)


def shortened(text: str, condition: Condition | BinaryCondition) -> str:
    sql = HASHES.sub("binaries ", text)
    for column in (name for name, kind in INDEXES if kind == "words"):
        sql = sql.replace(indexed_sql(column), f"words({column})")
    for form in FORMS:
        pattern = re.escape(form_sql(form, "@")).replace("@", "([`\\w]+)")
        sql = re.sub(pattern, rf"{form}(\1)", sql, count=0)
    sql = sql.replace(SUBQUERY, "some(").replace("`", "")
    sql = sql.replace(f"WHERE {EVERY_ROW} AND ", "WHERE ")
    return re.sub(r"\{(q\d+):.*?\}", lambda found: repr(condition.params[found[1]]), sql)


def lines_of(name: str, query: str) -> list[str]:
    catalogue, compile_sql = CORPORA[name]
    tree = parse(query, catalogue)
    condition = compile_sql(check(tree, catalogue, now_us=NOW_US))
    looks = condition.narrowings if isinstance(condition, Condition) else ()
    return [
        query,
        f"  print  {print_query(tree, catalogue)}",
        f"  sql    {shape(condition)}",
        *(f"  look   {shortened(' | '.join(one.rows), condition)}" for one in looks),
    ]


@pytest.mark.parametrize(("name", "case"), cases(), ids=lambda part: part[0])
def test_a_query_prints_and_compiles_as_the_corpus_says(name: str, case: list[str]) -> None:
    assert lines_of(name, case[0]) == case


def _rewrite(name: str) -> None:
    head, *found = blocks(name)
    written = [
        "\n".join(lines_of(name, block.strip().splitlines()[0])) for block in found if block.strip()
    ]
    text = "\n\n".join([head.strip(), *written]) + "\n"
    (FOLDER / name).write_text(text, encoding="utf-8")


if os.environ.get("VEDETTE_REWRITE"):
    for one in CORPORA:
        _rewrite(one)
