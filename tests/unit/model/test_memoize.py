"""Functions that remember: what is repeated is not asked again, what is long is not kept."""

from vedette.limits import MEMOIZED_CHARS_MAX
from vedette.model.memoize import remembered


def test_a_text_is_asked_once_until_the_memory_is_full() -> None:
    asked: list[str] = []

    @remembered(2)
    def upper(text: str) -> str:
        asked.append(text)
        return text.upper()

    assert [upper(text) for text in "abab"] == ["A", "B", "A", "B"]
    assert asked == ["a", "b"]
    assert [upper(text) for text in "cab"] == ["C", "A", "B"]
    assert asked == ["a", "b", "c", "a", "b"]


def test_long_texts_are_answered_and_not_kept() -> None:
    asked: list[int] = []

    @remembered(10)
    def length(text: str) -> int:
        asked.append(len(text))
        return len(text)

    for count in (MEMOIZED_CHARS_MAX, MEMOIZED_CHARS_MAX + 1):
        assert [length("x" * count) for _ in range(2)] == [count] * 2
    assert asked == [MEMOIZED_CHARS_MAX, *[MEMOIZED_CHARS_MAX + 1] * 2]
