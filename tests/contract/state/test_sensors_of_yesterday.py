"""Number of sensors with contact on the previous day, midnight to midnight, which a license
counts."""

from collections.abc import Callable

import pytest

from vedette.model.host import Sighting
from vedette.state.accounts.license import active_yesterday
from vedette.state.db.database import Database
from vedette.state.policy.groups import DEFAULT_GROUP_ID
from vedette.state.sensors import checkins
from vedette.state.sensors.checkins import CheckIn, Progress, Report
from vedette.state.sensors.host_registry import Sensors

DAY_US = 24 * 3600 * 1_000_000
MIDNIGHT_US = 1_700_006_400_000_000
assert MIDNIGHT_US % DAY_US == 0
HOUR_US = DAY_US // 24

Contact = Callable[[Database, Sensors, int, int], None]


def by_check_in(database: Database, _: Sensors, sensor_id: int, at_us: int) -> None:
    with database.writing() as connection:
        checkins.check_in(connection, [CheckIn(sensor_id, Report(), Progress(), at_us, 30)])


def by_osquery(database: Database, _: Sensors, sensor_id: int, at_us: int) -> None:
    with database.writing() as connection:
        checkins.note_contact(connection, sensor_id, at_us)


def by_records(_: Database, sensors: Sensors, sensor_id: int, at_us: int) -> None:
    sensors.note(sensor_id, at_us)
    sensors.flush(at_us)


def by_records_of_one_flush(_: Database, sensors: Sensors, sensor_id: int, at_us: int) -> None:
    """Records that the server flushes together a few seconds later."""
    sensors.note(sensor_id, at_us)


CONTACTS: tuple[Contact, ...] = (by_check_in, by_osquery, by_records, by_records_of_one_flush)


@pytest.fixture
def sensors(database: Database) -> Sensors:
    return Sensors(database)


@pytest.mark.parametrize("contact", CONTACTS)
@pytest.mark.parametrize(
    ("received_h", "is_counted"),
    [
        ((-1,), True),
        ((-24,), True),
        ((-25,), False),
        ((-25, 1), False),
        ((0, 1, 2), False),
        ((-1, 1), True),
        ((-24, 0, 5), True),
        ((-60, -25, 3, 4), False),
        ((-60, -2, 3, 4), True),
    ],
)
def test_a_sensor_counts_where_it_was_there_yesterday(
    database: Database,
    sensors: Sensors,
    contact: Contact,
    received_h: tuple[int, ...],
    is_counted: bool,
) -> None:
    made_us = MIDNIGHT_US - 9 * DAY_US
    sensor = sensors.resolve({"pc": Sighting()}, DEFAULT_GROUP_ID, made_us)["pc"]
    for hour in received_h:
        contact(database, sensors, sensor.id, MIDNIGHT_US + hour * HOUR_US)
    now_us = MIDNIGHT_US + 23 * HOUR_US
    sensors.flush(now_us)
    assert active_yesterday(database, now_us) == int(is_counted)


def test_what_is_new_today_does_not_count(database: Database, sensors: Sensors) -> None:
    sensor = sensors.resolve({"pc": Sighting()}, DEFAULT_GROUP_ID, MIDNIGHT_US + 1)["pc"]
    by_check_in(database, sensors, sensor.id, MIDNIGHT_US + HOUR_US)
    assert active_yesterday(database, MIDNIGHT_US + 2 * HOUR_US) == 0
    assert active_yesterday(database, MIDNIGHT_US + DAY_US) == 1


def test_an_older_report_takes_nothing_back(database: Database, sensors: Sensors) -> None:
    """Clocks of servers differ by a little."""
    sensor = sensors.resolve({"pc": Sighting()}, DEFAULT_GROUP_ID, MIDNIGHT_US - HOUR_US)["pc"]
    for at_us in (MIDNIGHT_US + 1, MIDNIGHT_US - 1, MIDNIGHT_US + 2):
        by_check_in(database, sensors, sensor.id, at_us)
        by_records(database, sensors, sensor.id, at_us)
    assert active_yesterday(database, MIDNIGHT_US + HOUR_US) == 1
