"""The explanation of a query, where it depends on segments and partitions."""

from tests.contract.store.rows import HOUR_MS, NEXT_MS, connection, file, partial, store
from vedette.model.scope import EVERYTHING
from vedette.query import parse
from vedette.search.explain import Explanation, explain
from vedette.settings import Settings
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.partitions.lifecycle import open_partition, unmount
from vedette.store.partitions.partition import WRITER, partition_name

DAY_MS = 86_400_000
NOW_US = (HOUR_MS + 20 * DAY_MS) * 1_000


def explained(engine: ClickHouseEngine, query: str, **more: bool) -> Explanation:
    return explain(engine, EVERYTHING, parse(query), Settings(), NOW_US, **more)


def test_a_comprehensive_search_is_counted_by_process(contract_engine: ClickHouseEngine) -> None:
    store(contract_engine, partial(1, file("c:\\a.txt"), last_update=1))
    store(contract_engine, partial(1, connection("b.example"), window_ms=NEXT_MS, last_update=2))
    query = "filemod:a.txt domain:b.example"
    assert explained(contract_engine, query).total == 0
    assert explained(contract_engine, query, is_comprehensive=True).total == 2


def test_only_partitions_that_the_search_reads_are_named(engine: ClickHouseEngine) -> None:
    opened = [HOUR_MS + number * DAY_MS for number in (0, 1, 2)]
    for at in opened:
        open_partition(engine, at)
    first, second, _ = map(partition_name, opened)

    def named(query: str) -> set[str]:
        return {one.name for one in explained(engine, query).partitions}

    assert named("cmd.exe") == {first, second, WRITER}
    assert named("last_update:-2d") == {WRITER}
    unmount(engine, first)
    assert named("cmd.exe") == {second, WRITER}
