"""Rows that a commit stores, and the data that the writer reads back."""

from typing import Any

from tests.contract.store.rows import HOUR_MS, NEXT_MS, file, partial, process_id, store
from tests.support.claims import claimed
from vedette.model.event import BinarySeen, Filemod, Kept
from vedette.model.scope import EVERYTHING, Scope
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read.binaries import binaries_of
from vedette.store.read.process import events
from vedette.store.read.recovery import (
    SegmentPlace,
    host_context,
    known_processes,
    newest,
    seen_keys,
)
from vedette.store.read.segment_search import search_segments
from vedette.store.sql.scope_filter import ALL
from vedette.store.write.commit import BinaryRow, Commit, RecordRow, commit_tables
from vedette.store.write.concat_tables import joined_tables
from vedette.store.write.insert import write_commit, write_tables

P1 = process_id(1)


def record(key: int, request: int = 0, committed_us: int = HOUR_MS * 1_000) -> RecordRow:
    kept = Kept(
        5, "Security", 4624, key, "Audit", {"TargetUserName": "Bob\u00e9", "LogonType": "3"}
    )
    return RecordRow(HOUR_MS, 1, "a.example.com", kept, committed_us, 9, key, request)


def binary(sensor_id: int, path: str, time_us: int = 5, **values: str) -> BinaryRow:
    seen = BinarySeen(time_us, "aa", "bb", "", path, values)
    return BinaryRow(sensor_id, f"h{sensor_id}", "G", "windows", seen, 1_000 + time_us, 3)


def test_a_large_batch_arrives_as_one_part(engine: ClickHouseEngine) -> None:
    engine.command(f"SYSTEM STOP MERGES {segments(engine)}")
    batch = [partial(number, file(f"c:\\{number}"), last_update=1) for number in range(70_000)]
    write_commit(engine, Commit(segments=batch))
    assert rows_of_parts(engine) == [70_000]


def test_portions_that_several_prepared_arrive_as_one_part(engine: ClickHouseEngine) -> None:
    engine.command(f"SYSTEM STOP MERGES {segments(engine)}")
    portions = [[partial(1, file("c:\\a"))], [partial(2)], [partial(3), partial(4, file("b"))]]
    made = [commit_tables(Commit(segments=portion)) for portion in portions]
    write_tables(engine, joined_tables(made))
    assert rows_of_parts(engine) == [4]
    totals = [events(engine, process_id(n), EVERYTHING, count=9).total for n in range(1, 5)]
    assert totals == [1, 0, 0, 1]


def segments(engine: ClickHouseEngine) -> str:
    """The table that has their rows."""
    return engine.capabilities.storage("segment")


def rows_of_parts(engine: ClickHouseEngine) -> list[int]:
    found = engine.query(
        f"SELECT rows FROM system.parts WHERE table = '{segments(engine)}' AND active "
        "AND database = currentDatabase()"
    )
    return [row[0] for row in found.rows]


def test_late_metadata_of_an_older_partition_is_written_before_new_events(
    engine: ClickHouseEngine,
) -> None:
    newer = partial(1, window_ms=NEXT_MS, partition_ms=NEXT_MS, last_update=2)
    store(engine, newer, partial(1, username="bob"))
    parts = engine.query(
        f"SELECT partition_id FROM system.parts WHERE table = '{segments(engine)}' AND active "
        "AND database = currentDatabase() ORDER BY modification_time, partition_id"
    )
    assert [row[0] for row in parts.rows] == [str(HOUR_MS), str(NEXT_MS)]


def test_a_value_that_does_not_fit_costs_only_itself(engine: ClickHouseEngine) -> None:
    odd = Filemod(P1, 1, 300, "c:\\\ud800.txt")
    store(engine, partial(1, odd, file("c:\\b"), process_pid=2**40, last_update=1))
    found = events(engine, P1, EVERYTHING, count=9).by_kind["filemod"]
    assert found == [Filemod(P1, 1, 255, "c:\\?.txt"), file("c:\\b")]
    assert search_segments(engine, ALL, EVERYTHING).rows[0]["process_pid"] == 2**32 - 1


def test_the_writer_finds_its_place_again(contract_engine: ClickHouseEngine) -> None:
    assert (newest(contract_engine).window_ms, newest(contract_engine).seq) == (0, 0)
    store(contract_engine, partial(1, file("c:\\a"), seq=4, last_update=1))
    store(contract_engine, partial(2, window_ms=NEXT_MS, seq=5, last_update=1))
    write_commit(contract_engine, Commit(records=[record(1)]))
    found = newest(contract_engine)
    assert (found.window_ms, found.seq) == (NEXT_MS, 9)


