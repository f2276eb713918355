"""Indexes that are made once a partition is settled, and stores of an older version."""

from tests.contract.store.rows import HOUR_MS, connection, file, module, partial, store
from vedette.model.ends import ENDS, ends_index
from vedette.model.scope import EVERYTHING
from vedette.query import check, compile_segments, parse
from vedette.store.engine import ClickHouseEngine
from vedette.store.find import search_segments
from vedette.store.narrow import narrowed
from vedette.store.partitions import open_partition
from vedette.store.reach import EVERYWHERE
from vedette.store.schema import create_tables
from vedette.store.settled import settle, settled_partitions

OLD, NEW = HOUR_MS, HOUR_MS + 3_600_000
ASKED = {
    "filemod:a.txt": 2,
    "filemod:.txt": 2,
    "filemod:b.exe": 1,
    r"modload:c:\windows\ntdll.dll": 1,
    "domain:com": 1,
    "filemod:a.txt domain:example.com": 1,
    "filemod:a.txt -domain:example.com": 1,
    "nowhere.txt": 0,
}


def fill(engine: ClickHouseEngine) -> None:
    """A closed partition of one part, and an open one."""
    open_partition(engine, OLD)
    connected = partial(1, file(r"C:\Temp\A.txt"), connection("www.example.com"), partition_ms=OLD)
    store(engine, connected, partial(2, file(r"C:\b.exe"), module(r"C:\Windows\ntdll.dll")))
    open_partition(engine, NEW)
    store(engine, partial(3, file(r"D:\a.txt"), partition_ms=NEW, window_ms=NEW))


def settle_all(engine: ClickHouseEngine) -> None:
    while settle(engine) is not None:
        pass


def totals(engine: ClickHouseEngine) -> dict[str, int]:
    found = {}
    for text in ASKED:
        where = narrowed(
            engine, compile_segments(check(parse(text), now_us=1)), EVERYTHING, EVERYWHERE
        )
        found[text] = search_segments(engine, where, EVERYTHING).total if where else 0
    return found


def test_searches_answer_alike_before_and_after_a_partition_is_settled(
    contract_engine: ClickHouseEngine,
) -> None:
    fill(contract_engine)
    assert settled_partitions(contract_engine) == ()
    assert totals(contract_engine) == ASKED
    settle_all(contract_engine)
    assert settled_partitions(contract_engine) == (OLD,)
    assert totals(contract_engine) == ASKED


def test_a_partition_that_late_rows_reach_is_not_settled_any_more(
    engine: ClickHouseEngine,
) -> None:
    fill(engine)
    settle_all(engine)
    store(engine, partial(4, file(r"C:\late\a.txt"), partition_ms=OLD))
    assert totals(engine)["filemod:a.txt"] == ASKED["filemod:a.txt"] + 1
    engine.command("OPTIMIZE TABLE segment FINAL")
    assert totals(engine)["filemod:a.txt"] == ASKED["filemod:a.txt"] + 1
    settle_all(engine)
    assert totals(engine)["filemod:a.txt"] == ASKED["filemod:a.txt"] + 1


def test_a_store_of_an_older_version_gets_the_indexes_and_answers_the_same(
    engine: ClickHouseEngine,
) -> None:
    storage = engine.capabilities.storage("segment")
    for column in ENDS:
        engine.command(f"ALTER TABLE `{storage}` DROP INDEX {ends_index(column)}")
    engine.command(
        f"ALTER TABLE `{storage}` RESET SETTING exclude_materialize_skip_indexes_on_merge"
    )
    engine.command("DROP TABLE settled SYNC")
    fill(engine)
    create_tables(engine)
    assert totals(engine) == ASKED
    settle_all(engine)
    assert totals(engine) == ASKED
