"""Steps through stored telemetry, newest first, so that a deadline leaves the newest part
complete."""

from collections.abc import Iterator


def newest_first(from_ms: int, until_ms: int, first_ms: int) -> Iterator[tuple[int, int]]:
    """Yields (start, end) in epoch ms, newest first. The first step has a length of `first_ms`,
    each further one is twice as long."""
    length_ms = first_ms
    while until_ms > from_ms:
        start_ms = max(from_ms, until_ms - length_ms)
        yield start_ms, until_ms
        until_ms, length_ms = start_ms, 2 * length_ms