def test_known_processes_have_facts_and_places(contract_engine: ClickHouseEngine) -> None:
    facts: dict[str, Any] = {"hostname": "h", "path": "x", "process_pid": 4}
    store(contract_engine, partial(1, file("c:\\a"), last_update=1, **facts))
    store(contract_engine, partial(1, file("c:\\b"), last_update=1, username="bob"))
    again: dict[str, Any] = {**facts, "username": "bob", "cmdline": "x /y"}
    store(contract_engine, partial(1, window_ms=NEXT_MS, last_update=1, **again))
    known = known_processes(contract_engine, [P1, process_id(8)])
    assert list(known) == [P1]
    assert known[P1].facts == claimed(
        {"path": "x", "process_pid": 4, "username": "bob", "cmdline": "x /y"}
    )
    assert known[P1].places == [
        SegmentPlace(HOUR_MS, HOUR_MS, HOUR_MS, 2),
        SegmentPlace(HOUR_MS, NEXT_MS, NEXT_MS, 0),
    ]


def test_keys_of_stored_records_can_be_read_back(contract_engine: ClickHouseEngine) -> None:
    store(contract_engine, partial(1, record_keys=[1, 2], request_keys=[7], seq=1, last_update=1))
    store(contract_engine, partial(1, record_keys=[3], seq=2, last_update=1))
    old = partial(2, record_keys=[9], window_ms=HOUR_MS - 3_600_000, seq=1, last_update=1)
    store(contract_engine, old)
    write_commit(contract_engine, Commit(records=[record(4), record(0, request=8)]))
    reported = list(seen_keys(contract_engine, "segment", since_us=HOUR_MS * 1_000))
    keys = sorted(key for _, records, _ in reported for key in records)
    assert (keys, {key for *_, requests in reported for key in requests}) == ([1, 2, 3], {7})
    assert list(seen_keys(contract_engine, "record", since_us=1)) == [(1, [4], [8])]
    assert list(seen_keys(contract_engine, "record", since_seq=10)) == []


def test_a_hosts_processes_can_be_read_back(contract_engine: ClickHouseEngine) -> None:
    store(contract_engine, partial(1, process_pid=4, start=10, path="x", last_update=1))
    store(contract_engine, partial(1, end_time=20, process_md5="ab", parent_id="p"))
    store(contract_engine, partial(1, process_sha256="cd", username="ann"))
    store(contract_engine, partial(1, sensor_id=2, last_update=1))
    (host,) = host_context(contract_engine, [1])
    assert (host.process_id, host.pid, host.start_us, host.end_us, host.path) == (
        P1,
        4,
        10,
        20,
        "x",
    )
    assert (host.md5, host.sha256, host.username, host.parent_id) == ("ab", "cd", "ann", "p")


def test_a_kept_record_keeps_its_fields(contract_engine: ClickHouseEngine) -> None:
    write_commit(contract_engine, Commit(records=[record(4)]))
    found = contract_engine.query(
        "SELECT sensor_id, time, channel, event_id, record_id, provider, fields FROM record "
        "WHERE has(mapValues(fields), 'Bob\u00e9')"
    ).rows
    fields = {"TargetUserName": "Bob\u00e9", "LogonType": "3"}
    assert list(found) == [(1, 5, "Security", 4624, 4, "Audit", fields)]


def test_a_binary_is_summed_over_the_sensors_of_the_scope(
    contract_engine: ClickHouseEngine,
) -> None:
    first = binary(1, "c:\\a.exe", 7, file_version="1.0", is_executable_image="1")
    write_commit(contract_engine, Commit(binaries=[first, binary(2, "c:\\b.exe", 3)]))
    (found,) = binaries_of(contract_engine, ["aa"], EVERYTHING)
    assert (found["host_count"], found["first_seen"], found["last_seen"]) == (2, 3, 7)
    assert found["observed_filename"] == ["c:\\a.exe", "c:\\b.exe"]
    assert (found["file_version"], found["is_executable_image"]) == ("1.0", 1)
    (scoped,) = binaries_of(contract_engine, ["aa"], Scope(frozenset({2})))
    assert (scoped["hostname"], scoped["file_version"]) == (["h2"], "")
