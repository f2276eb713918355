"""Distinguishes a complete stream from a truncated one.

A stream of the embedded engine that is killed, or reaches its deadline, may end as if it had no
more rows, without an error (chDB 4.4, if its reader is slower than the engine). So the end of each
stream is checked for a possible cause of truncation.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vedette.errors import UnavailableError
from vedette.store.engine.cancel import CancelToken
from vedette.store.engine.errors import deadline_error
from vedette.store.engine.write_failures import FailedWrites


class WholeStream:
    """Checks for causes of a truncated stream. Create it before the stream begins."""

    def __init__(
        self, failed_writes: FailedWrites, deadline_s: float | None, cancel: CancelToken | None
    ) -> None:
        self._failed_writes = failed_writes
        self._kills = failed_writes.kills
        self._until_s = None if deadline_s is None else time.monotonic() + deadline_s
        self._cancel = cancel

    def checked(
        self, blocks: Iterable[Sequence[tuple[Any, ...]]]
    ) -> Iterator[Sequence[tuple[Any, ...]]]:
        """Yields the blocks. At their end raises UnavailableError if rows may be missing: `reason`
        "cancelled", "deadline", or none if all searches were ended for a reload."""
        yield from blocks
        if self._cancel is not None:
            self._cancel.raise_if_cancelled()
        if self._until_s is not None and time.monotonic() >= self._until_s:
            raise deadline_error()
        if self._failed_writes.kills != self._kills:
            raise UnavailableError("the telemetry store reloaded its tables")
