"""Follows the shard map and the moves of sensors, and says how far this server has come."""

import time

from vedette.state.db.database import Database
from vedette.state.sensors import shard_moves
from vedette.store.engine.shard_routing import ShardRouter


class ShardReloader:
    """See the module. For one thread."""

    def __init__(self, database: Database, router: ShardRouter) -> None:
        self._database = database
        self._router = router

    def reload(self) -> None:
        """Call it every second. Raises UnavailableError."""
        began_s = time.monotonic()
        if shard_moves.version(self._database) != self._router.version:
            self._router.refresh()
        left_s = shard_moves.note_in_use(self._database, self._router.oldest_in_use())
        self._router.fresh_until(began_s + left_s)
