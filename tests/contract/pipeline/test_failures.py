"""Every affected sender is asked to send again after a failure, which has no cost once it is
over."""

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from tests.contract.pipeline.requests import plain, rows, security, service, sysmon
from tests.contract.pipeline.write_path import (
    Json,
    Limits,
    WritePath,
    event_texts,
    processes,
    submission,
    write_path,
)
from vedette.clock import DrivenClock
from vedette.errors import BusyError, UnavailableError
from vedette.pipeline.batch.pack import PackedCommit
from vedette.pipeline.store_writer import StoreWriter
from vedette.pipeline.submission import Outcome
from vedette.store.engine.client import ClickHouseEngine, Engine

RECOVERY_S = 60.0

REQUESTS: list[list[Json]] = [
    [*sysmon(), service(), security(4625, 78)],
    [*plain(), security(4625, 0), security(4697, 0, ServiceName="other", ServiceFileName="x")],
]
STORED_ONCE = (10, 4)
"""Events and records of the requests."""


class Refusing:
    """An engine whose disk gives out at one insert into `table`: before it, or just after it was
    stored, when only the answer is lost."""

    def __init__(self, engine: Engine, table: str, after: bool) -> None:
        self._engine = engine
        self.table = table
        self._after = after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def insert_arrow(self, table: str, data: Any, until_us: int | None = None) -> None:
        refuses = table == self.table
        if not refuses or self._after:
            self._engine.insert_arrow(table, data, until_us)
        if refuses:
            self.table = ""
            raise UnavailableError("the disk is full")

    def insert_tables(self, tables: list[tuple[str, Any]], until_us: int | None = None) -> None:
        for table, data in tables:
            self.insert_arrow(table, data, until_us)


