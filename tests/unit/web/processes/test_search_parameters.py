"""Parameters of searches (docs/clients.md#aliases, docs/query-language.md#query-parameters)."""

from typing import Any

import pytest

from vedette.errors import BadRequestError
from vedette.search.search_request import Sort
from vedette.web.processes.search_parameters_json import body_pairs, search_request


@pytest.mark.parametrize(
    ("pairs", "parts"),
    [
        ([], ()),
        ([("q", "")], ()),
        ([("q", "a"), ("q", " b ")], (("q", "a"), ("q", " b "))),
        (
            [("cb.q.process_name", "x.exe"), ("svc.fq.hostname", "h 1"), ("svc.fq", "a:b")],
            (("cb.q.process_name", "x.exe"), ("svc.fq.hostname", "h 1"), ("svc.fq", "a:b")),
        ),
        ([("cb.min_last_update", "2026-01-02")], (("svc.q.last_update", "[2026-01-02 TO *]"),)),
        ([("svc.max_last_server_update", "x")], (("svc.q.last_server_update", "[* TO x]"),)),
        ([("cb.urlver", "1"), ("params", "x desc"), ("q.user", "x"), ("zzz", "1")], ()),
    ],
)
def test_what_the_query_is_made_of_is_picked_out(
    pairs: list[tuple[str, str]], parts: tuple[tuple[str, str], ...]
) -> None:
    assert search_request(pairs).parts == parts


def test_defaults_are_ten_rows_newest_first() -> None:
    request = search_request([])
    assert (request.rows, request.start, request.sorts) == (10, 0, (Sort("last_update", True),))


@pytest.mark.parametrize(
    ("text", "sorts"),
    [
        ("start asc", (Sort("start", False),)),
        ("process_name", (Sort("process_name", False),)),
        ("start DESC, hostname asc", (Sort("start", True), Sort("hostname", False))),
    ],
)
def test_sort_is_a_field_and_a_direction(text: str, sorts: tuple[Sort, ...]) -> None:
    assert search_request([("sort", text)]).sorts == sorts


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rows", "-1"),
        ("rows", "ten"),
        ("start", "-5"),
        ("start", "1.5"),
        ("sort", "a b c"),
        ("sort", "start up"),
    ],
)
def test_what_cannot_be_paged_by_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(BadRequestError, match=f"^{name}"):
        search_request([(name, value)])


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], ("", False, (), None)),
        ([("svc.group", "id"), ("cb.group", "x")], ("id", False, (), None)),
        ([("group", "Default Group")], ("", False, (), None)),
        ([("comprehensive_search", "true")], ("", True, (), None)),
        ([("cb.comprehensive_search", "1")], ("", True, (), None)),
        ([("svc.comprehensive_search", "False")], ("", False, (), None)),
        (
            [("facet", "true"), ("facet.field", "a"), ("facet.field", "b"), ("facet.field", "a")],
            ("", False, ("a", "b"), None),
        ),
        ([("facets", "1"), ("facet.field", " a ")], ("", False, ("a",), None)),
        ([("facet", "false"), ("facet.field", "a")], ("", False, (), None)),
        ([("facet.field", "a")], ("", False, (), None)),
        ([("svc.facet.fuzzy", "true")], ("", False, (), True)),
        ([("cb.facet.fuzzy", "false")], ("", False, (), False)),
    ],
)
def test_how_to_answer_is_given_with_the_query(
    pairs: list[tuple[str, str]], expected: tuple[str, bool, tuple[str, ...], bool | None]
) -> None:
    request = search_request(pairs)
    assert (request.group, request.is_comprehensive, request.facets, request.is_fuzzy) == expected


@pytest.mark.parametrize("name", ["facet", "svc.facet.fuzzy", "comprehensive_search"])
def test_a_flag_is_true_or_false(name: str) -> None:
    with pytest.raises(BadRequestError, match="is not true or false"):
        search_request([(name, "perhaps")])


def test_more_rows_than_a_page_holds_are_cut() -> None:
    assert search_request([("rows", "34884")]).rows == 10_000


@pytest.mark.parametrize(
    ("body", "pairs"),
    [
        ({"q": ["a", "b"], "rows": 10}, [("q", "a"), ("q", "b"), ("rows", "10")]),
        ({"facet": ["true", "true"], "x": None}, [("facet", "true"), ("facet", "true")]),
        ({"facet": False}, [("facet", "false")]),
    ],
)
def test_bodies_may_hold_scalars_and_lists(body: dict[str, Any], pairs: list[Any]) -> None:
    assert body_pairs(body) == pairs


@pytest.mark.parametrize("value", [{"a": 1}, [{"a": 1}], [["a"]]])
def test_a_value_that_is_no_text_is_refused(value: Any) -> None:
    with pytest.raises(BadRequestError, match=r"^q: "):
        body_pairs({"q": value})
