"""Indexes that are made once a partition is closed, and stores of an older version."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from tests.contract.store.rows import HOUR_MS, connection, file, module, partial, store
from tests.support.forms import in_form
from vedette.model.scope import EVERYTHING
from vedette.model.suffix_columns import MERGED_SUFFIX_COLUMNS, SUFFIX_COLUMNS, suffix_index_name
from vedette.query import check, compile_segments, parse
from vedette.query.compile.suffix_index import SuffixIndexes
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.partitions.index_build import index_next_partition, suffix_indexes
from vedette.store.partitions.lifecycle import mount, open_partition, unmount
from vedette.store.partitions.partition import partition_name
from vedette.store.plan.choose import choose_scan
from vedette.store.plan.search_bounds import EVERYWHERE
from vedette.store.read.segment_search import search_segments
from vedette.store.schema.create import create_tables
from vedette.store.schema.merge_indexes import merged_after

OLD, NEW, NEWER = HOUR_MS, HOUR_MS + 3_600_000, HOUR_MS + 7_200_000
ASKED = {
    "filemod:a.txt": 2,
    "filemod:.txt": 2,
    "filemod:b.exe": 1,
    r"modload:c:\windows\ntdll.dll": 1,
    "domain:com": 1,
    "ipaddr:10.0.0.0/28": 1,
    "filemod:a.txt domain:example.com": 1,
    "filemod:a.txt -domain:example.com": 1,
    "nowhere.txt": 0,
}
FEW = {text: ASKED[text] for text in ("filemod:a.txt", "filemod:.txt", "ipaddr:10.0.0.0/28")}
"""Queries of words, suffixes and numbers. Each search costs twice as much on Distributed tables,
whose shards use the same indexes."""


def fill(engine: ClickHouseEngine) -> None:
    """A closed partition of one part, and an open one."""
    open_partition(engine, OLD)
    connected = partial(1, file(r"C:\Temp\A.txt"), connection("www.example.com"), partition_ms=OLD)
    store(engine, connected, partial(2, file(r"C:\b.exe"), module(r"C:\Windows\ntdll.dll")))
    open_partition(engine, NEW)
    store(engine, partial(3, file(r"D:\a.txt"), partition_ms=NEW, window_ms=NEW))


def index_all(engine: ClickHouseEngine) -> None:
    while index_next_partition(engine) is not None:
        pass


@contextmanager
def fresh(engine: ClickHouseEngine) -> Iterator[ClickHouseEngine]:
    """The same store for a server that has just begun, and caches nothing."""
    with closing(engine.sibling(engine.database, engine.capabilities)) as found:
        yield found


def known(engine: ClickHouseEngine) -> SuffixIndexes:
    with fresh(engine) as found:
        return suffix_indexes(found)


def asked(engine: ClickHouseEngine) -> dict[str, int]:
    """Maps query to the number of matching segments after `fill`."""
    return in_form(FEW, ASKED) if engine.capabilities.cluster else ASKED


def totals(engine: ClickHouseEngine) -> dict[str, int]:
    with fresh(engine) as found:
        return {text: total(found, text) for text in asked(engine)}


def total(engine: ClickHouseEngine, text: str) -> int:
    compiled = compile_segments(check(parse(text), now_us=1), indexes=suffix_indexes(engine))
    where = choose_scan(engine, compiled, EVERYTHING, EVERYWHERE).condition
    return search_segments(engine, where, EVERYTHING).total if where else 0


def test_searches_answer_alike_before_and_after_a_partition_is_indexed(
    contract_engine: ClickHouseEngine,
) -> None:
    fill(contract_engine)
    assert known(contract_engine).indexed == ()
    assert totals(contract_engine) == asked(contract_engine)
    index_all(contract_engine)
    assert known(contract_engine).indexed == (OLD,)
    assert totals(contract_engine) == asked(contract_engine)


def test_a_partition_that_late_rows_reach_is_not_indexed_any_more(
    engine: ClickHouseEngine,
) -> None:
    fill(engine)
    index_all(engine)
    store(engine, partial(4, file(r"C:\late\a.txt"), partition_ms=OLD))
    assert totals(engine)["filemod:a.txt"] == ASKED["filemod:a.txt"] + 1
    engine.command(f"OPTIMIZE TABLE {engine.capabilities.storage('segment')} FINAL")
    assert totals(engine)["filemod:a.txt"] == ASKED["filemod:a.txt"] + 1
    index_all(engine)
    assert totals(engine)["filemod:a.txt"] == ASKED["filemod:a.txt"] + 1


def older(engine: ClickHouseEngine, *, leaves_out: str) -> None:
    """Makes of a new store one of an older version: merges leave these indexes out, and when they
    began to make others is not known."""
    table = f"ALTER TABLE `{engine.capabilities.storage('segment')}`"
    setting = "exclude_materialize_skip_indexes_on_merge"
    engine.command(f"{table} MODIFY SETTING {setting} = '{leaves_out}'")
    engine.command("DROP TABLE IF EXISTS merging SYNC")


def merge(engine: ClickHouseEngine, opened_ms: int) -> None:
    """Makes one part of a partition, which counts as merged also when it was one before."""
    storage = engine.capabilities.storage("segment")
    engine.command(f"OPTIMIZE TABLE `{storage}` PARTITION ID '{opened_ms}' FINAL")


def indexed_bytes(engine: ClickHouseEngine, opened_ms: int) -> int:
    """Returns the compressed bytes of all indexes of a partition."""
    found = engine.query(
        "SELECT sum(secondary_indices_compressed_bytes) FROM system.parts WHERE active AND "
        "database = {database:String} AND partition_id = {opened:String} AND table LIKE 'segment%'",
        {"database": engine.database, "opened": str(opened_ms)},
    )
    size: int = found.rows[0][0]
    return size


def test_a_store_without_the_indexes_gets_them_and_answers_the_same(
    engine: ClickHouseEngine,
) -> None:
    storage = engine.capabilities.storage("segment")
    for column in SUFFIX_COLUMNS:
        engine.command(f"ALTER TABLE `{storage}` DROP INDEX {suffix_index_name(column)}")
    older(engine, leaves_out="")
    engine.command("DROP TABLE settled SYNC")
    fill(engine)
    create_tables(engine)
    assert totals(engine) == asked(engine)
    index_all(engine)
    assert totals(engine) == asked(engine)


def test_a_store_whose_merges_left_all_out_is_answered_by_the_partitions_it_opens_from_now_on(
    contract_engine: ClickHouseEngine,
) -> None:
    older(contract_engine, leaves_out=",".join(map(suffix_index_name, SUFFIX_COLUMNS)))
    fill(contract_engine)
    for partition in (OLD, NEW):
        merge(contract_engine, partition)
    create_tables(contract_engine)
    assert merged_after(contract_engine) == NEW
    assert known(contract_engine) == SuffixIndexes()
    assert totals(contract_engine) == asked(contract_engine)
    open_partition(contract_engine, NEWER)
    for number in (4, 5):
        late = partial(number, file(r"D:\a.txt"), connection("a.b.com"), partition_ms=NEWER)
        store(contract_engine, late)
    merge(contract_engine, NEWER)
    assert known(contract_engine) == SuffixIndexes(merging=(NEWER,))
    found = totals(contract_engine)
    assert (found["filemod:a.txt"], found["ipaddr:10.0.0.0/28"]) == (4, 3)


def test_a_store_that_an_older_version_had_in_between_begins_anew(
    contract_engine: ClickHouseEngine,
) -> None:
    assert merged_after(contract_engine) == 0
    create_tables(contract_engine)
    assert merged_after(contract_engine) == 0
    fill(contract_engine)
    table = f"ALTER TABLE `{contract_engine.capabilities.storage('segment')}`"
    left_out = ",".join(map(suffix_index_name, SUFFIX_COLUMNS))
    contract_engine.command(
        f"{table} MODIFY SETTING exclude_materialize_skip_indexes_on_merge = '{left_out}'"
    )
    create_tables(contract_engine)
    assert merged_after(contract_engine) == NEW


def test_merges_make_the_indexes_of_some_columns_and_an_indexed_partition_has_the_others(
    contract_engine: ClickHouseEngine,
) -> None:
    fill(contract_engine)
    ends = known(contract_engine)
    assert (ends.merging, ends.everywhere) == ((OLD, NEW), MERGED_SUFFIX_COLUMNS)
    before = indexed_bytes(contract_engine, OLD)
    merge(contract_engine, OLD)
    merged = indexed_bytes(contract_engine, OLD)
    assert totals(contract_engine) == asked(contract_engine)
    index_all(contract_engine)
    assert before < merged < indexed_bytes(contract_engine, OLD)
    ends = known(contract_engine)
    assert (ends.indexed, ends.merging, ends.everywhere) == ((OLD,), (NEW,), MERGED_SUFFIX_COLUMNS)
    assert totals(contract_engine) == asked(contract_engine)


def test_many_rows_that_were_not_merged_are_asked_by_their_words(
    contract_engine: ClickHouseEngine,
) -> None:
    fill(contract_engine)
    merge(contract_engine, NEW)
    many = [partial(n, file(r"D:\b.txt"), partition_ms=NEW, window_ms=NEW) for n in range(4, 4_100)]
    store(contract_engine, *many)
    assert known(contract_engine) == SuffixIndexes(merging=(OLD, NEW))
    found = totals(contract_engine)
    assert (found["filemod:a.txt"], found["filemod:.txt"]) == (2, 2 + len(many))


def test_a_partition_that_was_unmounted_is_answered_the_same(
    contract_engine: ClickHouseEngine,
) -> None:
    fill(contract_engine)
    merge(contract_engine, OLD)
    index_all(contract_engine)
    unmount(contract_engine, partition_name(OLD))
    mount(contract_engine, partition_name(OLD))
    assert totals(contract_engine) == asked(contract_engine)
    index_all(contract_engine)
    assert known(contract_engine).indexed == (OLD,)
    assert totals(contract_engine) == asked(contract_engine)
