"""Every query that parses has a spelling that parses to the same tree."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.forms import in_form
from vedette.errors import QueryError
from vedette.query import parse, print_query

PIECES = st.sampled_from(
    [
        "a",
        "B",
        "7",
        ".exe",
        "-",
        "*",
        "?",
        "[",
        "]",
        "{",
        "}",
        "/",
        ":",
        "é",
        "\\",
        "\\\\",
        '"',
        '\\"',
        "(",
        ")",
        "\\(",
        "\\)",
        " ",
        "  ",
        "\\ ",
        "\t",
        " AND ",
        " OR ",
        " or ",
        "NOT ",
        " TO ",
        "[1 TO 2]",
        "[* TO -1d}",
        "path:",
        "cmdline:",
        "process_name:",
        "domain:(",
        "start:",
        "c:\\",
        "http://",
    ]
)


@settings(max_examples=in_form(300, 1_500), deadline=None)
@given(st.lists(PIECES, max_size=25).map("".join))
def test_printing_keeps_the_tree(text: str) -> None:
    try:
        tree = parse(text)
    except QueryError:
        return
    printed = print_query(tree)
    assert parse(printed) == tree
    assert print_query(parse(printed)) == printed
