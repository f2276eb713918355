"""Tree to text: canonical spelling and terms (docs/query-evaluation.md#one-segment-at-a-time)."""

import pytest

from vedette.model.log_fields import LOG
from vedette.query import parse, print_query, terms
from vedette.query.nodes import Leaf, Text


@pytest.mark.parametrize(
    ("text", "terms_of_it"),
    [
        ("process_name:notepad.exe", ["process_name:notepad.exe"]),
        ("notepad.exe", ["notepad.exe"]),
        ("-Notepad.EXE domain:a", ["Notepad.EXE", "domain:a"]),
        (r'group:"default group"', ['group:"default group"']),
        (r"path:c:\program\ files\*", [r'path:"c:\program files\*"']),
        (r'cmdline:"\"a\""', ['cmdline:"a"']),
        ("modload_count:[1 TO * ]", ["modload_count:[1 TO *]"]),
        ("a (b OR a)", ["a", "b"]),
        ("", []),
    ],
)
def test_terms_are_the_leaves_as_typed(text: str, terms_of_it: list[str]) -> None:
    assert terms(parse(text)) == terms_of_it


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("a and (b or c)", "a (b OR c)"),
        ("not (a b)", "-(a b)"),
        ("process_name:(a or b)", "process_name:a OR process_name:b"),
        ('"a"', "a"),
        ('"-a"', '"-a"'),
        ('"or"', '"or"'),
        ('"domain:x"', '"domain:x"'),
        ('"[1 TO 2]"', '"[1 TO 2]"'),
        ('path:"c:\\a\\"', "path:c:\\a\\\\"),
        ('path:a\\"b\\ c', 'path:a\\"b\\ c'),
        ('cmdline:"-s""', 'cmdline:-s\\"'),
        ("start:{-7d TO NOW]", "start:{-7d TO NOW]"),
    ],
)
def test_a_query_has_one_spelling(text: str, canonical: str) -> None:
    tree = parse(text)
    assert print_query(tree) == canonical
    assert parse(canonical) == tree


def test_a_word_that_looks_like_a_dotted_field_of_records_is_printed_in_quotes() -> None:
    tree = Leaf(None, Text("svchost.exe:443"))
    text = print_query(tree, LOG)
    assert text == '"svchost.exe:443"'
    assert parse(text, LOG) == tree
    assert print_query(tree) == "svchost.exe:443"
