"""Text to tree (docs/query-language.md#words-fields-operators)."""

import pytest

from vedette.errors import QueryError
from vedette.limits import QUERY_CHARS_MAX, QUERY_DEPTH_MAX
from vedette.query import parse
from vedette.query.nodes import And, Everything, Leaf, Not, Or, Range, Text, Tree
from vedette.query.parse.render import leaves


def bare(source: str) -> Leaf:
    return Leaf(None, Text(source))


def of(field: str, source: str) -> Leaf:
    return Leaf(field, Text(source))


A, B, C = bare("a"), bare("b"), bare("c")

TREES: list[tuple[str, Tree]] = [
    ("", Everything()),
    ("  ", Everything()),
    ("a b", And((A, B))),
    ("a AND b", And((A, B))),
    ("a and b", And((A, B))),
    ("a OR b c", Or((A, And((B, C))))),
    ("(a OR b) c", And((Or((A, B)), C))),
    ("a or b or c", Or((A, B, C))),
    ("-a", Not(A)),
    ("NOT a", Not(A)),
    ("not -a", A),
    ("-(a OR b)", Not(Or((A, B)))),
    ("a OR -b", Or((A, Not(B)))),
    ("ms-teams.exe", bare("ms-teams.exe")),
    ("cmdline:-enc", of("cmdline", "-enc")),
    ("cmdline:and", of("cmdline", "and")),
    ("PROCESS_NAME:a", of("process_name", "a")),
    ("process_name:(a OR -b)", Or((of("process_name", "a"), Not(of("process_name", "b"))))),
    ("path:(a domain:b)", And((of("path", "a"), of("domain", "b")))),
    ("path: a", of("path", "a")),
    ("sha256: (a b)", And((of("sha256", "a"), of("sha256", "b")))),
    (
        r"c:\program files (x86)\windows",
        And((bare(r"c:\program"), bare("files"), bare("x86"), bare(r"\windows"))),
    ),
    (r"microsoft\ office\x.exe", bare(r"microsoft\ office\x.exe")),
    ("http://a.b/c", bare("http://a.b/c")),
    ("ipv6addr:::1", of("ipv6addr", "::1")),
    ("cmdline:/user:", of("cmdline", "/user:")),
    ("filemod:bot_serv[1]", of("filemod", "bot_serv[1]")),
    ("cmdline:{c08afd90-f2a1}", of("cmdline", "{c08afd90-f2a1}")),
    ("modload_count:[1 TO * ]", Leaf("modload_count", Range("1", "*"))),
    ("modload_count: {1 TO 9]", Leaf("modload_count", Range("1", "9", excludes_low=True))),
    ('start:["2016-01-01 10:00" TO *]', Leaf("start", Range("2016-01-01 10:00", "*"))),
    ("“a”", bare("“a”")),
    ("a && b", And((A, bare("&&"), B))),
]


@pytest.mark.parametrize(("text", "tree"), TREES)
def test_a_query_says(text: str, tree: Tree) -> None:
    assert parse(text) == tree


QUOTES: list[tuple[str, list[str]]] = [
    (r'cmdline:"\"c:\a b\" /svc"', [r"\"c:\a b\" /svc"]),
    (
        r'path:"c:\windows\system32\" OR path:"c:\b\"',
        ["c:\\windows\\system32\\\\", r"c:\b" + "\\\\"],
    ),
    (r'(cmdline:"/c echo" AND cmdline:"\\.\pipe\") OR a', ["/c echo", r"\\.\pipe" + "\\\\", "a"]),
    ('cmdline:"-s""', [r"-s\""]),
    ('(cmdline:""C:\\cmd.exe" ")', [r"\"C:\cmd.exe\" "]),
    ("path:c:\\drivers\\   domain:x", [r"c:\drivers" + "\\\\", "x"]),
    ("(cmdline:format:\\ AND cmdline:os)", [r"format:" + "\\\\", "os"]),
    ("path:c:\\a\\ domain:x", [r"c:\a" + "\\\\", "x"]),
]


@pytest.mark.parametrize(("text", "sources"), QUOTES)
def test_quotes_and_backslashes_are_read_as_their_authors_meant(
    text: str, sources: list[str]
) -> None:
    found = [leaf.value for leaf in leaves(parse(text))]
    assert found == [Text(source) for source in sources]


@pytest.mark.parametrize(
    ("text", "message", "start", "end"),
    [
        ("a (b", "unclosed parenthesis", 2, 4),
        ("a) b", "unmatched closing parenthesis", 1, 2),
        ("a ()", "empty brackets", 2, 4),
        ("a AND", "operator has no right operand", 2, 5),
        ("OR a", "operator has no left operand", 0, 2),
        ("a OR OR b", "operator has no left operand", 5, 7),
        ("(NOT)", "operator has no right operand", 1, 4),
        ("x domain:", "domain: needs a value", 2, 9),
        ("(path: )", "path: needs a value", 1, 6),
        ('a "b', "unclosed quote", 2, 4),
        ('cmdline:a"b', "unexpected quote inside a word", 9, 10),
    ],
)
def test_an_error_points_at_its_place(text: str, message: str, start: int, end: int) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text)
    error = caught.value
    assert (error.message, error.start, error.end) == (message, start, end)
    assert error.reason == "query_malformed_syntax"


def test_an_unknown_field_points_at_the_word_and_names_the_nearest() -> None:
    with pytest.raises(QueryError, match="did you mean process_name") as caught:
        parse("a proces_name:cmd.exe")
    assert (caught.value.start, caught.value.end) == (2, 13)


def test_brackets_deeper_than_the_limit_are_refused() -> None:
    deep = QUERY_DEPTH_MAX - 1
    assert parse("(" * deep + "a" + ")" * deep) == A
    with pytest.raises(QueryError, match="nested deeper"):
        parse("(" * (deep + 1) + "a" + ")" * (deep + 1))


def test_thousands_of_branches_are_no_matter() -> None:
    tree = parse(" OR ".join(f"path:{number}" for number in range(10_000)))
    assert isinstance(tree, Or)
    assert len(tree.children) == 10_000
    assert parse("-" * 10_001 + "a") == Not(A)


def test_a_query_beyond_the_limit_is_refused() -> None:
    with pytest.raises(QueryError, match="at most"):
        parse("a" * (QUERY_CHARS_MAX + 1))


def test_leaves_know_their_place() -> None:
    leaf = parse("  domain:foo.com ")
    assert isinstance(leaf, Leaf)
    assert (leaf.start, leaf.end) == (2, 16)
