"""Differences between an embedded engine and a cluster, as data.

Table definitions and partition commands are built from these values; no other code tests which
engine it runs on.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from vedette.errors import StartError
from vedette.limits import Limit

SKIP_SHARDS_SENSORS_MAX: Limit[int] = 5_000
"""Sensors of a condition up to which the shards with their rows are determined, so that only these
are queried. More sensors are likely on every shard."""

REPLICA_DELAY_S_MAX: Limit[int] = 10
"""Maximum lag (s) of a replica that is used for reads. It exceeds the lag that merges and a restart
of Keeper cause on a healthy replica."""


_CLUSTER_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")

_READ_SETTINGS: Final[Mapping[str, str | int]] = {
    "optimize_skip_unused_shards": 1,
    "optimize_skip_unused_shards_limit": SKIP_SHARDS_SENSORS_MAX,
}
_FRESH_REPLICAS: Final[Mapping[str, str | int]] = {
    "max_replica_delay_for_distributed_queries": REPLICA_DELAY_S_MAX,
    "fallback_to_stale_replicas_for_distributed_queries": 0,
}
"""If fewer than all replicas acknowledge an insert, a replica that was away lacks rows. It is
excluded from reads, so that no answer is incomplete."""
_PROCESS_GROUP_SETTINGS: Final[Mapping[str, str | int]] = {"distributed_group_by_no_merge": 2}

WHO_ANSWERS: Final[Mapping[str, str | int]] = {"skip_unavailable_shards": 1}
"""Settings of queries to all servers (`Capabilities.system`) that tolerate unavailable servers: one
missing replica is no outage."""

EVERY_REPLICA: Final[Mapping[str, str | int]] = {
    **WHO_ANSWERS,
    "max_replica_delay_for_distributed_queries": 0,
    "connections_with_failover_max_tries": 1,
}
"""Settings of queries for rows on all servers: they include lagging servers, and try a server that
hangs only once."""

BY_PROCESS = "by_process"
"""Name of the projection of `segment` in process order (`tables.BY_PROCESS_COLUMNS`)."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Engine properties. `{table}` in `engine_arguments` is replaced by the table's name.

    If `cluster` is set, rows are in `<table>_local` on the shards, and `<table>` is a Distributed
    table over them. Writes are routed by `sharding_key`, so that all rows of a sensor, and thus
    whole processes, are on one shard.
    """

    engine_prefix: str = ""
    """"Replicated" for replicated tables."""
    engine_arguments: str = ""
    """Arguments of the table engine: coordination path and replica name."""
    shared_arguments: str = ""
    """Like `engine_arguments`, for small tables that every server stores completely."""
    cluster: str = ""
    """Name of the cluster behind the Distributed tables; "" without a cluster."""
    on_cluster: str = ""
    """` ON CLUSTER '...'` for definitions that must run on every server."""
    sharding_key: str = "sensor_id"
    system_table: str = "system.{}"
    """Expression that reads a system table of all servers; `{}` is replaced by its name. It fails
    while a server is away: see `WHO_ANSWERS`."""
    shard_table: str = "system.{}"
    """Like `system_table`, for one server of each shard, so that each row is counted once."""
    whole_table: str = "{}"
    """Expression that reads a small table, stored on every server, from all servers: at least one
    server has each row that a quorum has acknowledged, even if others lag. Rows appear once per
    server; see `EVERY_REPLICA`."""
    insert_settings: Mapping[str, str | int] = field(default_factory=dict)
    """Settings with which an insert returns once the quorum has stored it."""
    read_settings: Mapping[str, str | int] = field(default_factory=dict)
    """Settings of every read, which restrict it to shards with sensors of the condition."""
    process_group_settings: Mapping[str, str | int] = field(default_factory=dict)
    """Settings of reads that group by process: each shard completes its groups, since no process is
    on two shards."""

    def storage(self, table: str) -> str:
        """Returns the name of the table that stores the rows of `table`."""
        return f"{table}_local" if self.cluster else table

    @property
    def by_process(self) -> str:
        """Table expression of the projection `BY_PROCESS`. Faster than naming `segment`, for which
        the engine first analyzes all columns and indexes."""
        rows = (
            f"mergeTreeProjection(currentDatabase(), '{self.storage('segment')}', '{BY_PROCESS}')"
        )
        return f"cluster('{self.cluster}', {rows})" if self.cluster else rows

    def engine(self, family: str, table: str, *, sharded: bool, version: str = "") -> str:
        """Returns the engine clause of the table that stores the rows; `version` is the version
        column of a ReplacingMergeTree."""
        place = self.engine_arguments if sharded else self.shared_arguments
        arguments = [one for one in (place.format(table=table), version) if one]
        return f"{self.engine_prefix}{family}({', '.join(arguments)})"

    def system(self, name: str) -> str:
        return self.system_table.format(name)

    def of_shards(self, name: str) -> str:
        return self.shard_table.format(name)

    def whole(self, name: str) -> str:
        return self.whole_table.format(name)


EMBEDDED = Capabilities()
"""Plain tables of a ClickHouse in this process."""


def distributed(cluster: str) -> Capabilities:
    """Returns the capabilities of Distributed tables over plain ones: a cluster without replicas,
    or one in this process."""
    return Capabilities(
        cluster=cluster,
        insert_settings={"distributed_foreground_insert": 1},
        read_settings=_READ_SETTINGS,
        process_group_settings=_PROCESS_GROUP_SETTINGS,
    )


def replicated(cluster: str, quorum: int) -> Capabilities:
    """Returns the capabilities of a cluster of replicated shards; an insert returns when `quorum`
    replicas have stored it.

    Raises StartError for an invalid cluster name.
    """
    if not _CLUSTER_NAME.fullmatch(cluster):
        raise StartError("clickhouse_cluster: a name is letters, digits and _")
    return Capabilities(
        engine_prefix="Replicated",
        engine_arguments="'/clickhouse/tables/{{shard}}/{{database}}/{table}', '{{replica}}'",
        shared_arguments="'/clickhouse/tables/all/{{database}}/{table}', '{{shard}}-{{replica}}'",
        cluster=cluster,
        on_cluster=f" ON CLUSTER '{cluster}'",
        system_table=f"clusterAllReplicas('{cluster}', system.{{}})",
        shard_table=f"cluster('{cluster}', system.{{}})",
        whole_table=f"clusterAllReplicas('{cluster}', currentDatabase(), {{}})",
        insert_settings={
            "distributed_foreground_insert": 1,
            "insert_quorum": quorum,
            "insert_quorum_parallel": 1,
        },
        read_settings={**_READ_SETTINGS, **_FRESH_REPLICAS},
        process_group_settings=_PROCESS_GROUP_SETTINGS,
    )
