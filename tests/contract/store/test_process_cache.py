"""Cached data of a process is valid until a write to the process, and no longer."""

from threading import Event, Thread

import pyarrow as pa
import pytest

from tests.contract.store.rows import HOUR_MS, NEXT_MS, file, partial, process_id, store
from tests.support.forms import in_form
from vedette.model.event_facets import STREAMED
from vedette.model.scope import EVERYTHING, Scope
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.engine.process_cache import ProcessCache
from vedette.store.partitions.lifecycle import (
    delete,
    list_partitions,
    mount,
    open_partition,
    unmount,
)
from vedette.store.read.process_metadata import newest_row, process_row, segment_row
from vedette.store.read.segment_counts import SegmentCounts, load_segment_counts

P1, P2 = process_id(1), process_id(2)
MINE, NOBODY = Scope(frozenset({1})), Scope(frozenset())
ROUNDS = in_form(15, 40)


def totals(engine: ClickHouseEngine, process: str = P1) -> list[int]:
    found = load_segment_counts(engine, process, EVERYTHING)
    return list(found.totals) if found else []


def test_segment_counts_are_cached_until_their_process_is_written_to(
    contract_engine: ClickHouseEngine,
) -> None:
    store(contract_engine, partial(1, file("a"), file("b")), partial(2, file("c")))
    first, other = (
        load_segment_counts(contract_engine, process, EVERYTHING) for process in (P1, P2)
    )
    has_other_writers = bool(contract_engine.capabilities.cluster)
    assert (load_segment_counts(contract_engine, P1, EVERYTHING) is first) is not has_other_writers
    store(contract_engine, partial(1, file("d"), window_ms=NEXT_MS))
    assert totals(contract_engine) == [2, 1]
    assert (load_segment_counts(contract_engine, P2, EVERYTHING) is other) is not has_other_writers


def test_a_process_as_a_whole_is_summed_up_again_when_it_was_written_to(
    contract_engine: ClickHouseEngine,
) -> None:
    for number in (1, 2, 3):
        store(contract_engine, partial(1, file("a"), last_update=number, process_name=f"{number}"))
        for scope in (EVERYTHING, MINE):
            row = process_row(contract_engine, P1, scope)
            assert row is not None
            assert (row["filemod_count"], row["last_update"]) == (number, number)
    assert process_row(contract_engine, P1, NOBODY) is None


def test_rows_are_read_again_when_their_process_was_written_to(
    contract_engine: ClickHouseEngine,
) -> None:
    for number in (1, 2):
        store(contract_engine, partial(1, file("a"), last_update=number, username=f"{number}"))
        for _ in range(2):
            segment = segment_row(contract_engine, P1, HOUR_MS, EVERYTHING)
            newest = newest_row(contract_engine, P1, EVERYTHING)
            assert segment is not None
            assert newest is not None
            assert (segment.pop("username"), segment["filemod_count"]) == (f"{number}", number)
            assert newest["username"] == f"{number}"
    assert segment_row(contract_engine, P1, HOUR_MS, NOBODY) is None
    assert newest_row(contract_engine, P1, NOBODY) is None


def test_a_process_that_nobody_knew_is_found_when_it_comes(engine: ClickHouseEngine) -> None:
    assert load_segment_counts(engine, P1, EVERYTHING) is None
    store(engine, partial(1, file("a")))
    assert totals(engine) == [1]


def test_who_may_not_see_a_process_does_not_get_cached_results(
    plain_engine: ClickHouseEngine,
) -> None:
    store(plain_engine, partial(1, file("a")))
    assert load_segment_counts(plain_engine, P1, MINE) is load_segment_counts(
        plain_engine, P1, EVERYTHING
    )
    assert load_segment_counts(plain_engine, P1, NOBODY) is None
    assert load_segment_counts(plain_engine, P1, MINE) is not None


def test_kinds_are_questions_of_their_own(engine: ClickHouseEngine) -> None:
    store(engine, partial(1, file("a")))
    chosen = [kind for kind in STREAMED if kind.name == "netconn"]
    reported = [
        load_segment_counts(engine, P1, EVERYTHING, kinds) for kinds in (STREAMED, chosen, STREAMED)
    ]
    assert [list(found.chosen) for found in reported if found] == [[1], [0], [1]]


