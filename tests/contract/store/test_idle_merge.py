"""What was inserted last before a pause is merged, and nothing else."""

from tests.contract.store.rows import HOUR_MS, file, partial, store
from tests.contract.store.test_index_build import total
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.partitions.lifecycle import open_partition
from vedette.store.write.idle_merge import merge_when_idle

LONG_S = 3_600.0
INSERTS = 5


def fill(engine: ClickHouseEngine, inserts: int = INSERTS) -> None:
    open_partition(engine, HOUR_MS)
    for number in range(1, inserts + 1):
        store(engine, partial(number, file(rf"C:\Temp\{number}.txt")))


def levels(engine: ClickHouseEngine) -> list[int]:
    """Of each part, how often its rows were merged."""
    found = engine.query(
        "SELECT level FROM system.parts WHERE active AND database = {database:String} "
        "AND table = {segment:String} ORDER BY name",
        {"database": engine.database, "segment": engine.capabilities.storage("segment")},
    )
    return [row[0] for row in found.rows]


def test_parts_are_merged_after_a_pause_with_the_same_answers(
    contract_engine: ClickHouseEngine,
) -> None:
    fill(contract_engine)
    assert total(contract_engine, "filemod:.txt") == INSERTS
    while merge_when_idle(contract_engine, 0) is not None:
        pass
    assert levels(contract_engine).count(0) < 2
    assert total(contract_engine, "filemod:.txt") == INSERTS


def test_nothing_is_merged_as_long_as_something_is_inserted(engine: ClickHouseEngine) -> None:
    fill(engine)
    assert merge_when_idle(engine, LONG_S) is None


def test_one_part_is_left_alone(engine: ClickHouseEngine) -> None:
    fill(engine, 1)
    assert merge_when_idle(engine, 0) is None
    assert levels(engine) == [0]
