"""Only one of several servers writes alerts; a server whose lease ended adds none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.alerting.detections import detection
from tests.support.clickhouse_front import clickhouse_front
from vedette.alerting.detection_writer import DetectionWriter
from vedette.clock import DrivenClock
from vedette.errors import UnavailableError
from vedette.limits import SERVER_GRACE_S
from vedette.state.db.database import Database, time_us
from vedette.state.servers import alert_writers
from vedette.store.engine.capabilities import replicated
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.engine.open import connect_engine
from vedette.store.read.detection.alerts import alerts_by_id
from vedette.store.schema.create import create_tables

SECOND_US = 1_000_000


class Lease:
    """That this server has, as long as a test says."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.left_s = 3_600

    def until_us(self) -> int:
        with self._database.reading() as connection:
            return time_us(connection) + self.left_s * SECOND_US


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[ClickHouseEngine]:
    """Engine of a ClickHouse server: the embedded engine has no second writer."""
    with clickhouse_front(tmp_path / "front") as front:
        opened = connect_engine(front.dsn, replicated("vedette", quorum=1))
        create_tables(opened)
        yield opened
        opened.close()


@pytest.fixture
def lease(database: Database) -> Lease:
    return Lease(database)


@pytest.fixture
def writer(
    engine: ClickHouseEngine, database: Database, clock: DrivenClock, lease: Lease
) -> DetectionWriter:
    return DetectionWriter(engine, database, clock, fence_us=lease.until_us)


def test_batch_after_batch_is_written_within_a_lease(
    engine: ClickHouseEngine, writer: DetectionWriter
) -> None:
    assert [writer.write([detection(number)]).alerts for number in (1, 2)] == [1, 1]
    assert writer.write([detection(1, seq=99)]).raised == 1
    found = alerts_by_id(engine, [detection(number).id for number in (1, 2)])
    assert sorted(row["count"] for row in found.values()) == [1, 2]


def test_the_store_takes_nothing_that_comes_after_the_lease(
    engine: ClickHouseEngine, writer: DetectionWriter, lease: Lease
) -> None:
    lease.left_s = -2 * SERVER_GRACE_S
    with pytest.raises(UnavailableError):
        writer.write([detection(1)])
    assert alerts_by_id(engine, [detection(1).id]) == {}
    lease.left_s = 3_600
    assert writer.write([detection(1)]).alerts == 1


def test_nobody_writes_while_alerts_of_another_server_may_still_come(
    engine: ClickHouseEngine, database: Database, writer: DetectionWriter, lease: Lease
) -> None:
    alert_writers.begin(database, lease.until_us())
    with pytest.raises(UnavailableError, match="may still be stored"):
        writer.write([detection(1)])
    assert alerts_by_id(engine, [detection(1).id]) == {}
    lease.left_s = -2 * SERVER_GRACE_S
    alert_writers.begin(database, lease.until_us())
    lease.left_s = 3_600
    assert writer.write([detection(1)]).alerts == 1


def test_a_server_whose_turn_another_has_taken_saves_nothing_of_its_batch(
    database: Database, lease: Lease
) -> None:
    until_us = lease.until_us()
    alert_writers.begin(database, until_us)
    alert_writers.begin(database, until_us + 1)
    with pytest.raises(UnavailableError, match="another server"), database.writing() as transaction:
        alert_writers.end(transaction, until_us)
    with pytest.raises(UnavailableError, match="may still be stored"):
        alert_writers.check_over(database)
    with database.writing() as transaction:
        alert_writers.end(transaction, until_us + 1)
    alert_writers.check_over(database)
