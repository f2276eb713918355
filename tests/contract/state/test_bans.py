"""Bans, and the orders that sensors get, on both databases."""

from typing import Any

import pytest
from sqlalchemy import insert, update

from vedette.errors import ConflictError, NotFoundError
from vedette.model.host import Sighting
from vedette.record.objects.sensor_group import GroupOptions
from vedette.respond.bans import ban_orders, count_blocks
from vedette.state.db.database import Database
from vedette.state.db.schema import BAN
from vedette.state.db.schema_fleet import STORED_FILE
from vedette.state.policy import bans, groups
from vedette.state.policy.bans import BanAuthor, Reporter
from vedette.state.sensors.host_registry import Sensors

NOW_US = 1_700_000_000_000_000
ANN = BanAuthor(5, "ann")
ONE, TWO = "1" * 32, "2" * 32


def orders(database: Database, since: int, group_id: int = 1) -> dict[str, Any] | None:
    return ban_orders(database, group_id, since)


def switch_off(database: Database, md5: str) -> None:
    bans.change(database, md5, enabled=False, text=None, by=ANN, now_us=NOW_US)


def verify(database: Database, md5: str, sha256: str, sensor_id: int = 0) -> None:
    """A copy of a file with both hashes; of a sensor's own word when it is named."""
    row = {"sha256": sha256, "sensor_id": sensor_id, "md5": md5}
    with database.writing() as connection:
        connection.execute(insert(STORED_FILE).values(row))


def test_a_claimed_sha256_never_becomes_that_of_a_ban(database: Database) -> None:
    verify(database, ONE, "ee" * 32, sensor_id=7)
    assert bans.add(database, ONE, "", ANN, NOW_US).sha256 == ""
    with database.writing() as connection:  # as an older version kept it
        connection.execute(update(BAN).values(sha256="ee" * 32))
    reported = orders(database, 0)
    assert reported is not None
    assert reported["add"] == [{"md5": ONE}]


def test_a_ban_that_is_created_disabled_is_never_in_force(database: Database) -> None:
    made = bans.add(database, ONE, "", ANN, NOW_US, enabled=False)
    assert (made.enabled, made.version, len(made.audit)) == (False, 0, 1)
    assert orders(database, 0) is None
    assert bans.add(database, ONE, "", ANN, NOW_US).enabled


def test_a_ban_is_made_once_until_it_is_switched_off(database: Database) -> None:
    bans.add(database, ONE, "why", ANN, NOW_US)
    with pytest.raises(ConflictError):
        bans.add(database, ONE, "why", ANN, NOW_US)
    switch_off(database, ONE)
    again = bans.add(database, ONE, "again", ANN, NOW_US + 1)
    assert (again.enabled, again.sha256, again.text) == (True, "", "again")
    assert [one.enabled for one in again.audit] == [True, False, True]


def test_a_change_of_nothing_leaves_no_trace(database: Database) -> None:
    bans.add(database, ONE, "why", ANN, NOW_US)
    bans.change(database, ONE, enabled=True, text="why", by=ANN, now_us=NOW_US)
    assert len(bans.get(database, ONE).audit) == 1
    with pytest.raises(NotFoundError):
        switch_off(database, TWO)


def test_a_new_sensor_gets_the_whole_list(database: Database) -> None:
    verify(database, ONE, "cd" * 32)
    bans.add(database, ONE, "", ANN, NOW_US)
    bans.add(database, TWO, "", ANN, NOW_US)
    switch_off(database, TWO)
    reported = orders(database, 0)
    assert reported is not None
    assert reported["full"]
    assert reported["add"] == [{"md5": ONE, "sha256": "cd" * 32}]
    assert orders(database, reported["version"]) is None


def test_a_sensor_that_was_away_gets_what_changed(database: Database) -> None:
    bans.add(database, ONE, "", ANN, NOW_US)
    known = orders(database, 0)
    assert known is not None
    switch_off(database, ONE)
    bans.add(database, TWO, "", ANN, NOW_US)
    reported = orders(database, known["version"])
    assert reported is not None
    assert (reported["full"], reported["add"], reported["remove"]) == (False, [{"md5": TWO}], [ONE])
    assert reported["version"] > known["version"]


def test_a_number_of_the_future_gets_the_whole_list(database: Database) -> None:
    bans.add(database, ONE, "", ANN, NOW_US)
    reported = orders(database, 999)
    assert reported is not None
    assert (reported["full"], reported["add"]) == (True, [{"md5": ONE}])


def test_a_sensor_that_moves_to_a_group_without_bans_gets_an_empty_list(
    database: Database,
) -> None:
    bans.add(database, ONE, "", ANN, NOW_US)
    free = groups.add(database, "free", options=GroupOptions(banning_enabled=False))
    known = orders(database, 0)
    assert known is not None
    lifted = orders(database, known["version"], free.id)
    assert lifted is not None
    assert (lifted["full"], lifted["add"], lifted["remove"]) == (True, [], [])
    back = orders(database, lifted["version"])
    assert back is not None
    assert (back["full"], back["add"]) == (True, [{"md5": ONE}])


def test_blocks_add_up_and_the_latest_is_the_last(database: Database) -> None:
    bans.add(database, ONE, "", ANN, NOW_US)
    blocks = [
        {"md5": ONE, "time_us": NOW_US, "count": 2},
        {"md5": ONE.upper(), "time_us": NOW_US - 9, "count": 1},
        {"md5": TWO, "time_us": NOW_US, "count": 5},
    ]
    count_blocks(database, Reporter(7, "late"), blocks, NOW_US)
    early = [{"md5": ONE, "time_us": NOW_US - 1}]
    count_blocks(database, Reporter(8, "early"), early, NOW_US)
    kept = bans.get(database, ONE)
    assert (kept.block_count, kept.last_block_us) == (4, NOW_US)
    assert (kept.last_block_sensor_id, kept.last_block_hostname) == (7, "late")


def test_a_list_of_blocks_that_is_reported_again_counts_once(database: Database) -> None:
    bans.add(database, ONE, "", ANN, NOW_US)
    sensor_id = Sensors(database).resolve({"h": Sighting("linux")}, 1, NOW_US)["h"].id
    blocks = [{"md5": ONE, "time_us": NOW_US, "count": 2}]
    for number in (5, 5, 6, 6, 0, 0):
        count_blocks(database, Reporter(sensor_id, "h", number), blocks, NOW_US)
    assert bans.get(database, ONE).block_count == 2 * (1 + 1 + 2)


def test_absurd_blocks_count_as_now_and_within_bounds(database: Database) -> None:
    bans.add(database, ONE, "", ANN, NOW_US)
    blocks = [{"md5": ONE, "time_us": 1 << 62, "count": 1 << 62}]
    for _ in range(3):
        count_blocks(database, Reporter(7, "liar"), blocks, NOW_US)
    assert bans.get(database, ONE).last_block_us == NOW_US
