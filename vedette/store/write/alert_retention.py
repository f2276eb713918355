"""Deletes alerts that have not changed for a long time."""

from typing import Final

from vedette.store.engine.client import Engine

_WAIT: Final = 2
"""Waits for all replicas."""


def delete_alerts_before(engine: Engine, time_us: int) -> None:
    """Deletes versions of alerts written before a time (epoch microseconds). If an alert has
    changed since, this only deletes replaced versions. Idempotent."""
    condition = f"updated_time < fromUnixTimestamp64Micro({time_us:d}, 'UTC')"
    if not engine.query(f"SELECT 1 FROM alert WHERE {condition} LIMIT 1").rows:
        return
    capabilities = engine.capabilities
    engine.command(
        f"ALTER TABLE `{capabilities.storage('alert')}`{capabilities.on_cluster} "
        f"DELETE WHERE {condition} SETTINGS mutations_sync = {_WAIT:d}"
    )
