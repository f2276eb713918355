"""Queries as they travel (docs/query-language.md#query-parameters)."""

import pytest

from vedette.errors import QueryError
from vedette.query import carried_query, exact_leaf, parse, parse_stored
from vedette.query.nodes import Everything, Exact, Leaf


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        ("svc.urlver=1&q=process_name%3Anotepad.exe", "process_name:notepad.exe"),
        ("cb.urlver=1&cb.q.process_name=notepad.exe&rows=10", "process_name:notepad.exe"),
        (
            r"q=-path%3Ac%3A%5Cwindows%5C%2A&svc.q.filemod=c%3A%5Ctemp%5C%2A",
            r"-path:c:\windows\* filemod:c:\temp\*",
        ),
        ("svc.q.md5=%20abc", "md5:abc"),
        ("q=a+b&svc.fq=domain:c", "a b domain:c"),
        ("svc.q.path=(path%3Aa%20or%20domain%3Ab)", "path:a or domain:b"),
        ("process_name:notepad.exe", "process_name:notepad.exe"),
        ("process_name%3Anotepad%2B%2B.exe", "process_name:notepad++.exe"),
        ("svc.urlver=1&q=", ""),
        ("", ""),
    ],
)
def test_a_stored_query_is_a_query_string_or_a_bare_query(stored: str, query: str) -> None:
    assert parse_stored(stored) == parse(query)


def test_other_parameters_are_nobodys_query() -> None:
    assert carried_query([("rows", "10"), ("fq.x", "1"), ("svc.urlver", "1")]) == Everything()


def test_a_filter_of_a_field_is_exact() -> None:
    found = carried_query([("svc.fq.username", "CORP\\b*")])
    assert found == Leaf("username", Exact("CORP\\b*"))


def test_untokenised_names_of_facets_are_those_of_their_fields() -> None:
    assert exact_leaf("path_full", "c:\\a").field == "path"


def test_an_error_of_a_part_names_the_part_and_counts_within_it() -> None:
    with pytest.raises(QueryError, match=r"svc\.q\.path: unclosed parenthesis") as caught:
        carried_query([("svc.q.path", "(a")])
    assert (caught.value.start, caught.value.end) == (0, 2)


def test_a_filter_of_an_unknown_field_is_refused() -> None:
    with pytest.raises(QueryError, match="unknown field"):
        carried_query([("svc.fq.colour", "red")])
