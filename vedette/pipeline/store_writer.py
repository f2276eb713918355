"""Writes commits to the store: the last step of the write path."""

from vedette.pipeline.batch.pack import PackedCommit
from vedette.store.engine.client import Engine
from vedette.store.write.insert import write_tables


class StoreWriter:
    """`CommitWriter` over a store's engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def write(self, packed: PackedCommit) -> None:
        """Durable when it returns. Raises UnavailableError when the store cannot take it."""
        write_tables(self._engine, packed.tables)
