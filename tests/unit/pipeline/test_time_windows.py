"""TimeWindows of server time."""

from vedette.limits import SEGMENT_WINDOW_MS
from vedette.pipeline.time_windows import TimeWindows

NOON_MS = 1_700_000_100_000 // SEGMENT_WINDOW_MS * SEGMENT_WINDOW_MS


def test_a_window_begins_on_its_edge() -> None:
    windows = TimeWindows(0, 0)
    assert windows.advance((NOON_MS + 17) * 1_000)
    assert windows.window_ms == NOON_MS


def test_a_window_never_goes_back_when_the_clock_does() -> None:
    windows = TimeWindows(NOON_MS, 0)
    assert not windows.advance((NOON_MS - SEGMENT_WINDOW_MS) * 1_000)
    assert windows.window_ms == NOON_MS


def test_rolling_closes_the_window_and_the_partition_together() -> None:
    windows = TimeWindows(NOON_MS, 5)
    opened = windows.next_opening((NOON_MS + 90_000) * 1_000)
    windows.roll(opened)
    assert opened == windows.window_ms == windows.partition_ms == NOON_MS + 90_000
    assert not windows.advance((NOON_MS + 100_000) * 1_000)
    assert windows.advance((NOON_MS + SEGMENT_WINDOW_MS) * 1_000)
    assert windows.partition_ms == NOON_MS + 90_000


def test_rolling_twice_at_once_gives_two_windows_whose_ids_do_not_meet() -> None:
    windows = TimeWindows(NOON_MS, 5)
    first = windows.next_opening(NOON_MS * 1_000)
    windows.roll(first)
    assert windows.next_opening(NOON_MS * 1_000) >= first + 1_000
