"""Table definitions on engines that cannot be part of a test run: their text is checked."""

import pytest

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
