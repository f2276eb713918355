"""Table definitions on engines that cannot be part of a test run: their text is checked."""

from contextlib import closing

import pytest

from vedette.cli.cloud.alerts import ALERT_EXPORT_LAG_S
from vedette.servers.joining import REPLICA_SETTLED_S, settle_s_of
from vedette.store.engine.capabilities import EMBEDDED, Capabilities, distributed, replicated
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.schema.tables import SCHEMA, SEGMENT, TABLES, definitions

CLUSTER = replicated("fleet", quorum=2)


@pytest.mark.parametrize("capabilities", [EMBEDDED, distributed("one"), CLUSTER])
def test_every_definition_is_read_by_the_engine(
    root_engine: ClickHouseEngine, capabilities: Capabilities
) -> None:
    for table in TABLES:
        for statement in definitions(table, capabilities):
            assert root_engine.query(f"EXPLAIN AST {statement}").rows


def test_a_cluster_replicates_each_shard_and_routes_by_sensor() -> None:
    storage, route = definitions(SEGMENT, CLUSTER)
    assert "`segment_local` ON CLUSTER 'fleet'" in storage
    assert (
        "ReplicatedAggregatingMergeTree("
        "'/clickhouse/tables/{shard}/{database}/segment_local', '{replica}')" in storage
    )
    assert "Distributed('fleet', currentDatabase(), 'segment_local', sensor_id)" in route


def test_every_server_of_a_cluster_holds_the_small_tables() -> None:
    (statement,) = definitions(SCHEMA, CLUSTER)
    assert "'/clickhouse/tables/all/{database}/schema', '{shard}-{replica}'" in statement


def test_replicas_that_are_behind_are_not_read_from(root_engine: ClickHouseEngine) -> None:
    """Uses settings of the engine. An export of alerts lags more than replicas may."""
    settings = CLUSTER.read_settings
    assert root_engine.query("SELECT 1", settings=settings).rows == [(1,)]
    assert settings["fallback_to_stale_replicas_for_distributed_queries"] == 0
    behind_s = settings["max_replica_delay_for_distributed_queries"]
    assert int(behind_s) < REPLICA_SETTLED_S < ALERT_EXPORT_LAG_S


@pytest.mark.parametrize(("quorum", "settle_s"), [(1, REPLICA_SETTLED_S), (2, 0.0)])
def test_followers_wait_for_replicas_that_no_quorum_needs(
    root_engine: ClickHouseEngine, quorum: int, settle_s: float
) -> None:
    of_two = ClickHouseEngine(
        root_engine.open_client, root_engine.database, replicated("replicas", quorum)
    )
    with closing(of_two):
        assert settle_s_of(of_two, quorum) == settle_s
