"""The shard map: every sensor has one shard for good, whatever is added, by whoever at once."""

import pytest

from vedette.errors import ConflictError
from vedette.model.host import ShardRange, Sighting, first_map
from vedette.state.db.database import Database
from vedette.state.policy.groups import DEFAULT_GROUP_ID
from vedette.state.sensors.host_registry import Sensors
from vedette.state.sensors.sensor_shards import (
    SHARD_RANGE_MARGIN,
    add_range,
    begin_shard_map,
    load_shard_map,
    next_range,
)


def sensor(database: Database, host: str) -> int:
    found = Sensors(database).resolve({host: Sighting()}, DEFAULT_GROUP_ID, 1)
    return found[host].id


def test_there_is_no_map_before_there_is_a_cluster(database: Database) -> None:
    assert load_shard_map(database) is None
    assert begin_shard_map(database, 2) == first_map(2)
    assert begin_shard_map(database, 5) == first_map(2) == load_shard_map(database)


def test_new_sensors_are_of_the_new_range_and_old_ones_of_the_old(database: Database) -> None:
    begin_shard_map(database, 2)
    old = [sensor(database, f"old{n}") for n in range(4)]
    places = {one: first_map(2).shard_of(one) for one in old}
    added = ShardRange(next_range(database), (3,))
    assert added.first_sensor_id > max(old) + SHARD_RANGE_MARGIN
    known = add_range(database, added)
    new = [sensor(database, f"new{n}") for n in range(3)]
    assert min(new) == added.first_sensor_id
    assert {known.shard_of(one) for one in new} == {3}
    assert {one: known.shard_of(one) for one in old} == places
    assert load_shard_map(database) == known
    assert known.shard_count == 3


def test_a_range_of_sensors_that_exist_is_refused(
    database: Database,
) -> None:
    begin_shard_map(database, 1)
    first = next_range(database)
    add_range(database, ShardRange(first, (2,)))
    with pytest.raises(ConflictError):  # the same again
        add_range(database, ShardRange(first, (2,)))
    sensor(database, "meanwhile")
    with pytest.raises(ConflictError):
        add_range(database, ShardRange(first, (3,)))
    known = add_range(database, ShardRange(next_range(database), (3,)))
    assert load_shard_map(database) == known
    assert len(known.ranges) == 3


def test_numbers_never_go_back(database: Database) -> None:
    begin_shard_map(database, 1)
    numbers = [sensor(database, "a")]
    for shard in (2, 3):
        add_range(database, ShardRange(next_range(database), (shard,)))
        numbers.append(sensor(database, f"b{shard}"))
    assert numbers == sorted(set(numbers))
