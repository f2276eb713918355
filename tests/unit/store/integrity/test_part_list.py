"""Lists of parts are read as they were written, and what is no part is left out."""

import pytest

from vedette.store.integrity.part_list import ListedPart, read_parts

PARTS = [
    ListedPart("segment", "1750000000000_1_9_2", 250_000, "00ff"),
    ListedPart("alert", "all_1_40_3_41", 1, "a" * 32),
]


def test_a_list_is_read_as_it_was_written() -> None:
    assert read_parts(" ".join(part.text() for part in PARTS)) == PARTS


@pytest.mark.parametrize("text", ["", "/", "segment", "a/b:c:d", "a/b:1", "a/b:1:2:3", "a/b:-1:00"])
def test_what_is_no_part_is_left_out(text: str) -> None:
    assert read_parts(f"{text} {PARTS[0].text()}") == PARTS[:1]
