"""Steps through the stored past, the newest first: who runs out of time has the newest part."""

from collections.abc import Iterator


def newest_first(from_ms: int, until_ms: int, first_ms: int) -> Iterator[tuple[int, int]]:
    """Times from the newest on (start and end, epoch milliseconds), each twice as long as the one
    before; the first has `first_ms`."""
    length_ms = first_ms
    while until_ms > from_ms:
        start_ms = max(from_ms, until_ms - length_ms)
        yield start_ms, until_ms
        until_ms, length_ms = start_ms, 2 * length_ms