def test_partitions_that_come_and_go_change_the_results(engine: ClickHouseEngine) -> None:
    open_partition(engine, HOUR_MS)
    store(engine, partial(1, file("a")))
    open_partition(engine, NEXT_MS)
    (closed,) = [one.name for one in list_partitions(engine) if one.state == "warm"]
    for change, expected in ((unmount, []), (mount, [1]), (delete, [])):
        change(engine, closed)
        assert totals(engine) == expected


def test_what_is_written_is_seen_at_once_by_concurrent_readers(
    engine: ClickHouseEngine,
) -> None:
    acknowledged, ended = [0], Event()
    behind: list[tuple[int, int]] = []

    def read() -> None:
        while not ended.is_set():
            before = acknowledged[0]
            if sum(totals(engine)) < before:
                behind.append((sum(totals(engine)), before))

    reader = Thread(target=read)
    reader.start()
    for number in range(ROUNDS):
        store(engine, partial(1, file(f"{number}", number + 1)))
        acknowledged[0] = number + 1
    ended.set()
    reader.join()
    assert (behind, totals(engine)) == ([], [ROUNDS])


def column(*process_ids: str) -> pa.ChunkedArray:
    return pa.chunked_array([list(process_ids)], pa.string())


def size(_: object) -> int:
    return 1


@pytest.mark.parametrize("writes", [column(P1), column(P2), None], ids=["this", "other", "all"])
def test_what_is_read_during_a_write_is_not_cached(writes: pa.ChunkedArray | None) -> None:
    kept = ProcessCache(100)

    def during() -> int:
        with kept.writing(writes):
            return 1

    def begun_before_the_end() -> int:
        writing.__exit__(None, None, None)
        return 2

    assert kept.get_or_load(P1, "q", during, size) == 1
    writing = kept.writing(writes)
    writing.__enter__()
    assert kept.get_or_load(P1, "q", begun_before_the_end, size) == 2
    assert kept.get_or_load(P1, "q", lambda: 3, size) == 3
    assert kept.get_or_load(P1, "q", lambda: 4, size) == 3


@pytest.mark.parametrize(
    ("written", "expected"),
    [(column(), 1), (column(P2), 1), (column(P1), 2), (column(P2, P1), 2), (None, 2)],
)
def test_a_write_that_fails_makes_its_processes_forgotten(
    written: pa.ChunkedArray | None, expected: int
) -> None:
    kept = ProcessCache(100)
    kept.get_or_load(P1, "q", lambda: 1, size)
    with pytest.raises(OSError, match="full"), kept.writing(written):
        raise OSError("full")
    assert kept.get_or_load(P1, "q", lambda: 2, size) == expected


def test_memory_is_bounded_and_the_least_recently_used_goes_first() -> None:
    kept = ProcessCache(100)
    asked: list[str] = []

    def send(process: str, size: int = 40) -> int:
        def ask() -> int:
            asked.append(process)
            return len(asked)

        return kept.get_or_load(process, "q", ask, lambda _: size)

    assert [send(process) for process in "abacab"] == [1, 2, 1, 3, 1, 4]
    assert [send("large", 101), send("large", 101), send("a")] == [5, 6, 1]
    assert asked == ["a", "b", "c", "b", "large", "large"]


def test_nothing_is_cached_where_nothing_may_be() -> None:
    kept = ProcessCache(0)
    assert kept.get_or_load(P1, "q", lambda: 1, size) == 1
    assert kept.get_or_load(P1, "q", lambda: 2, size) == 2


def test_segment_counts_are_sized_by_their_segments(plain_engine: ClickHouseEngine) -> None:
    store(plain_engine, partial(1, file("a")), partial(1, file("b"), window_ms=NEXT_MS))
    assert isinstance(load_segment_counts(plain_engine, P1, EVERYTHING), SegmentCounts)
    assert plain_engine.process_cache.bytes_kept == 1_080
