"""The summary of a process on segments of its own, of its parent and of its children."""

from typing import Any

import pytest

from tests.contract.store.rows import HOUR_MS, NEXT_MS, module, partial, process_id, store
from vedette.errors import NotFoundError
from vedette.model.event import Childproc
from vedette.model.scope import EVERYTHING, Scope
from vedette.search.processes.metadata import metadata
from vedette.search.processes.process import flat_summary, summary
from vedette.search.processes.process_lookup import process_row, with_parent
from vedette.search.processes.suppression import NOTHING_SUPPRESSED, Suppression
from vedette.store.engine.client import ClickHouseEngine, Engine
from vedette.store.partitions.lifecycle import mount, open_partition, unmount
from vedette.store.partitions.partition import partition_name
from vedette.store.write.commit import Commit, ProcessWindow
from vedette.store.write.insert import write_commit
from vedette.web.processes.analysis.models import metadata_body
from vedette.web.processes.models import process_body, summary_body

P1, P2, P7, P8 = (process_id(number) for number in (1, 2, 7, 8))


def hidden(number: int, time_us: int, **reported: Any) -> Childproc:
    return Childproc(P1, time_us, 1, 0, process_id(number), suppressed=1, **reported)


def children_of_1(engine: Engine, most: int = 15, **more: Any) -> list[dict[str, Any]]:
    suppression = more.get("suppression", NOTHING_SUPPRESSED)
    scope = more.get("scope", EVERYTHING)
    return list(summary_body(summary(engine, scope, P1, 0, most, suppression))["children"])


def test_children_that_were_suppressed_are_listed_as_their_parent_reports_them(
    contract_engine: ClickHouseEngine,
) -> None:
    reported = hidden(
        7, 1_000, path="c:\\bin\\quiet.exe", command_line="quiet /q", username="ann", pid=70
    )
    store(
        contract_engine,
        partial(1, reported, hostname="h", process_name="up.exe", start=500, last_update=2_000),
        partial(2, parent_id=P1, start=2_000, last_update=2_000),
    )
    first, second = children_of_1(contract_engine)
    assert (first["id"], second["id"]) == (P7, P2)
    assert (first["is_suppressed"], second["is_suppressed"]) == (True, False)
    assert (first["cmdline"], first["username"]) == ("quiet /q", "ann")
    assert (first["process_name"], first["process_pid"], first["hostname"]) == (
        "quiet.exe",
        70,
        "h",
    )
    assert (first["parent_id"], first["parent_name"], first["segment_id"]) == (P1, "up.exe", 1)
    assert (first["start"], first["modload_count"]) == ("1970-01-01T00:00:00.001000Z", 0)
    assert set(first) - {"process_sha256"} == set(second)


def test_a_child_that_was_seen_is_listed_by_its_own_records(engine: ClickHouseEngine) -> None:
    store(
        engine,
        partial(1, hidden(7, 1_000), hidden(8, 9_000, command_line="x"), last_update=1),
        partial(7, module("m"), parent_id=P1, cmdline="own", start=1_000, last_update=1),
    )
    assert [(one["id"], one["cmdline"]) for one in children_of_1(engine)] == [
        (P7, "own"),
        (P8, "x"),
    ]
    assert [one["id"] for one in children_of_1(engine, 1)] == [P7]
    assert children_of_1(engine, 0) == []


def test_children_that_are_not_reported_as_suppressed_need_a_document(
    engine: ClickHouseEngine,
) -> None:
    store(engine, partial(1, Childproc(P1, 1_000, 1, 0, P7), last_update=1))
    assert children_of_1(engine, suppression=Suppression(frozenset({""}))) == []


def test_metadata_knows_of_the_parent_what_the_parent_reported_later(
    contract_engine: ClickHouseEngine,
) -> None:
    store(contract_engine, partial(2, parent_id=P1, parent_md5="ab" * 16, last_update=1))
    before = metadata_body(metadata(contract_engine, EVERYTHING, P2))["process_metadata"]
    assert (before["parent_name"], before["parent_pid"]) == ("(unknown)", 0)
    late = {"process_name": "up.exe", "process_pid": 9, "process_md5": "cd" * 16}
    store(contract_engine, partial(1, **late, window_ms=NEXT_MS, last_update=1))
    after = metadata_body(metadata(contract_engine, EVERYTHING, P2))["process_metadata"]
    assert (after["parent_name"], after["parent_pid"]) == ("up.exe", 9)
    assert after["parent_md5"] == "ab" * 16


def test_a_parent_on_a_host_that_is_not_seen_reports_nothing(engine: ClickHouseEngine) -> None:
    above = process_id(1, sensor_id=2)
    store(
        engine,
        partial(2, parent_id=above, last_update=1),
        partial(1, sensor_id=2, process_name="secret.exe", last_update=1),
    )
    own_host = Scope(frozenset({1}))
    found = metadata_body(metadata(engine, own_host, P2))["process_metadata"]
    assert found["parent_name"] == "(unknown)"
    assert process_body(flat_summary(engine, own_host, P2, 0))["parent_name"] == "(unknown)"
    assert flat_summary(engine, EVERYTHING, P2, 0)["parent_name"] == "secret.exe"


