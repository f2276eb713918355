"""Statements that begin while a table is defined anew, as a command that moves sensors does."""

from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

from tests.contract.store.rows import HOUR_MS, partial, process_id
from tests.support.clickhouse_front import Front, clickhouse_front
from vedette.model.event import Filemod
from vedette.store.engine.capabilities import replicated
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.engine.errors import ReplacedTableError, unavailable
from vedette.store.engine.open import connect_engine
from vedette.store.engine.statement_retry import REPLACED_TABLE_ATTEMPTS
from vedette.store.schema.create import create_tables
from vedette.store.write.commit import Commit, commit_tables
from vedette.store.write.insert import write_tables

UUID = "3d39d78b-90fd-4434-adfc-31329fc6a4e7"
COUNT = "SELECT toUInt64(count()) AS n FROM segment"


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    with clickhouse_front(tmp_path_factory.mktemp("replaced")) as front:
        yield front


@pytest.fixture
def engine(front: Front) -> Iterator[ClickHouseEngine]:
    engine = connect_engine(front.dsn, replicated("vedette", quorum=1))
    create_tables(engine)
    yield engine
    front.fail()
    engine.close()


def commit(number: int) -> Commit:
    rows = [
        partial(number, Filemod(process_id(number), 1_000_000, 1, "C:\\x")),
        partial(number, partition_ms=HOUR_MS - 300_000),
    ]
    return Commit(segments=rows, records=[])


def counted(engine: ClickHouseEngine) -> int:
    return int(engine.query(COUNT).rows[0][0])


def counted_in_table(engine: ClickHouseEngine) -> int:
    found = engine.query_table(COUNT, pa.schema([("n", pa.uint64())]))
    return int(found.column("n")[0].as_py())


def counted_in_stream(engine: ClickHouseEngine) -> int:
    with engine.stream(COUNT) as blocks:
        return int(sum(row[0] for block in blocks for row in block))


@pytest.mark.parametrize("read", [counted, counted_in_table, counted_in_stream])
def test_a_read_that_meets_it_begins_again(
    front: Front, engine: ClickHouseEngine, read: Callable[[ClickHouseEngine], int]
) -> None:
    before, fault = read(engine), {"kind": "error", "code": 218, "pattern": "FROM segment"}
    front.fail({**fault, "times": REPLACED_TABLE_ATTEMPTS - 1})
    assert read(engine) == before
    front.fail({**fault, "times": REPLACED_TABLE_ATTEMPTS})
    with pytest.raises(ReplacedTableError):
        read(engine)
    assert read(engine) == before  # with the same client


def test_an_insert_that_meets_it_is_stored_once(front: Front, engine: ClickHouseEngine) -> None:
    before = counted(engine)
    front.fail({"kind": "error", "code": 218, "pattern": "INSERT INTO", "times": 2})
    write_tables(engine, commit_tables(commit(1)))
    assert counted(engine) == before + 2


def test_a_table_that_never_was_is_a_mistake_of_the_statement() -> None:
    text = "Code: 60. DB::Exception: Unknown table expression identifier 'a' in scope SELECT"
    assert unavailable(text, 60) is None
    gone = (
        f"Code: 60. DB::Exception: Table vedette.segment ({UUID}) does not exist. (UNKNOWN_TABLE)"
    )
    assert isinstance(unavailable(gone, 60), ReplacedTableError)
