"""Writes commits to the store: the last step of the write path."""

from collections.abc import Callable

from vedette.pipeline.batch.pack import PackedCommit
from vedette.store.engine.client import Engine
from vedette.store.write.insert import write_tables


class StoreWriter:
    """`CommitWriter` for a store's engine."""

    def __init__(self, engine: Engine, fence_us: Callable[[], int] | None = None) -> None:
        """`fence_us` returns the time (epoch us) until which the store may accept an insert sent
        now, and raises UnavailableError after that time. None if no other server can store the same
        records."""
        self._engine = engine
        self._fence_us = fence_us

    def write(self, packed: PackedCommit) -> None:
        """Writes a commit; it is durable on return. Raises UnavailableError if the store cannot
        take it."""
        until_us = None if self._fence_us is None else self._fence_us()
        write_tables(self._engine, packed.tables, until_us)