def test_a_window_that_only_the_process_table_names_hides_nothing(
    contract_engine: ClickHouseEngine,
) -> None:
    store(
        contract_engine,
        partial(1, cmdline="up /x", process_name="up.exe", last_update=1),
        partial(2, parent_id=P1, last_update=1),
    )
    orphans = [ProcessWindow(HOUR_MS, name, 1, NEXT_MS) for name in (P1, P2)]
    write_commit(contract_engine, Commit(processes=orphans))
    row = with_parent(contract_engine, EVERYTHING, process_row(contract_engine, EVERYTHING, P2, 0))
    assert (row["segment_id"], row["parent_cmdline"]) == (HOUR_MS, "up /x")


def test_the_segments_of_one_window_are_distinguished(contract_engine: ClickHouseEngine) -> None:
    for number in (0, 1, 999):
        at = HOUR_MS + number
        store(contract_engine, partial(1, segment_id=at, exit_status=str(number), last_update=1))
    for number in (0, 1, 999):
        body = flat_summary(contract_engine, EVERYTHING, P1, HOUR_MS + number)
        assert (body["segment_id"], body["exit_status"]) == (HOUR_MS + number, str(number))


class Counting:
    """An engine that counts the reads it is asked for."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.reads = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def query(self, *arguments: Any, **named: Any) -> Any:
        self.reads += 1
        return self._engine.query(*arguments, **named)


def family(engine: ClickHouseEngine) -> None:
    store(engine, partial(1, process_name="up.exe", start=1, last_update=1))
    for number in (2, 7, 8):
        store(engine, partial(number, parent_id=P1, start=number, last_update=1))
    store(engine, partial(3, parent_id=P2, start=9, last_update=1))


def test_a_summary_that_is_asked_for_again_reads_nothing(plain_engine: ClickHouseEngine) -> None:
    family(plain_engine)
    counting: Any = Counting(plain_engine)
    first = summary(counting, EVERYTHING, P2, 0, 15, NOTHING_SUPPRESSED)
    read = counting.reads
    assert read > 0
    assert summary(counting, EVERYTHING, P2, 0, 15, NOTHING_SUPPRESSED) == first
    assert counting.reads == read


def names(found: Any) -> tuple[Any, list[str], list[str]]:
    siblings = [one.row["process_name"] for one in found.siblings]
    return found.parent["process_name"], siblings, [one.row["cmdline"] for one in found.children]


def test_a_summary_follows_what_is_written_to_each_relative(engine: ClickHouseEngine) -> None:
    family(engine)

    def ask() -> tuple[Any, list[str], list[str]]:
        return names(summary(engine, EVERYTHING, P2, 0, 15, NOTHING_SUPPRESSED))

    assert ask() == ("up.exe", ["", ""], [""])
    store(engine, partial(7, process_name="seven.exe", window_ms=NEXT_MS, last_update=2))
    assert ask() == ("up.exe", ["seven.exe", ""], [""])
    store(engine, partial(4, parent_id=P2, cmdline="late /c", start=10, last_update=2))
    assert ask() == ("up.exe", ["seven.exe", ""], ["", "late /c"])
    store(engine, partial(9, parent_id=P1, process_name="nine.exe", start=11, last_update=2))
    assert ask() == ("up.exe", ["seven.exe", "", "nine.exe"], ["", "late /c"])


def test_a_cached_summary_shows_nothing_outside_of_the_scope(engine: ClickHouseEngine) -> None:
    family(engine)
    foreign = partial(5, sensor_id=2, parent_id=P2, process_name="secret.exe", last_update=1)
    store(engine, foreign)
    for _ in range(2):
        everything = summary(engine, EVERYTHING, P2, 0, 15, NOTHING_SUPPRESSED)
        own = summary(engine, Scope(frozenset({1})), P2, 0, 15, NOTHING_SUPPRESSED)
        assert (len(everything.children), len(own.children)) == (2, 1)


def test_a_process_in_an_unmounted_partition_is_not_found_for_that_reason(
    engine: ClickHouseEngine,
) -> None:
    open_partition(engine, HOUR_MS)
    store(engine, partial(1, start=1, last_update=1))
    open_partition(engine, HOUR_MS + 86_400_000)
    unmount(engine, partition_name(HOUR_MS))
    with pytest.raises(NotFoundError, match="mounted") as unmounted:
        process_row(engine, EVERYTHING, P1, 0)
    with pytest.raises(NotFoundError) as hidden:
        process_row(engine, Scope(frozenset({2})), P1, 0)
    assert (unmounted.value.reason, hidden.value.reason) == ("partition_unmounted", "not_found")
    mount(engine, partition_name(HOUR_MS))
    assert process_row(engine, EVERYTHING, P1, 0)["process_id"] == P1
    with pytest.raises(NotFoundError) as never_seen:
        process_row(engine, EVERYTHING, P7, 0)
    assert never_seen.value.reason == "not_found"
