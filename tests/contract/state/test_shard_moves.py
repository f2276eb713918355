"""The journal of moves: one step after the other, and whom each step waits for."""

import pytest

from tests.contract.state.test_sensor_shards import sensor
from tests.contract.state.test_servers import register
from vedette.errors import ConflictError
from vedette.limits import HOST_SLOTS
from vedette.model.host import SensorMove, ShardView
from vedette.model.ids import slot_of
from vedette.state.db.database import Database
from vedette.state.sensors import shard_moves
from vedette.state.sensors.sensor_shards import begin_shard_map, load_shard_map
from vedette.state.servers import slots


def view(database: Database) -> ShardView:
    found = shard_moves.load_view(database)
    assert found is not None
    return found


def test_a_move_goes_through_its_steps_and_changes_the_map_at_one(database: Database) -> None:
    known = begin_shard_map(database, 2)
    slots.ensure_slots(database)
    one = sensor(database, "moved")
    source, target = known.shard_of(one), 3 - known.shard_of(one)
    shard_moves.begin(database, [SensorMove(one, source, target, "copy")])
    first = view(database)
    assert (first.held, first.hidden) == ({one}, {target: [one]})
    assert [row.slot for row in slots.all_slots(database) if row.held] == [slot_of(one)]
    with pytest.raises(ConflictError, match="another move of sensors is in progress"):
        shard_moves.begin(database, [SensorMove(one + 1, 1, 2, "copy")])
    shard_moves.swap(database, shard_moves.under_way(database))
    second = view(database)
    assert (second.held, second.hidden) == ({one}, {source: [one]})
    assert (first.known.shard_of(one), second.known.shard_of(one)) == (source, target)
    shard_moves.release(database)
    third = view(database)
    assert (third.held, third.hidden) == (set(), {source: [one]})
    assert not any(row.held for row in slots.all_slots(database))
    shard_moves.finish(database)
    assert view(database).moves == ()
    versions = [first.version, second.version, third.version, view(database).version]
    assert versions == sorted(set(versions))


def test_a_sensor_that_lies_elsewhere_is_not_moved(database: Database) -> None:
    known = begin_shard_map(database, 2)
    one = sensor(database, "elsewhere")
    wrong = 3 - known.shard_of(one)
    with pytest.raises(ConflictError, match=f"sensor {one} is not on shard {wrong}"):
        shard_moves.begin(database, [SensorMove(one, wrong, 3, "copy")])
    assert shard_moves.under_way(database) == []
    assert load_shard_map(database) == known


def test_a_step_waits_for_every_server_and_for_the_slots_of_its_sensors(
    database: Database,
) -> None:
    if not database.name:
        pytest.skip("SQLite has one server")
    known = begin_shard_map(database, 2)
    slots.ensure_slots(database)
    own = register(database, f"{database.name}.1")
    assert shard_moves.behind(database) == [f"https://{own}:8443"], "it has said nothing yet"
    assert 0 < shard_moves.note_in_use(database, shard_moves.version(database)) <= 10
    assert shard_moves.behind(database) == []
    assert len(slots.claim(database, own, HOST_SLOTS)) == HOST_SLOTS
    one = sensor(database, "waited-for")
    source = known.shard_of(one)
    shard_moves.begin(database, [SensorMove(one, source, 3 - source, "copy")])
    slot = slot_of(one)
    assert shard_moves.behind(database) == [f"https://{own}:8443", f"slot {slot}"]
    shard_moves.note_in_use(database, view(database).version)
    assert shard_moves.behind(database) == [f"slot {slot}"]
    slots.release(database, own, [slot])
    assert shard_moves.behind(database) == []
    assert slots.claim(database, own, HOST_SLOTS) == []
    shard_moves.release(database)
    assert slots.claim(database, own, HOST_SLOTS) == [slot]
