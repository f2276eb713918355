"""An isolation ends when it was said to, and only that one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from sqlalchemy import select

from tests.contract.state.conftest import NOW_US
from tests.contract.state.test_fleet import enrolled
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR
from vedette.state.sensors import isolation, sensor_changes
from vedette.state.sensors.isolation import Isolation
from vedette.state.sensors.sensor_changes import SensorChanges

END_US = NOW_US + 1_000_000
LATE_US = END_US + 1


@pytest.fixture
def isolated(database: Database) -> int:
    """A host that is isolated until `END_US`."""
    sensor_id = enrolled(database, "h").sensor.id
    order(database, sensor_id, True)
    isolation.record(database, Isolation(sensor_id, "beacon", "ann", NOW_US, END_US))
    return sensor_id


def order(database: Database, sensor_id: int, wanted: bool) -> None:
    changes = SensorChanges(network_isolation_enabled=wanted)
    sensor_changes.change(database, sensor_id, changes, NOW_US)


def is_wanted(database: Database, sensor_id: int) -> bool:
    query = select(SENSOR.c.network_isolation_enabled).where(SENSOR.c.id == sensor_id)
    with database.reading() as connection:
        return bool(connection.scalar(query))


def test_it_ends_at_its_end_once(database: Database, isolated: int) -> None:
    assert isolation.end_expired(database, END_US - 1) == []
    assert is_wanted(database, isolated)
    assert isolation.end_expired(database, LATE_US) == [isolated]
    assert not is_wanted(database, isolated)
    assert isolation.end_expired(database, LATE_US) == []


class Interrupted:
    """A database where somebody prolongs the isolation when the list of what is due was read."""

    def __init__(self, database: Database, prolonged: Isolation) -> None:
        self._database, self._prolonged = database, prolonged
        self.writing = database.writing

    @contextmanager
    def reading(self) -> Iterator[Any]:
        with self._database.reading() as connection:
            yield connection
        isolation.record(self._database, self._prolonged)


@pytest.mark.parametrize("expires_us", [0, LATE_US + 1])
def test_one_that_is_prolonged_in_the_moment_it_ends_holds(
    database: Database, isolated: int, expires_us: int
) -> None:
    prolonged = Isolation(isolated, "still there", "bob", LATE_US, expires_us)
    interrupted = cast("Database", Interrupted(database, prolonged))
    assert isolation.end_expired(interrupted, LATE_US) == []
    assert is_wanted(database, isolated)


def test_the_end_of_an_earlier_isolation_is_not_that_of_a_new_one(
    database: Database, isolated: int
) -> None:
    """Whoever released the host: a response by rule says nothing of it."""
    order(database, isolated, False)
    order(database, isolated, True)
    assert isolation.end_expired(database, LATE_US) == []
    assert is_wanted(database, isolated)


def test_another_change_of_the_host_leaves_the_end_alone(database: Database, isolated: int) -> None:
    sensor_changes.change(database, isolated, SensorChanges(notes="x"), NOW_US)
    order(database, isolated, True)
    assert isolation.end_expired(database, LATE_US) == [isolated]
