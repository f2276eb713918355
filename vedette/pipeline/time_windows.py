"""Time window and partition of commits.

A window is a period of server time. It never goes back, even if the clock does, and never spans two
partitions: rolling to a new partition ends the current window early, and the next one begins with
the partition.
"""

from vedette.limits import SEGMENT_IDS_A_WINDOW, SEGMENT_WINDOW_MS


class TimeWindows:
    """The current window and partition, given by their start in ms. Not thread-safe."""

    def __init__(self, window_ms: int, partition_ms: int) -> None:
        """`window_ms` is the newest window stored (0 for an empty store)."""
        self.window_ms = window_ms
        self.partition_ms = partition_ms

    def advance(self, now_us: int) -> bool:
        """Moves to the window of `now_us`; returns whether the window is new."""
        window_ms = now_us // 1_000 // SEGMENT_WINDOW_MS * SEGMENT_WINDOW_MS
        if window_ms <= self.window_ms:
            return False
        self.window_ms = window_ms
        return True

    def next_opening(self, now_us: int) -> int:
        """Returns the opening time (ms) of a partition that would be opened now."""
        return max(now_us // 1_000, self.window_ms + SEGMENT_IDS_A_WINDOW)

    def roll(self, opened_ms: int) -> None:
        """Ends window and partition; both restart at `opened_ms`, a result of `next_opening`."""
        self.window_ms = self.partition_ms = opened_ms