class Gate(StoreWriter):
    """A ledger whose disk is slow: it waits until it is opened."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.reached = threading.Semaphore(0)
        self.is_open = threading.Event()

    def write(self, packed: PackedCommit) -> None:
        self.reached.release()
        assert self.is_open.wait(60)
        super().write(packed)


def wait_until(holds: Callable[[], bool], seen: Callable[[], object] = str) -> None:
    """`seen` tells what there was instead."""
    deadline = time.monotonic() + RECOVERY_S
    while not holds():
        assert time.monotonic() < deadline, seen()
        time.sleep(0.02)


def deliver(path: WritePath, records: list[Json]) -> int:
    """Sends until it is taken, as senders do; returns how often it was refused."""
    for refused in range(100):
        wait_until(lambda: path.ingest_queue.available)
        try:
            assert Outcome.REJECTED not in path.outcomes(records)
        except UnavailableError:
            continue
        return refused
    raise AssertionError("never taken")


def all_events(engine: Engine) -> list[str]:
    return [text for name in processes(engine) for text in event_texts(engine, name)]


@pytest.mark.parametrize("after", [False, True], ids=["lost", "stored"])
@pytest.mark.parametrize("table", ["record", "process", "segment", "nothing"])
def test_a_commit_that_fails_in_the_middle_is_stored_once_when_sent_again(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock, table: str, after: bool
) -> None:
    refusing = StoreWriter(cast(Engine, Refusing(engine, table, after)))
    with write_path(engine, tmp_path, clock, ledger=refusing) as path:
        refused = [deliver(path, records) for records in REQUESTS]
        assert refused == [0 if table == "nothing" else 1, 0]
    assert rows(engine) == STORED_ONCE
    events = all_events(engine)
    assert len(set(events)) == len(events)


@pytest.mark.parametrize("request_number", [0, 1], ids=["numbered", "unnumbered"])
@pytest.mark.parametrize("after", [False, True], ids=["lost", "stored"])
@pytest.mark.parametrize("table", ["record", "segment"])
def test_what_a_crash_left_half_written_is_completed_after_the_restart(
    engine: ClickHouseEngine,
    tmp_path: Path,
    clock: DrivenClock,
    table: str,
    after: bool,
    request_number: int,
) -> None:
    refusing = StoreWriter(cast(Engine, Refusing(engine, table, after)))
    with (
        write_path(engine, tmp_path, clock, ledger=refusing) as path,
        pytest.raises(UnavailableError),
    ):
        path.post(REQUESTS[request_number])
    with write_path(engine, tmp_path, clock) as path:
        for records in REQUESTS:
            deliver(path, records)
    assert rows(engine) == STORED_ONCE


def test_commits_prepared_on_top_of_a_failed_one_fail_with_it(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    ledger = Gate(cast(Engine, Refusing(engine, "segment", after=False)))
    with write_path(engine, tmp_path, clock, ledger=ledger) as path:
        answers = [path.send(sysmon(4))]
        assert ledger.reached.acquire(timeout=60)
        for count in (5, 6, 7):
            answers.append(path.send(sysmon(count)))
            time.sleep(0.05)
        ledger.is_open.set()
        for answer in answers:
            with pytest.raises(UnavailableError):
                answer.result(60)
        assert rows(engine) == (0, 0)
        assert deliver(path, sysmon(7)) == 0
    assert rows(engine) == (7, 0)


def test_the_path_recovers_though_nobody_can_send(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    ledger = StoreWriter(cast(Engine, Refusing(engine, "segment", after=False)))
    with write_path(engine, tmp_path, clock, ledger=ledger) as path:
        with pytest.raises(UnavailableError):
            path.post(sysmon())
        assert not path.ingest_queue.available
        with pytest.raises(UnavailableError):
            path.send(sysmon())
        wait_until(lambda: path.ingest_queue.available)


def test_a_full_queue_refuses_and_takes_again_when_there_is_room(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    ledger = Gate(engine)
    limits = Limits(queue_bytes_max=submission(sysmon(8)).byte_count)
    with write_path(engine, tmp_path, clock, limits, ledger) as path:
        waiting = path.send(sysmon(7))
        with pytest.raises(BusyError):
            path.send(sysmon(2))
        ledger.is_open.set()
        waiting.result(60)
        assert path.outcomes(sysmon(8)) == [Outcome.DUPLICATE] * 7 + [Outcome.EVENTS]
    assert path.metrics.get_sample_value("vedette_ingest_queue_bytes") == 0


def test_one_request_larger_than_the_queue_is_taken_when_it_comes_alone(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    with write_path(engine, tmp_path, clock, Limits(queue_bytes_max=10)) as path:
        assert path.outcomes(sysmon(1)) == [Outcome.EVENTS]


def test_closing_finishes_and_acknowledges_what_was_taken(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    ledger = Gate(engine)
    with write_path(engine, tmp_path, clock, ledger=ledger) as path:
        answers = []
        for number in range(6):
            answers.append(path.send(plain(1, number)))
            time.sleep(0.02)
        closing = threading.Thread(target=path.ingest_queue.close)
        closing.start()
        wait_until(lambda: not path.ingest_queue.available)
        for send in (lambda: path.send(plain(9)), path.partitions.roll):
            with pytest.raises(UnavailableError):
                send()
        ledger.is_open.set()
        closing.join(60)
        assert [[*answer.result(0).outcomes] for answer in answers] == [[Outcome.EVENTS]] * 6


def test_a_sender_that_goes_away_stops_nobody(path: WritePath) -> None:
    async def come_and_go() -> bytearray:
        gone = [
            asyncio.create_task(path.ingest_queue.submit(submission(plain(1, n)))) for n in range(9)
        ]
        await asyncio.sleep(0)
        for task in gone:
            task.cancel()
        await asyncio.gather(*gone, return_exceptions=True)
        return (await path.ingest_queue.submit(submission(plain(1, 9)))).outcomes

    assert list(asyncio.run(asyncio.wait_for(come_and_go(), 30))) == [Outcome.EVENTS]
    wait_until(lambda: rows(path.engine)[0] == 10)
