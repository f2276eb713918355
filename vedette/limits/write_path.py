"""Write path: from accepted records to commits."""

SEGMENT_WINDOW_MS = 5 * 60 * 1_000
"""Length of the window of server time that a segment covers. A process that reports every second
for a day has 288 segments, not 86,400."""

SEGMENT_IDS_A_WINDOW = 1_000
"""Maximum segments of a process in a window. Two windows are at least this many milliseconds apart,
so that an id implies its window."""

QUEUE_BYTES_MAX = 256 * 1024 * 1024
"""(setting) Maximum bytes of accepted bodies that are not committed yet. Beyond it requests get 429
with Retry-After."""

COMMIT_BYTES_MAX = 40 * 1024 * 1024
"""Maximum bytes of bodies that share a commit."""

COMMIT_WAIT_MS = 50
"""Time that a commit waits for further requests before it starts."""

SEEN_HOURS = 24
"""Minimum time for which a re-sent record is recognized."""

WORKER_CHECK_S = 0.5
"""Interval at which worker processes are checked for progress."""

WORKER_PING_S = 5.0
"""A worker without progress for this time is sent a ping, which an idle worker answers at once."""

WORKER_STALL_S = 20.0
"""A worker without progress for this time is terminated and replaced. Far longer than any record or
step of a commit takes on a slow machine, shorter than the timeouts of shippers (60 to 90 s)."""

STORED_HASHES_MAX = 5_000_000
"""Maximum stored processes whose hashes the write path reads, in half a second per million; also
the maximum of evicted processes whose hashes it keeps. With more, it queries the store for every
process that is not cached."""

FILTER_ANCESTORS_MAX = 64
"""Maximum generations of ancestors that are followed if a filter includes descendants."""

INGEST_RECOVER_INTERVAL_S = 1.0
"""Interval of attempts to recover after a failed commit, so that a failing store is not flooded."""
