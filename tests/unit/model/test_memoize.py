"""Memoization: a repeated text is computed once, a long one is not cached."""

from vedette.model.memoize import MEMOIZED_CHARS_MAX, memoize


def test_a_text_is_computed_once_until_the_cache_is_full() -> None:
    computed: list[str] = []

    @memoize(2)
    def upper(text: str) -> str:
        computed.append(text)
        return text.upper()

    assert [upper(text) for text in "abab"] == ["A", "B", "A", "B"]
    assert computed == ["a", "b"]
    assert [upper(text) for text in "cab"] == ["C", "A", "B"]
    assert computed == ["a", "b", "c", "a", "b"]


def test_long_texts_are_computed_and_not_cached() -> None:
    computed: list[int] = []

    @memoize(10)
    def length(text: str) -> int:
        computed.append(len(text))
        return len(text)

    for count in (MEMOIZED_CHARS_MAX, MEMOIZED_CHARS_MAX + 1):
        assert [length("x" * count) for _ in range(2)] == [count] * 2
    assert computed == [MEMOIZED_CHARS_MAX, *[MEMOIZED_CHARS_MAX + 1] * 2]
