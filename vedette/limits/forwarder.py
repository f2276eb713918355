"""Forwarders: batch sizes, and time limits of destinations."""

FORWARD_READ_ROWS = 5_000
"""Alerts or hits read at a time, usually 10 MiB."""

FORWARD_SEND_S = 60.0
"""Maximum time for a file or request, however slowly the destination responds."""

FORWARD_THREADS_MAX = 10
"""Maximum forwarders that run at the same time, including slow ones. Each has a file and its source
data in memory, some 30 MiB."""
