"""Where a program runs, and the processes of a day, on every kind of engine."""

from tests.contract.store.rows import HOUR_MS, NEXT_MS, file, partial, process_id, store
from vedette.model.scope import EVERYTHING, Scope
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read.recent_processes import processes_since
from vedette.store.read.running_hosts import running

MD5 = "ab" * 16


def test_hosts_with_processes_that_have_not_ended(contract_engine: ClickHouseEngine) -> None:
    store(
        contract_engine,
        partial(1, process_md5=MD5, hostname="a", last_update=5),
        partial(2, process_md5=MD5, hostname="a", last_update=9),
        partial(3, process_md5=MD5, hostname="a", last_update=7),
        partial(3, process_md5=MD5, hostname="a", window_ms=NEXT_MS, terminated=1),
        partial(4, process_md5="cd" * 16, hostname="a", last_update=9),
        partial(5, process_md5=MD5, hostname="b", sensor_id=2, last_update=20),
    )
    found = running(contract_engine, MD5, EVERYTHING, HOUR_MS * 1_000)
    reported = [
        (one.sensor_id, one.hostname, one.process_count, one.last_update_us) for one in found
    ]
    assert reported == [(2, "b", 1, 20), (1, "a", 2, 9)]
    assert found[1].process_ids == (process_id(2), process_id(1))


def test_only_hosts_of_the_scope_and_of_late(contract_engine: ClickHouseEngine) -> None:
    store(
        contract_engine,
        partial(1, process_md5=MD5, hostname="a"),
        partial(2, process_md5=MD5, hostname="b", sensor_id=2, window_ms=NEXT_MS),
    )
    scope = Scope(frozenset({2}))
    assert [one.hostname for one in running(contract_engine, MD5, scope, 0)] == ["b"]
    assert running(contract_engine, MD5, Scope(frozenset()), 0) == []
    recent = running(contract_engine, MD5, EVERYTHING, NEXT_MS * 1_000)
    assert [one.hostname for one in recent] == ["b"]


def test_a_program_is_found_by_its_sha256_too(contract_engine: ClickHouseEngine) -> None:
    sha256 = "ef" * 32
    store(
        contract_engine,
        partial(1, process_sha256=sha256, hostname="a"),
        partial(2, process_md5=sha256[:32], hostname="b", sensor_id=2),
    )
    found = running(contract_engine, sha256, EVERYTHING, 0)
    assert [one.hostname for one in found] == ["a"]
    assert running(contract_engine, sha256, Scope(frozenset({2})), 0) == []


def test_processes_of_a_day_come_whole_and_the_newest_first(
    contract_engine: ClickHouseEngine,
) -> None:
    store(
        contract_engine,
        partial(1, file("/a"), path="/p", parent_id=process_id(9)),
        partial(1, file("/b"), window_ms=NEXT_MS, path="/p", cmdline="p -x"),
        partial(2, path="/q"),
    )
    first, second = processes_since(contract_engine, HOUR_MS * 1_000, 10)
    assert (first.process_id, first.path, first.cmdline, first.events) == (
        process_id(1),
        "/p",
        "p -x",
        2,
    )
    assert first.parent_id == process_id(9)
    assert second.path == "/q"
    assert len(list(processes_since(contract_engine, HOUR_MS * 1_000, 1))) == 1
