"""The trust model of the query language.

1. Whatever a user writes reaches the engine as a bound value, never as part of the SQL text.
   So the SQL of two queries of one shape is the same text.
2. Names in the SQL come from the catalogue and from this program. A name that the catalogue
   does not know never gets past the parser.
3. A user's wildcards become RE2 patterns made here: everything else in them is escaped. RE2 is
   linear, so no value can make the engine or the matcher search for ever.
4. A query is bounded: in characters, in nesting, in subqueries.
5. Nothing but QueryError comes out of any text.
"""

import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.forms import in_form
from vedette.errors import QueryError
from vedette.model.binary_fields import BINARY
from vedette.model.columns import EVENT_KINDS, KEY, METADATA
from vedette.model.field import Catalogue, FieldKind
from vedette.model.fields import PROCESS, RULE_HITS
from vedette.query import (
    Checked,
    check,
    compile_binaries,
    compile_segments,
    match_segment,
    parse,
)
from vedette.query.compile.binary_sql import BINARY_COLUMNS
from vedette.query.compile.segments_sql import QUERY_SUBQUERIES_MAX

HOSTILE = (
    "' OR 1=1 --",
    "x'); DROP TABLE segment; --",
    "\\' OR ''='",
    "`; SELECT 1 FROM system.tables",
    "{q9:Identifier}",
    "{injected:Identifier}",
    "%(x)s",
    "/* */",
    "a\x00b\x1fc",
    "\\x27",
    "$$; SELECT 1",
    "(?i).*)|(.*",
    "[^a]+{1,9}",
    "\\Q\\E",
    "é'",
)
TEXTS = (
    "keyword",
    "name",
    "path",
    "registry",
    "cmdline",
    "text",
    "domain",
    "account",
    "hostname",
    "sign",
)


def text_fields(catalogue: Catalogue, kind: FieldKind) -> tuple[str, ...]:
    found = (field for field in catalogue.fields if field.kind == kind)
    return tuple(field.name for field in found if field.type in (*TEXTS, "endpoint"))


TEXT_FIELDS = text_fields(PROCESS, "column")
JOINED_FIELDS = tuple(name for name in text_fields(PROCESS, "join") if "_modload" in name)
BINARY_FIELDS = text_fields(BINARY, "column")
COLUMNS = {
    *BINARY_COLUMNS,
    *(f"_{name}" for name in BINARY_COLUMNS),
    *(column.name for column in (*KEY, *METADATA)),
    *(column.name for kind in EVENT_KINDS for column in kind.columns),
    *(f"{kind.name}_count" for kind in EVENT_KINDS),
    *RULE_HITS.values(),
}


def quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def sql_of(text: str) -> str:
    return compile_segments(check(parse(text), now_us=0)).sql


@pytest.mark.parametrize("field", [*TEXT_FIELDS, *JOINED_FIELDS])
@pytest.mark.parametrize("value", HOSTILE)
def test_a_value_never_becomes_sql(field: str, value: str) -> None:
    condition = compile_segments(check(parse(f"{field}:{quoted(value)}"), now_us=0))
    assert_bound(condition.sql)
    assert value not in condition.sql


@pytest.mark.parametrize("field", BINARY_FIELDS)
@pytest.mark.parametrize("value", HOSTILE)
def test_a_value_of_binary_search_never_becomes_sql(field: str, value: str) -> None:
    tree = parse(f"{field}:{quoted(value)}", BINARY)
    condition = compile_binaries(check(tree, BINARY, now_us=0))
    assert_bound(condition.binaries)
    assert value not in condition.binaries


def assert_bound(sql: str) -> None:
    """The text is made of this program's words: its literals are a short known list."""
    literals = set(re.findall(r"'((?:[^'\\]|\\.)*)'", sql))
    assert literals <= {
        "",
        "/",
        ".",
        "\\\\",
        "\\\\\\\\",
        "\\x1c\\x1f",
        "UTC",
        " ",
        r"[^\\x00-\\x7F]+",
        "|",
        "Unsigned",
        "2148204800",
        *(rf"\\controlset{number}" for number in ("001", "002")),
        r"\\currentcontrolset",
    }
    assert set(re.findall(r"`([^`]*)`", sql)) <= COLUMNS
    assert not re.search(r"--|/\*|;", sql)
    bound = r"\{((?:q\d+|scope_all|scope_sensors):[A-Za-z0-9()]+)\}"
    assert set(re.findall(r"\{(.*?)\}", sql)) <= set(re.findall(bound, sql))


@pytest.mark.parametrize("field", [*TEXT_FIELDS, *JOINED_FIELDS])
def test_queries_of_one_shape_are_the_same_text(field: str) -> None:
    assert sql_of(f"{field}:aaaa") == sql_of(f"{field}:bbbb")


@pytest.mark.parametrize(
    "name", ["path`", "path)", "1=1", "system.tables", "q0", "process_id\x00", "segment"]
)
def test_a_name_that_is_no_field_never_reaches_the_sql(name: str) -> None:
    try:
        condition = compile_segments(check(parse(f"{name}:x"), now_us=0))
    except QueryError:
        return
    assert_bound(condition.sql)  # it was a bare term


@settings(max_examples=in_form(100, 400), deadline=None)
@given(st.text(alphabet="ab'\"`\\();{}:*?-[]. \n\x00$%", max_size=40))
@example("domain:'" + "*" * 30)
def test_any_text_is_a_query_or_a_query_error(text: str) -> None:
    for query in (text, f"path:{text}", f"cmdline:{text}", f"scriptblock:{quoted(text)}"):
        checked = checked_or_refused(query)
        if isinstance(checked, QueryError):
            assert 0 <= checked.start <= checked.end <= len(query)
            continue
        assert_bound(compile_segments(checked).sql)
        assert match_segment(checked, {}) in (True, False)


def checked_or_refused(query: str) -> Checked | QueryError:
    try:
        return check(parse(query), now_us=0)
    except QueryError as error:
        return error


def test_wildcards_cannot_make_the_matcher_search_for_ever() -> None:
    hostile = check(parse("path:" + "*a" * 60 + "*b"), now_us=0)
    began = time.perf_counter()
    match_segment(hostile, {"path": "a" * 20_000})
    assert time.perf_counter() - began < 1


def test_fixed_names_are_matched_without_backtracking() -> None:
    began = time.perf_counter()
    check(parse("crossproc_type:" + "*e" * 60 + "x"), now_us=0)
    assert time.perf_counter() - began < 1


def test_subqueries_are_bounded() -> None:
    text = " ".join(f"filemod:{name}.exe" for name in "abcdefghijklmnopqrst")
    assert sql_of(text).count(" IN (SELECT") == QUERY_SUBQUERIES_MAX
