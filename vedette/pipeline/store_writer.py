"""Writes packed commits to the store: where the write path ends."""

from vedette.pipeline.batch.pack import PackedCommit
from vedette.store.engine.client import Engine
from vedette.store.write.insert import write_tables


class StoreWriter:
    """A ledger over a store's engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def write(self, packed: PackedCommit) -> None:
        """Durable when it returns. Raises UnavailableError when the store cannot take it."""
        write_tables(self._engine, packed.tables)
