"""Routing by shard: rows and SQL follow one map, and a map is read again before it is too old."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.model.host import ShardMap, ShardRange, first_map
from vedette.store.engine.shard_routing import ShardRouter, sharding_expression

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
    found = list(ShardRouter(lambda: known).split(rows(*ids)))
    assert len({shard for shard, _ in found}) == len(found)
    pairs = [(row, shard) for shard, part in found for row in part.column("row").to_pylist()]
    assert sorted(pairs) == [(row, known.shard_of(one)) for row, one in enumerate(ids)]


def test_a_map_is_read_again_for_a_sensor_that_is_newer_than_it() -> None:
    known = [first_map(1)]
    router = ShardRouter(lambda: known[-1])
    assert [shard for shard, _ in router.split(rows(5))] == [1]
    known.append(ShardMap((*first_map(1).ranges, ShardRange(100, (2,)))))
    assert [shard for shard, _ in router.split(rows(3, 5))] == [1]
    assert [shard for shard, _ in router.split(rows(5, 100))] == [1, 2]


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
