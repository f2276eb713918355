"""Writes commits to the store: the last step of the write path."""

from collections.abc import Callable

from vedette.pipeline.batch.pack import PackedCommit
from vedette.store.engine.client import Engine
from vedette.store.write.insert import write_tables


class StoreWriter:
    """`CommitWriter` over a store's engine."""

    def __init__(self, engine: Engine, fence_us: Callable[[], int] | None = None) -> None:
        """`fence_us` returns until when (epoch us) the store may take what is sent now; None where
        no other server can store the same. Raises UnavailableError when that time is over."""
        self._engine = engine
        self._fence_us = fence_us

    def write(self, packed: PackedCommit) -> None:
        """Durable when it returns. Raises UnavailableError when the store cannot take it."""
        until_us = None if self._fence_us is None else self._fence_us()
        write_tables(self._engine, packed.tables, until_us)
