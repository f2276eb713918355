"""Ages and durations in words."""

import pytest

from vedette.web.page.html import duration

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("time_us", "short", "long"),
    [
        (-5 * SECOND, "0 s", "0 s"),
        (999, "0 s", "0 s"),
        (250_000, "250 ms", "250 ms"),
        (11 * SECOND, "11 s", "11 s"),
        (11_250_000, "11 s", "11 s 250 ms"),
        (3_600 * SECOND, "1 h", "1 h"),
        (3 * 3_600 * SECOND + 59 * SECOND, "3 h", "3 h"),
        (50 * 3_600 * SECOND, "2 d", "2 d 2 h"),
    ],
)
def test_a_span_of_time_has_its_largest_units(time_us: int, short: str, long: str) -> None:
    assert (duration(time_us), duration(time_us, 2)) == (short, long)
