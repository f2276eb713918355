"""A cluster with three replicas, of which one is away: that is no outage, and what replicas share
is counted once. The two that answer are this engine, so they have the same parts."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Final

import pytest

from tests.contract.store.rows import HOUR_MS, file, partial, store
from tests.support.indexed import indexed
from tests.support.store_pool import StorePool
from vedette.store.engine.capabilities import EVERY_REPLICA, distributed, replicated
from vedette.store.engine.client import ClickHouseEngine, create_database
from vedette.store.integrity.damage import damaged_parts
from vedette.store.partitions.index_build import suffix_indexes
from vedette.store.partitions.lifecycle import (
    delete,
    free_disk_bytes,
    list_partitions,
    mount,
    open_partition,
    recover,
    unmount,
)
from vedette.store.schema.create import create_tables

_OF_CLUSTER: Final = replicated("away", quorum=2)
AWAY: Final = indexed(
    replace(
        distributed("away"),
        system_table=_OF_CLUSTER.system_table,
        shard_table=_OF_CLUSTER.shard_table,
        whole_table=_OF_CLUSTER.whole_table,
    )
)
NEXT_MS: Final = HOUR_MS + 3_600_000


@pytest.fixture
def engine(store_pool: StorePool) -> Iterator[ClickHouseEngine]:
    engine = store_pool.take(AWAY)
    open_partition(engine, HOUR_MS)
    store(engine, partial(1, file("c:\\old")), partial(2))
    open_partition(engine, NEXT_MS)
    yield engine
    store_pool.give_back(engine)


def test_what_every_search_asks_all_servers_is_answered(engine: ClickHouseEngine) -> None:
    assert damaged_parts(engine) == ()
    assert suffix_indexes(engine).indexed == ()
    assert free_disk_bytes(engine) > 0


def test_partitions_are_counted_once(engine: ClickHouseEngine) -> None:
    (warm,) = (one for one in list_partitions(engine) if one.state == "warm")
    stored = engine.query("SELECT count() FROM segment_local").rows[0][0]
    assert (warm.row_count, warm.part_count) == (stored, 1)
    assert warm.byte_count == bytes_of(engine, "parts", "active") > 0
    unmount(engine, warm.name)
    (cold,) = (one for one in list_partitions(engine) if one.state == "cold")
    assert cold.byte_count == bytes_of(engine, "detached_parts", "1") > 0


def test_what_became_of_partitions_is_asked_of_all_servers(engine: ClickHouseEngine) -> None:
    """Each row may be there once for each server that answers."""
    asked = engine.capabilities.whole("partition")
    assert "clusterAllReplicas" in asked
    (name,) = (one.name for one in list_partitions(engine) if one.state == "warm")
    for change, state in ((unmount, "cold"), (mount, "warm"), (delete, "deleted")):
        change(engine, name)
        found = {one.name: one.state for one in list_partitions(engine)}
        assert found == {"writer": "hot"} | ({} if state == "deleted" else {name: state})
    versions = "SELECT count(), uniqExact(version), max(version) FROM"
    (local,) = engine.query(f"{versions} partition").rows
    (everywhere,) = engine.query(f"{versions} {asked}", settings=EVERY_REPLICA).rows
    assert local == (6, 6, 6)
    assert everywhere[1:] == (6, 6)


def bytes_of(engine: ClickHouseEngine, table: str, which: str) -> int:
    """On one server, of the partition that is not written to."""
    found: int = engine.query(
        f"SELECT sum(bytes_on_disk) FROM system.{table} WHERE {which} "
        "AND database = {database:String} AND partition_id = {partition:String}",
        {"database": engine.database, "partition": str(HOUR_MS)},
    ).rows[0][0]
    return found


def test_a_server_starts(root_engine: ClickHouseEngine, engine: ClickHouseEngine) -> None:
    """Without a statement for all servers, which would fail: this engine knows no coordination
    service."""
    capabilities = replace(AWAY, on_cluster=_OF_CLUSTER.on_cluster)
    with closing(root_engine.open_client("")) as client:
        create_database(client, engine.database, capabilities)
    starting = ClickHouseEngine(root_engine.open_client, engine.database, capabilities)
    with closing(starting):
        create_tables(starting)
        recover(starting)
