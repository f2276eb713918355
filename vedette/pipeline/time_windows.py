"""Which window of server time, and which partition, a commit belongs to.

A window never goes back, whatever the clock does, and never lies in two partitions: rolling
to a new partition closes the current window early, and the next begins with the partition.
"""

from vedette.limits import SEGMENT_IDS_A_WINDOW, SEGMENT_WINDOW_MS


class TimeWindows:
    """The current window and partition. Whoever prepares owns it."""

    def __init__(self, window_ms: int, partition_ms: int) -> None:
        """`window_ms` is the newest window stored (0 for an empty store)."""
        self.window_ms = window_ms
        self.partition_ms = partition_ms

    def advance(self, now_us: int) -> bool:
        """Moves to the window of `now_us`; True when it is a new one."""
        window_ms = now_us // 1_000 // SEGMENT_WINDOW_MS * SEGMENT_WINDOW_MS
        if window_ms <= self.window_ms:
            return False
        self.window_ms = window_ms
        return True

    def next_opening(self, now_us: int) -> int:
        """Opening time of a partition that begins now, ms."""
        return max(now_us // 1_000, self.window_ms + SEGMENT_IDS_A_WINDOW)

    def roll(self, opened_ms: int) -> None:
        """Closes window and partition; both begin anew at a `next_opening`."""
        self.window_ms = self.partition_ms = opened_ms
