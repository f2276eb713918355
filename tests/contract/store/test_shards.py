"""The SQL of the shard map, and inserts that come again, in the engine itself."""

from hypothesis import HealthCheck, given, settings

from tests.support.forms import in_form
from tests.unit.store.engine.test_shard_routing import NUMBERS, maps
from vedette.model.host import ShardMap
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.engine.shard_routing import sharding_expression


@settings(max_examples=in_form(15, 40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(maps(), NUMBERS)
def test_the_engine_finds_the_shard_that_the_map_names(
    root_engine: ClickHouseEngine, known: ShardMap, number: int
) -> None:
    edges = {one.first_sensor_id + step for one in known.ranges for step in (-1, 0, 1)}
    wanted = sorted({number, *known.moved, *(one for one in edges if 0 <= one < 2**32)})
    found = root_engine.query(
        f"SELECT 1 + ({sharding_expression(known)}) FROM "
        "(SELECT arrayJoin({ids:Array(UInt32)}) AS sensor_id)",
        {"ids": wanted},
    )
    assert [row[0] for row in found.rows] == [known.shard_of(one) for one in wanted]
