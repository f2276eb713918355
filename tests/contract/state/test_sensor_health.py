"""The health of sensors over time: the hours in which it changed, on both databases."""

from typing import Any

from tests.contract.state.test_fleet import NOW_US, enrolled
from vedette.errors import VedetteError
from vedette.state.db.database import Database
from vedette.state.sensors import checkins
from vedette.state.sensors.checkins import HEALTH_DAYS, CheckIn, Progress, Report

HOUR_US = 3600 * 1_000_000
START_US = NOW_US // HOUR_US * HOUR_US


def say(database: Database, sensor_id: int, time_us: int, *healths: tuple[int, str]) -> None:
    """Check-ins of one batch."""
    items = [
        CheckIn(sensor_id, Report(health_status=one, health_message=text), Progress(), time_us, 30)
        for one, text in healths
    ]
    with database.writing() as connection:
        found = checkins.check_in(connection, items)
    assert not any(isinstance(one, VedetteError) for one in found)


def hours(database: Database, sensor_id: int, now_us: int, health: int) -> list[tuple[int, str]]:
    found = checkins.health_by_hour(database, sensor_id, START_US, now_us, health)
    return [(one.least, one.message) for one in found]


def kept(database: Database) -> int:
    with database.reading() as connection:
        return len(list(connection.execute(checkins.SENSOR_HEALTH.select())))


def test_only_hours_in_which_the_health_changed_are_kept(database: Database) -> None:
    sensor_id = enrolled(database, "well").sensor.id
    for hour in range(3):
        say(database, sensor_id, START_US + hour * HOUR_US, (100, "Healthy"), (100, "Healthy"))
    assert kept(database) == 0
    assert hours(database, sensor_id, START_US + 2 * HOUR_US, 100) == [(100, "")] * 3
    say(database, sensor_id, START_US + 3 * HOUR_US, (40, "disk full"), (20, "worse"), (90, "up"))
    say(database, sensor_id, START_US + 3 * HOUR_US + 1, (90, "up"))
    assert kept(database) == 1
    say(database, sensor_id, START_US + 5 * HOUR_US, (100, "Healthy"))
    assert hours(database, sensor_id, START_US + 6 * HOUR_US, 100) == [
        *[(100, "")] * 3,
        (20, "up"),
        (90, ""),
        (90, "Healthy"),
        (100, ""),
    ]


def test_health_is_that_of_its_sensor(database: Database) -> None:
    one, other = (enrolled(database, name).sensor.id for name in ("one", "other"))
    for sensor_id in (one, other):
        say(database, sensor_id, START_US, (100, "Healthy"))
    say(database, one, START_US, (50, "half"))
    assert hours(database, other, START_US, 100) == [(100, "")]
    assert hours(database, one, START_US, 50) == [(50, "half")]


def test_health_is_forgotten_after_its_days(database: Database) -> None:
    sensor_id = enrolled(database, "old").sensor.id
    say(database, sensor_id, START_US, (100, "Healthy"), (10, "ill"))
    say(database, sensor_id, START_US + HOUR_US, (100, "Healthy"))
    late_us = START_US + HEALTH_DAYS * 24 * HOUR_US
    found: list[Any] = hours(database, sensor_id, late_us, 100)
    assert len(found) == HEALTH_DAYS * 24
    assert found[:2] == [(10, "Healthy"), (100, "")]
    with database.writing() as connection:
        checkins.delete_old_health(connection, late_us)
    assert kept(database) == 1
    with database.writing() as connection:
        checkins.delete_old_health(connection, late_us + HOUR_US)
    assert kept(database) == 0
