"""The table that cluster checks write to. Nothing else uses it, and its rows expire after a day."""

from typing import Final
from uuid import uuid4

import pyarrow as pa

from vedette.store.engine.capabilities import EVERY_REPLICA
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.schema.table import Table
from vedette.store.schema.tables import definitions

PROBE: Final = Table(
    "cluster_probe",
    "MergeTree",
    columns=(
        "run String",
        "sensor_id UInt32",
        "written DateTime64(6, 'UTC') DEFAULT now64(6, 'UTC')",
    ),
    order_by="(run, sensor_id) TTL toDateTime(written) + INTERVAL 1 DAY",
    settings=("fsync_after_insert = 1",),
)

_NOBODY: Final = 2**32 - 1
"""Sensor ids start at 1; shard n writes with the n-th id from the end."""


class Probe:
    """Rows of one run of the checks."""

    def __init__(self, engine: ClickHouseEngine) -> None:
        self._engine = engine
        self._run = uuid4().hex
        for statement in definitions(PROBE, engine.capabilities):
            engine.command(statement)

    def insert(self, shard: int) -> None:
        """Inserts one row on a shard, with the quorum of servers; sends it twice, to be stored
        once. Raises UnavailableError."""
        rows = pa.table(
            {"run": pa.array([self._run]), "sensor_id": pa.array([_NOBODY - shard], pa.uint32())}
        )
        for _ in range(2):
            self._engine.insert_on_shard(PROBE.name, rows, shard, f"{self._run}-{shard}")

    def rows_on_replicas(self) -> dict[int, dict[int, int]]:
        """Maps the replica's place in the cluster to the number of rows that it has of each
        shard."""
        found = self._engine.query(
            "SELECT _shard_num, sensor_id, count() FROM "
            f"clusterAllReplicas('{self._engine.capabilities.cluster}', currentDatabase(), "
            f"{PROBE.name}_local) WHERE run = {{run:String}} GROUP BY _shard_num, sensor_id",
            {"run": self._run},
            settings=EVERY_REPLICA,
        ).rows
        places: dict[int, dict[int, int]] = {}
        for place, sensor_id, count in found:
            places.setdefault(place, {})[_NOBODY - sensor_id] = count
        return places
