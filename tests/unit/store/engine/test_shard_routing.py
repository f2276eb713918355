"""Routing by shard: rows and SQL follow one map, and a map is read again before it is too old."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.errors import UnavailableError
from vedette.model.host import MoveStep, SensorMove, ShardMap, ShardRange, ShardView, first_map
from vedette.store.engine.shard_routing import (
    ShardRouter,
    hiding,
    placed_command,
    sharding_expression,
)

NUMBERS = st.integers(0, 2**32 - 1)


@st.composite
def maps(draw: st.DrawFn) -> ShardMap:
    firsts = sorted({0, *draw(st.lists(NUMBERS, max_size=3))})
    shards = st.lists(st.integers(1, 9), min_size=1, max_size=4, unique=True).map(tuple)
    moved = draw(st.dictionaries(NUMBERS, st.integers(1, 9), max_size=3))
    return ShardMap(tuple(ShardRange(one, draw(shards)) for one in firsts), moved)


def rows(*sensors: int) -> pa.Table:
    numbers = pa.array(range(len(sensors)))
    return pa.table({"sensor_id": pa.array(sensors, pa.uint32()), "row": numbers})


@given(maps(), st.lists(NUMBERS, max_size=20))
def test_every_row_goes_to_the_shard_of_its_sensor_once(known: ShardMap, ids: list[int]) -> None:
    found = list(ShardRouter(lambda: ShardView(known)).split(rows(*ids)))
    assert len({shard for shard, _ in found}) == len(found)
    pairs = [(row, shard) for shard, part in found for row in part.column("row").to_pylist()]
    assert sorted(pairs) == [(row, known.shard_of(one)) for row, one in enumerate(ids)]


def test_a_map_is_read_again_for_a_sensor_that_is_newer_than_it() -> None:
    known = [first_map(1)]
    router = ShardRouter(lambda: ShardView(known[-1]))
    assert [shard for shard, _ in router.split(rows(5))] == [1]
    known.append(ShardMap((*first_map(1).ranges, ShardRange(100, (2,)))))
    assert [shard for shard, _ in router.split(rows(3, 5))] == [1]
    assert [shard for shard, _ in router.split(rows(5, 100))] == [1, 2]


def moving(step: MoveStep, version: int = 1) -> ShardView:
    """Sensor 7 on its way from shard 2 to shard 1."""
    return ShardView(first_map(2), version, (SensorMove(7, 2, 1, step),))


@pytest.mark.parametrize(("step", "is_held"), [("copy", True), ("swap", True), ("delete", False)])
def test_nothing_is_stored_of_a_sensor_that_is_being_copied(step: MoveStep, is_held: bool) -> None:
    router = ShardRouter(lambda: moving(step))
    assert [shard for shard, _ in router.split(rows(5))] == [2]
    if is_held:
        with pytest.raises(UnavailableError, match="being moved"):
            list(router.split(rows(5, 7)))
    else:
        assert [shard for shard, _ in router.split(rows(5, 7))] == [2]


@pytest.mark.parametrize(("step", "hides"), [("copy", 1), ("swap", 2), ("delete", 2)])
def test_a_read_leaves_out_one_of_two_copies(step: MoveStep, hides: int) -> None:
    found = hiding(moving(step), ["segment"], "vedette", "{'segment_local': 'window_ms >= 5'}")
    hidden = f"NOT ((shardNum() = {hides} AND sensor_id IN (7)))"
    assert found == {
        "additional_table_filters": f"{{'vedette.segment_local': '(window_ms >= 5) AND {hidden}'}}",
        "optimize_skip_unused_shards": 0,
    }


def test_a_view_is_in_use_until_the_last_that_began_with_it_ends() -> None:
    views = [ShardView(first_map(2), 1)]
    router = ShardRouter(lambda: views[-1])
    with router.using():
        views.append(moving("copy", 2))
        router.refresh()
        with router.using() as newer:
            assert newer.version == 2
        assert router.oldest_in_use() == 1
    assert router.oldest_in_use() == 2


def test_a_view_that_nobody_waits_for_is_read_before_each_use() -> None:
    views = [ShardView(first_map(2), 1)]
    router = ShardRouter(lambda: views[-1], fresh_s=0.0)
    views.append(moving("copy", 2))
    with router.using() as view:
        assert view.version == 2
    views.append(moving("swap", 1))
    with router.using() as view:
        assert view.version == 2, "it never goes back"


def test_rows_of_all_shards_are_not_changed_while_some_are_copied() -> None:
    router = ShardRouter(lambda: moving("copy"))
    change = "ALTER TABLE `segment_local` DELETE WHERE 1"
    with pytest.raises(UnavailableError, match="being moved"), placed_command(router, change):
        pass
    with placed_command(router, "INSERT INTO schema SELECT 1"):
        pass


@pytest.mark.parametrize("firsts", [(), (1,), (0, 0), (0, 9, 5)])
def test_a_map_begins_at_zero_and_rises(firsts: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="ranges of sensors begin"):
        ShardMap(tuple(ShardRange(one, (1,)) for one in firsts))


@pytest.mark.parametrize(
    ("known", "sql"),
    [
        (first_map(1), "toUInt32(sensor_id % 1)"),
        (first_map(3), "toUInt32(sensor_id % 3)"),
        (
            ShardMap((*first_map(2).ranges, ShardRange(500, (3,))), {7: 2}),
            "transform(sensor_id, [7], [1], if(sensor_id >= 500, toUInt32([2][1 + sensor_id % 1]),"
            " toUInt32(sensor_id % 2)))",
        ),
    ],
)
def test_the_expression_says_what_the_map_says(known: ShardMap, sql: str) -> None:
    assert sharding_expression(known) == sql
