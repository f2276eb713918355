"""Follows the shard map and the moves of sensors, and records the version that this server uses."""

import time

from vedette.state.db.database import Database
from vedette.state.sensors import shard_moves
from vedette.store.engine.shard_routing import ShardRouter


class ShardReloader:
    """Reloads the shard map (see the module docstring). For one thread."""

    def __init__(self, database: Database, router: ShardRouter) -> None:
        self._database = database
        self._router = router

    def reload(self) -> None:
        """Reloads the map and records the version in use. Call it every second. Raises
        UnavailableError."""
        began_s = time.monotonic()
        if shard_moves.version(self._database) != self._router.version:
            self._router.refresh()
        left_s = shard_moves.note_in_use(self._database, self._router.oldest_in_use())
        self._router.fresh_until(began_s + left_s)
