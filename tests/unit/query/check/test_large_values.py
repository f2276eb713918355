"""Values are bounded so that the engine compiles the pattern of every query that is accepted."""

import pytest
import re2

from vedette.errors import QueryError
from vedette.model.alert_fields import ALERT
from vedette.model.binary_fields import BINARY
from vedette.model.field import Catalogue
from vedette.model.fields import PROCESS
from vedette.query.check.checker import QUERY_VALUE_CHARS_MAX, check
from vedette.query.check.text import QUERY_WORDS_MAX
from vedette.query.compile.text_sql import _alternatives
from vedette.query.parse.parser import parse
from vedette.query.typed import Checked, Match, TextTest


def checked(query: str, catalogue: Catalogue = PROCESS) -> Checked:
    return check(parse(query, catalogue), catalogue, now_us=0)


def patterns(query: str, catalogue: Catalogue = BINARY) -> list[str]:
    found = checked(query, catalogue)
    assert isinstance(found, Match)
    tests = [test for test in found.tests if isinstance(test, TextTest)]
    return [test.needle for test in tests if test.shape == "matches"]


@pytest.mark.parametrize("wildcards", ["a*" * 101, "a?" * 101, "a" + "?" * 101 + "b"])
def test_wildcards_in_a_value_are_bounded(wildcards: str) -> None:
    checked(f"title:{wildcards.replace('*', '', 1).replace('?', '', 1)}", ALERT)
    for query, catalogue in ((f"title:{wildcards}", ALERT), (f"cmdline:{wildcards}", PROCESS)):
        with pytest.raises(QueryError, match="at most 100 wildcards"):
            checked(query, catalogue)


@pytest.mark.parametrize("query", ['"{}"', 'file_desc:"{}"', 'comments:"{}"', '-file_desc:"{}"'])
def test_words_of_a_text_are_bounded(query: str) -> None:
    words = ["a"] * QUERY_WORDS_MAX
    checked(query.format(" ".join(words)), BINARY)
    for many in (" ".join([*words, "a"]), "a:" * 500, "a " * 40_000):
        with pytest.raises(QueryError, match=r"at most (100 words|32,768 characters)"):
            checked(query.format(many), BINARY)


def test_a_join_of_binaries_has_the_bound_of_their_texts() -> None:
    with pytest.raises(QueryError, match="at most 100 words"):
        checked('file_desc:"' + "a " * 101 + '"')


def test_a_value_is_as_long_as_a_command_line_at_most() -> None:
    longest = "\\\\" * QUERY_VALUE_CHARS_MAX
    checked(f'cmdline:"{longest}"')
    with pytest.raises(QueryError, match="at most 32,768 characters"):
        checked(f'cmdline:"{longest}x"')


def test_the_largest_values_are_compiled() -> None:
    letter = "\U00010400"
    words = " ".join([letter * 100 + "?"] * QUERY_WORDS_MAX)
    whole = letter * (QUERY_VALUE_CHARS_MAX - 2) + "?x"
    largest = [*patterns(f'file_desc:"{words}"'), *patterns(f"username:{whole}", PROCESS)]
    assert len(largest) >= 2
    for pattern in largest:
        re2.compile(pattern)


def test_alternations_of_texts_are_compiled() -> None:
    phrases = [" ".join([f"w{number}"] * 60) for number in range(20)]
    found = [one for phrase in phrases for one in patterns(f'file_desc:"{phrase}"')]
    batches = _alternatives([one.removeprefix("(?s)") for one in found])
    assert 1 < len(batches) <= len(found)
    for batch in batches:
        re2.compile(batch)
