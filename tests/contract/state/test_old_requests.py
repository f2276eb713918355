"""Expired requests and undo records: only the job deletes them, and only while the clock is
trusted."""

from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import func, select

from tests.contract.state.conftest import NOW_US
from tests.contract.state.test_fleet import enrolled
from vedette.bootstrap.background_jobs import delete_old_requests
from vedette.clock import DrivenClock
from vedette.state.accounts import kept_views, users
from vedette.state.db.database import Database
from vedette.state.db.schema_alerts import ALERT_UNDO
from vedette.state.db.schema_console import PERMALINK
from vedette.state.db.schema_fleet import BINARY_ORDER, LIVE_QUERY
from vedette.state.files import binary_orders
from vedette.state.policy import alert_undo
from vedette.state.sensors import live_queries

YEAR_US = 366 * 24 * 3600 * 1_000_000
TABLES = (LIVE_QUERY, BINARY_ORDER, PERMALINK, ALERT_UNDO)


def ask(database: Database, number: int, at_us: int) -> None:
    """One of each."""
    sensor_id = enrolled(database, f"asked-{number}", "osquery").sensor.id
    live_queries.place(database, f"SELECT {number}", [sensor_id], "ann", at_us)
    file = binary_orders.OrderedFile(f"{number:032x}", "")
    order = binary_orders.NewOrder(sensor_id, ["/x"])
    binary_orders.place(database, file, [order], "ann", at_us, at_us + 1)
    user_id = users.id_of(database, "ann")
    with database.writing() as connection:
        kept_views.add_permalink(connection, user_id, "process", "q=x", at_us, 1)
        alert_undo.keep(connection, alert_undo.Kept(number, user_id, "ann", at_us, at_us + 1, "{}"))


def counts(database: Database) -> list[Any]:
    with database.reading() as connection:
        return [connection.scalar(select(func.count()).select_from(table)) for table in TABLES]


@pytest.fixture
def asked(database: Database) -> Database:
    users.add(database, users.NewUser("ann"), NOW_US)
    ask(database, 1, NOW_US)
    return database


def test_a_request_of_a_clock_that_is_ahead_deletes_nothing_that_is_kept(asked: Database) -> None:
    ask(asked, 2, NOW_US + YEAR_US)
    with asked.writing() as connection:
        alert_undo.remove(connection, 2)
    assert counts(asked) == [2, 2, 2, 1]


def test_the_job_deletes_what_is_over(asked: Database) -> None:
    ask(asked, 2, NOW_US + YEAR_US)
    here: Any = SimpleNamespace(database=asked, clock=DrivenClock(NOW_US + YEAR_US))
    delete_old_requests(here)
    assert counts(asked) == [1, 1, 1, 1]
