"""Counts in narrow columns are written in at most four characters, never cut."""

import pytest

from vedette.web.page.render import compact


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (7, "7"),
        (999, "999"),
        (1_000, "1.0k"),
        (1_362, "1.4k"),
        (9_949, "9.9k"),
        (9_950, "10k"),
        (13_499, "13k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (2_040_000, "2.0M"),
        (7_000_000_000, "7.0G"),
    ],
)
def test_a_count_is_short(count: int, text: str) -> None:
    assert compact(count) == text
    assert len(text) <= 4
