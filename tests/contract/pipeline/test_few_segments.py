"""Segments stay few: a process in a window of five minutes is one, whatever the posts are."""

from pathlib import Path
from typing import Any

import pytest

from tests.contract.pipeline.write_path import (
    NOON_S,
    WritePath,
    event_texts,
    found,
    merge,
    processes,
    segment_ids,
    submission,
    write_path,
)
from tests.support.forms import in_form
from tests.support.sysmon import Host, Process
from vedette.clock import DrivenClock
from vedette.limits import SEGMENT_WINDOW_MS
from vedette.pipeline.batch.decoded_batch import decode_submission
from vedette.pipeline.batch.pack import commit_of
from vedette.pipeline.batch.segment_assigner import SEGMENT_EVENTS_MAX
from vedette.pipeline.workers.processor import LocalProcessor
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.write.commit import Commit
from vedette.store.write.insert import write_commit

HOURS = in_form(3, 24)
POSTED_S = HOURS * 3600
WINDOW_S = SEGMENT_WINDOW_MS // 1_000
NOON_MS = NOON_S * 1_000


@pytest.fixture
def engine(plain_engine: ClickHouseEngine) -> ClickHouseEngine:
    """Which segment a row belongs to is decided before the store; hours of commits."""
    return plain_engine


def agent() -> tuple[Host, Process]:
    host = Host("busy.example", NOON_S - 100)
    return host, host.process(700, "C:\\agent.exe", "agent.exe --report")


def writes(host: Host, process: Process, second: int, count: int = 2) -> list[dict[str, Any]]:
    """Returns the file writes of the process in one second."""
    return [
        host.of(process, 11, 100 + second, TargetFilename=f"C:\\data\\{second}-{n}.txt")
        for n in range(count)
    ]


def hours_of_posts(path: WritePath) -> None:
    host, process = agent()
    assert isinstance(path.processor, LocalProcessor)
    processor = path.processor.batch_processor
    parts: list[Any] = []
    entered: list[Any] = []
    for second in range(POSTED_S):
        request = submission(writes(host, process, second))
        prepared = processor.prepare([decode_submission(request)], second + 1, path.clock.now_us())
        processor.seen.durable(prepared.seq)
        commit = commit_of(prepared)
        parts += commit.segments
        entered += commit.processes
        path.clock.advance(1)
        if second % WINDOW_S == WINDOW_S - 1:
            write_commit(path.engine, Commit(segments=parts, processes=entered))
            parts, entered = [], []


def test_hours_of_posts_every_second_end_in_one_segment_a_window(path: WritePath) -> None:
    """10,800 posts, a day of them in the long form, each a commit of its own with its own partial
    row. An insert for each would take half an hour, so only the inserts are gathered, one for five
    minutes of commits: the rows that the store gets, and has to merge, are the same."""
    hours_of_posts(path)
    (process_id,) = processes(path.engine)
    queries = {
        "filemod:17-1.txt AND filemod:299-0.txt": 1,
        "filemod:17-1.txt AND filemod:300-0.txt": 0,
        "filemod:7200-0.txt -filemod:7201-0.txt": 0,
        "filemod_count:600 process_name:agent.exe": POSTED_S // WINDOW_S,
    }
    assert {query: len(found(path.engine, query)) for query in queries} == queries
    merge(path.engine)
    assert {query: len(found(path.engine, query)) for query in queries} == queries
    assert segment_ids(path.engine, process_id) == [
        NOON_MS + n * SEGMENT_WINDOW_MS for n in range(POSTED_S // WINDOW_S)
    ]
    events = event_texts(path.engine, process_id)
    assert len(events) == len(set(events)) == 2 * POSTED_S


def test_a_window_never_goes_back_when_the_clock_does(path: WritePath) -> None:
    host, process = agent()
    path.post(writes(host, process, 0))
    path.clock.advance(-2 * 3600)
    path.post(writes(host, process, 1))
    path.clock.advance(2 * 3600 + 10)
    path.post(writes(host, process, 2))
    (process_id,) = processes(path.engine)
    assert segment_ids(path.engine, process_id) == [NOON_MS]
    assert len(event_texts(path.engine, process_id)) == 6


def test_a_window_never_goes_back_across_a_restart(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    host, process = agent()
    with write_path(engine, tmp_path, clock) as path:
        path.post(writes(host, process, 0))
    clock.advance(-2 * 3600)
    with write_path(engine, tmp_path, clock) as path:
        path.post(writes(host, process, 1))
    (process_id,) = processes(engine)
    assert segment_ids(engine, process_id) == [NOON_MS]


def test_many_events_of_one_window_fill_one_segment_after_the_other(path: WritePath) -> None:
    host, process = agent()
    for second in range(5):
        path.clock.advance(1)
        path.post(writes(host, process, second, 5_000))
    (process_id,) = processes(path.engine)
    assert SEGMENT_EVENTS_MAX == 10_000
    assert segment_ids(path.engine, process_id) == [NOON_MS, NOON_MS + 1, NOON_MS + 2]
    assert len(set(event_texts(path.engine, process_id))) == 25_000
    assert len(found(path.engine, "process_name:agent.exe")) == 3
    sizes = [len(found(path.engine, f"filemod_count:{size}")) for size in (10_000, 5_000)]
    assert sizes == [2, 1]


def test_one_request_may_fill_several_segments(path: WritePath) -> None:
    host, process = agent()
    path.post(writes(host, process, 0, 25_000))
    (process_id,) = processes(path.engine)
    assert segment_ids(path.engine, process_id) == [NOON_MS, NOON_MS + 1, NOON_MS + 2]
    assert len(set(event_texts(path.engine, process_id))) == 25_000


def test_a_segment_goes_on_where_it_was_after_a_restart(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    host, process = agent()
    for second in range(3):
        with write_path(engine, tmp_path, clock) as path:
            path.post(writes(host, process, second, 6_000))
        clock.advance(60)
    (process_id,) = processes(engine)
    assert segment_ids(engine, process_id) == [NOON_MS, NOON_MS + 1]
    assert len(set(event_texts(engine, process_id))) == 18_000


def test_rolling_begins_a_window_that_a_restart_goes_on_with(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    host, process = agent()
    with write_path(engine, tmp_path, clock) as path:
        path.post(writes(host, process, 0))
        clock.advance(60)
        closed = path.partitions.roll()
    clock.advance(60)
    with write_path(engine, tmp_path, clock) as path:
        path.post(writes(host, process, 1))
        (process_id,) = processes(engine)
        assert segment_ids(engine, process_id) == [NOON_MS, NOON_MS + 60_000]
        path.partitions.unmount(closed)
        assert segment_ids(engine, process_id) == [NOON_MS + 60_000]
        path.partitions.mount(closed)
        assert len(event_texts(engine, process_id)) == 4
