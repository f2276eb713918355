"""Inserts that a ClickHouse server refuses after a time."""

import time
from collections.abc import Iterator

import pyarrow as pa
import pytest

from tests.contract.store.rows import HOUR_MS, partial, process_id
from tests.support.clickhouse_front import Front, clickhouse_front
from vedette.errors import UnavailableError
from vedette.model.event import Filemod, Kept
from vedette.store.engine.capabilities import replicated
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.engine.errors import REFUSED
from vedette.store.engine.open import connect_engine
from vedette.store.schema.create import create_tables
from vedette.store.write.commit import Commit, RecordRow, commit_tables
from vedette.store.write.insert import write_tables


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    with clickhouse_front(tmp_path_factory.mktemp("fenced")) as front:
        yield front


@pytest.fixture
def engine(front: Front) -> Iterator[ClickHouseEngine]:
    engine = connect_engine(front.dsn, replicated("vedette", quorum=1))
    create_tables(engine)
    yield engine
    engine.close()


def in_s(seconds: float) -> int:
    return int((time.time() + seconds) * 1_000_000)


def commit(number: int) -> Commit:
    kept = Kept(1_000_000, "Security", 4697, 1, "x", {"a": "it's \\ here"})
    return Commit(
        segments=[
            partial(number, Filemod(process_id(number), 1_000_000, 1, "C:\\x")),
            partial(number, partition_ms=HOUR_MS - 300_000),
        ],
        records=[RecordRow(HOUR_MS, 1, f"host-{number}", kept, 1_000_000, 7)],
    )


def stored(engine: ClickHouseEngine, number: int) -> tuple[int, int]:
    segments = engine.query(
        "SELECT count() FROM segment WHERE process_id LIKE {id:String}", {"id": f"%{number:012x}"}
    )
    records = engine.query(
        "SELECT count() FROM record WHERE hostname = {name:String}", {"name": f"host-{number}"}
    )
    return segments.rows[0][0], records.rows[0][0]


def test_an_insert_in_time_is_as_a_plain_one(engine: ClickHouseEngine) -> None:
    write_tables(engine, commit_tables(commit(1)), in_s(60))
    write_tables(engine, commit_tables(commit(2)))
    assert stored(engine, 1) == stored(engine, 2) == (2, 1)
    rows = engine.query("SELECT fields FROM record ORDER BY hostname").rows
    assert rows[0] == rows[1]


def test_an_insert_after_its_time_is_refused(engine: ClickHouseEngine) -> None:
    with pytest.raises(UnavailableError, match=REFUSED):
        write_tables(engine, commit_tables(commit(3)), in_s(-1))
    assert stored(engine, 3) == (0, 0)


def test_an_insert_that_was_sent_in_time_and_comes_late_is_refused(
    engine: ClickHouseEngine, front: Front
) -> None:
    front.fail({"kind": "slow", "pattern": "INSERT INTO .segment", "seconds": 2.5})
    with pytest.raises(UnavailableError, match=REFUSED):
        write_tables(engine, commit_tables(commit(4)), in_s(1.5))
    assert stored(engine, 4)[0] == 0


def test_columns_that_another_server_has_added_are_found(engine: ClickHouseEngine) -> None:
    engine.command("CREATE TABLE IF NOT EXISTS grows (a UInt64) ENGINE = MergeTree ORDER BY a")
    engine.insert_arrow("grows", pa.table({"a": pa.array([1], pa.uint64())}), in_s(60))
    engine.command("ALTER TABLE grows ADD COLUMN b String")
    both = pa.table({"a": pa.array([2], pa.uint64()), "b": ["x"]})
    engine.insert_arrow("grows", both, in_s(60))
    assert engine.query("SELECT a, b FROM grows ORDER BY a").rows == [(1, ""), (2, "x")]
