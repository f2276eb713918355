"""The marker by which background jobs notice changes of the state database."""

import sqlite3
from collections.abc import Callable, Iterator

import pytest

from vedette.clock import DrivenClock
from vedette.state.db.database import Database
from vedette.state.jobs.leases import Leases
from vedette.state.shares.change_marker import ChangeMarker

NOW_US = 1_700_000_000_000_000


@pytest.fixture
def marked(another: Callable[[], Database]) -> Iterator[tuple[Database, ChangeMarker]]:
    database = another()
    marker = ChangeMarker(database)
    yield database, marker
    marker.close()


def test_readings_are_equal_until_something_is_committed(
    marked: tuple[Database, ChangeMarker], engine_name: str
) -> None:
    database, marker = marked
    if engine_name != "sqlite":
        assert marker.read() is None
        return
    before = marker.read()
    with database.reading() as connection:
        connection.exec_driver_sql("SELECT 1").all()
    assert marker.read() == before
    assert Leases(database, DrivenClock(NOW_US)).hold("job", 10)
    after = marker.read()
    assert after != before
    assert marker.read() == after


def test_a_commit_of_another_process_counts(
    marked: tuple[Database, ChangeMarker], engine_name: str
) -> None:
    database, marker = marked
    if engine_name != "sqlite":
        assert marker.read() is None
        return
    before = marker.read()
    other = sqlite3.connect(str(database.engine.url.database))
    other.execute("CREATE TABLE written_elsewhere (id INTEGER)")
    other.close()
    assert marker.read() != before


def test_a_closed_marker_knows_nothing(marked: tuple[Database, ChangeMarker]) -> None:
    _, marker = marked
    marker.close()
    assert marker.read() is None
