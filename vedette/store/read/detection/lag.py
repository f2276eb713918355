"""Measures the lag of a follower of commits. An internal read of the server, without a scope."""

from typing import Final

from vedette.store.engine.client import Engine

_COMMITTED: Final = {"hit": "committed", "segment": "last_server_update"}


def oldest_after(engine: Engine, table: str, seq: int) -> int:
    """Returns the commit time of the oldest row of a commit after `seq`, epoch microseconds; 0 if
    there is none. `table` is `hit` or `segment`."""
    found = engine.query(
        f"SELECT count(), min({_COMMITTED[table]}) FROM `{table}` WHERE seq > {{seq:UInt64}}",
        {"seq": seq},
    )
    count, oldest_us = found.rows[0]
    return int(oldest_us) if count else 0
