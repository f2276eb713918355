"""Marking is bounded: by progress, by marks a value and by characters a page."""

from vedette.query.mark import HIGHLIGHT_MARKS_MAX, Budget, marked, spans
from vedette.query.pattern import compile_pattern


def test_a_pattern_that_matches_nothing_but_the_empty_text_marks_nothing() -> None:
    assert spans([compile_pattern("^()$"), compile_pattern("()")], "") == []
    assert spans([compile_pattern("()"), compile_pattern("(a*)")], "baab") == [(1, 3)]


def test_neighbouring_matches_share_their_separator() -> None:
    found = spans([compile_pattern(r"(?:^| )(a)(?:$| )")], "a a a b a")
    assert found == [(0, 1), (2, 3), (4, 5), (8, 9)]


def test_offsets_count_characters_of_any_length() -> None:
    assert spans([compile_pattern("(ß)")], "é😀ß-ß") == [(2, 3), (4, 5)]
    assert spans([compile_pattern("(x)")], "\ud800x") == [(1, 2)]


def test_overlapping_matches_are_one_mark() -> None:
    value = "abcab-abc"
    found = spans([compile_pattern("(ab)"), compile_pattern("(bc)")], value)
    assert marked(value, found, "<", ">") == "<abcab>-<abc>"


def test_a_value_has_at_most_so_many_marks() -> None:
    value = "a " * 30_000
    found = spans([compile_pattern("(a)"), compile_pattern("(?:^| )(a)")], value)
    assert len(found) == HIGHLIGHT_MARKS_MAX


def test_a_budget_ends_the_marking_of_a_page() -> None:
    budget = Budget(10)
    patterns = [compile_pattern("(a)")]
    assert spans(patterns, "aaaaa", budget)
    assert spans(patterns, "aaaaa", budget)
    assert spans(patterns, "a", budget) == []
