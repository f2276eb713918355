"""How far behind a follower of commits is. A read of the server's own, so of everything."""

from typing import Final

from vedette.store.engine.client import Engine

_COMMITTED: Final = {"hit": "committed", "segment": "last_server_update"}


def oldest_after(engine: Engine, table: str, seq: int) -> int:
    """When the oldest row came that a commit after `seq` wrote, epoch microseconds; 0: none did.
    `table` is `hit` or `segment`."""
    found = engine.query(
        f"SELECT count(), min({_COMMITTED[table]}) FROM `{table}` WHERE seq > {{seq:UInt64}}",
        {"seq": seq},
    )
    count, oldest_us = found.rows[0]
    return int(oldest_us) if count else 0
