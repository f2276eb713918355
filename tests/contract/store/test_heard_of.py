"""The hashes of all stored processes, as the write path takes them."""

from tests.contract.store.rows import NEXT_MS, file, partial, process_id, store
from vedette.clock import DrivenClock
from vedette.model.ids import process_hash
from vedette.pipeline.workers.store_lookup import StoreLookup
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read.recovery import heard_of

STORED = [process_id(number, sensor) for number in (1, 2, 700_000) for sensor in (1, 0xABCDEF)]


def some_processes(engine: ClickHouseEngine) -> None:
    for number in (1, 2, 700_000):
        for sensor in (1, 0xABCDEF):
            store(engine, partial(number, file("a"), sensor_id=sensor))
    store(engine, partial(1, file("b"), window_ms=NEXT_MS))


def test_the_engine_hashes_processes_as_we_do(contract_engine: ClickHouseEngine) -> None:
    some_processes(contract_engine)
    found = heard_of(contract_engine, 100)
    assert found is not None
    assert sorted(found) == sorted(map(process_hash, STORED))


def test_more_rows_than_asked_for_are_not_read(engine: ClickHouseEngine) -> None:
    some_processes(engine)
    assert heard_of(engine, 2) is None


def test_where_others_store_too_nobody_can_tell(contract_engine: ClickHouseEngine) -> None:
    found = StoreLookup(contract_engine, DrivenClock(0)).process_hashes()
    assert (found is None) is bool(contract_engine.capabilities.cluster)
