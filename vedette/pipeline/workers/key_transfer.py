"""Sends the keys of stored records to the workers in messages of bounded size."""

from collections.abc import Callable, Iterable
from typing import Any

from vedette.limits import Limit
from vedette.pipeline.workers.protocol import Restore

RESTORED_KEYS_PER_MESSAGE: Limit[int] = 100_000
"""Keys of stored records in one message to a worker: a megabyte."""


class KeyTransfer:
    """`StoredKeys` that passes `Restore` messages with about RESTORED_KEYS_PER_MESSAGE keys to
    `send`. `flush` sends the rest."""

    def __init__(self, send: Callable[[Restore], None]) -> None:
        self._send = send
        self._message = Restore([], [], [])
        self._count = 0

    def restore_records(self, sensor_id: int, keys: Iterable[int]) -> None:
        self._add(self._message.records, sensor_id, keys)

    def restore_kept(self, sensor_id: int, keys: Iterable[int]) -> None:
        self._add(self._message.kept, sensor_id, keys)

    def restore_requests(self, table: str, keys: Iterable[int]) -> None:
        self._add(self._message.requests, table, keys)

    def flush(self) -> None:
        if self._count:
            self._send(self._message)
            self._message = Restore([], [], [])
            self._count = 0

    def _add(self, rows: list[Any], of: int | str, keys: Iterable[int]) -> None:
        added = list(keys)
        if added:
            rows.append((of, added))
            self._count += len(added)
        if self._count >= RESTORED_KEYS_PER_MESSAGE:
            self.flush()
