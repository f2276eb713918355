"""Differences between an embedded engine and a cluster, as data.

Table definitions and partition commands are built from these values; no other code tests which
engine it runs on.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from vedette.errors import StartError
from vedette.limits import REPLICA_DELAY_S_MAX, SKIP_SHARDS_SENSORS_MAX

_CLUSTER_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")

_READ_SETTINGS: Final[Mapping[str, str | int]] = {
    "optimize_skip_unused_shards": 1,
    "optimize_skip_unused_shards_limit": SKIP_SHARDS_SENSORS_MAX,
}
_FRESH_REPLICAS: Final[Mapping[str, str | int]] = {
    "max_replica_delay_for_distributed_queries": REPLICA_DELAY_S_MAX,
    "fallback_to_stale_replicas_for_distributed_queries": 0,
}
"""Where fewer replicas than all acknowledge an insert, one that was away has not all rows yet: it
is not read from, rather than an answer lacks them."""
_PROCESS_GROUP_SETTINGS: Final[Mapping[str, str | int]] = {"distributed_group_by_no_merge": 2}

WHO_ANSWERS: Final[Mapping[str, str | int]] = {"skip_unavailable_shards": 1}
"""Settings of questions to all servers (`Capabilities.system`) that some of them need not answer: a
replica that is away is no outage."""

EVERY_REPLICA: Final[Mapping[str, str | int]] = {
    **WHO_ANSWERS,
    "max_replica_delay_for_distributed_queries": 0,
    "connections_with_failover_max_tries": 1,
}
"""Settings of questions about rows to all servers: one that lags is asked, too, and one that hangs
is waited for once."""

BY_PROCESS = "by_process"
"""Name of the projection of `segment` in process order (`tables.BY_PROCESS_COLUMNS`)."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """`{table}` in `engine_arguments` stands for the table's name.

    Where `cluster` is set, rows live in `<table>_local` on the shards, and `<table>` is a
    Distributed table over them: writes are routed by `sharding_key`, so that all rows of a
    sensor, and with them whole processes, stay on one shard.
    """

    engine_prefix: str = ""
    """"Replicated" where tables are."""
    engine_arguments: str = ""
    """Arguments of the table engine: coordination path and replica name."""
    shared_arguments: str = ""
    """The same for small tables of which every server holds all."""
    cluster: str = ""
    """Name of the cluster behind the Distributed tables; "" without one."""
    on_cluster: str = ""
    """` ON CLUSTER '...'` for definitions that must run on every server."""
    sharding_key: str = "sensor_id"
    system_table: str = "system.{}"
    """Expression that reads a system table of all servers; `{}` stands for its name. It fails while
    one of them is away: see `WHO_ANSWERS`."""
    shard_table: str = "system.{}"
    """The same of one server of each shard, for what is to be counted once."""
    whole_table: str = "{}"
    """Expression that reads a small table of which every server has all, from all of them: what a
    quorum has acknowledged one has, also where others lag. Rows appear once for each server; see
    `EVERY_REPLICA`."""
    insert_settings: Mapping[str, str | int] = field(default_factory=dict)
    """Settings with which an insert returns once the quorum has stored it."""
    read_settings: Mapping[str, str | int] = field(default_factory=dict)
    """Settings of every read: only shards that hold sensors of the condition are asked."""
    process_group_settings: Mapping[str, str | int] = field(default_factory=dict)
    """Settings of reads that group by process: each shard ends its groups, since no process lies
    on two."""

    def storage(self, table: str) -> str:
        """Name of the table that holds the rows of `table`."""
        return f"{table}_local" if self.cluster else table

    @property
    def by_process(self) -> str:
        """Table expression of the projection `BY_PROCESS`. Faster than naming `segment`, for which
        the engine first analyses all columns and indexes."""
        rows = (
            f"mergeTreeProjection(currentDatabase(), '{self.storage('segment')}', '{BY_PROCESS}')"
        )
        return f"cluster('{self.cluster}', {rows})" if self.cluster else rows

    def engine(self, family: str, table: str, *, sharded: bool, version: str = "") -> str:
        """Engine clause of the table that holds the rows; `version` is the column that tells the
        newest row of a ReplacingMergeTree."""
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
"""ClickHouse in this process: plain tables."""


def distributed(cluster: str) -> Capabilities:
    """Distributed tables over plain ones: a cluster without replicas, or one in process."""
    return Capabilities(
        cluster=cluster,
        insert_settings={"distributed_foreground_insert": 1},
        read_settings=_READ_SETTINGS,
        process_group_settings=_PROCESS_GROUP_SETTINGS,
    )


def replicated(cluster: str, quorum: int) -> Capabilities:
    """A cluster of replicated shards; an insert returns when `quorum` replicas hold it.

    Raises StartError for a name that cannot be that of a cluster.
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
