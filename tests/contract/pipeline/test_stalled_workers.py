"""Workers that stop or spin are replaced; a record that stalls them is rejected, and only that."""

import json
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.contract.pipeline.late_worker import LATE_S
from tests.contract.pipeline.requests import plain, rows, sysmon
from tests.contract.pipeline.spinning_worker import HANG, SPIN
from tests.contract.pipeline.test_failures import RECOVERY_S, deliver, wait_until
from tests.contract.pipeline.write_path import (
    ANSWER_S,
    Json,
    WritePath,
    submission,
    worker_processor,
    write_path,
)
from tests.support.children import children, is_running
from tests.support.forms import IS_THOROUGH
from vedette.clock import DrivenClock
from vedette.errors import UnavailableError
from vedette.limits import WORKER_STALL_S
from vedette.pipeline.submission import Outcome, Receipt
from vedette.pipeline.workers.stuck_records import STUCK_RECORD_STALLS
from vedette.store.engine.client import ClickHouseEngine

PROGRAM = "tests.contract.pipeline.spinning_worker"
STALL_S = 3.0
EVENTS, REJECTED = Outcome.EVENTS, Outcome.REJECTED


@pytest.fixture
def engine(plain_engine: ClickHouseEngine) -> ClickHouseEngine:
    """Workers know nothing of the kind of store."""
    return plain_engine


one_or_two = pytest.mark.parametrize(
    "spinning", [1, 2], ids=["one worker", "two workers"], indirect=True
)
one = one_or_two if IS_THOROUGH else pytest.mark.parametrize("spinning", [1], indirect=True)
two = one_or_two if IS_THOROUGH else pytest.mark.parametrize("spinning", [2], indirect=True)
"""Number of workers. These tests spend their time waiting for a stalled worker."""


@pytest.fixture
def spinning(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock, request: pytest.FixtureRequest
) -> Iterator[WritePath]:
    """A write path whose workers can be made to spin, and are replaced after STALL_S."""
    assert STALL_S < WORKER_STALL_S
    prepared = partial(worker_processor, processes=request.param, program=PROGRAM, stall_s=STALL_S)
    with write_path(engine, tmp_path, clock, prepared=prepared) as opened:
        wait_until(lambda: len(children(PROGRAM)) == request.param)
        yield opened


def spin() -> bytes:
    return json.dumps({"message": SPIN.decode()}).encode()


def hang() -> bytes:
    """Returns a record that stalls a worker like that of `spin`, but without CPU load."""
    return json.dumps({"message": HANG.decode()}).encode()


def send_until_taken(path: WritePath, records: list[Json | bytes]) -> tuple[int, Receipt]:
    """Returns (number of rejections of the request, its receipt)."""
    one = submission(records)
    for refused in range(10):
        wait_until(lambda: path.ingest_queue.available)
        try:
            return refused, path.ingest_queue.enqueue(one).result(ANSWER_S)
        except UnavailableError:
            continue
    raise AssertionError("never taken")


@two
def test_a_stopped_worker_is_replaced_and_nothing_is_lost(spinning: WritePath) -> None:
    assert deliver(spinning, [*sysmon(), *plain()]) == 0
    stopped = children(PROGRAM)
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    assert deliver(spinning, [*sysmon(6), *plain(6)]) == 1
    assert set(children(PROGRAM)).isdisjoint(stopped)
    assert not any(map(is_running, stopped))
    assert rows(spinning.engine) == (6 + 4 + 6, 0)


def test_workers_that_start_late_are_not_replaced(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    assert STALL_S < LATE_S
    late = "tests.contract.pipeline.late_worker"
    prepared = partial(worker_processor, program=late, stall_s=STALL_S)
    with write_path(engine, tmp_path, clock, prepared=prepared) as path:
        started = children(late)
        assert deliver(path, sysmon()) == 0
        assert set(started) <= set(children(late))


@one
def test_a_stopped_worker_is_replaced_on_an_idle_server(spinning: WritePath) -> None:
    pid = children(PROGRAM)[-1]
    os.kill(pid, signal.SIGSTOP)
    # An idle worker is pinged before it counts as stalled.
    wait_until(lambda: not is_running(pid))
    wait_until(lambda: spinning.ingest_queue.available)
    assert deliver(spinning, sysmon()) == 0


def test_a_dead_worker_is_replaced_at_once_on_an_idle_server(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    """Not after the time of one that stalls, which is far beyond what the test waits."""
    prepared = partial(worker_processor, processes=2, program=PROGRAM, stall_s=10 * RECOVERY_S)
    with write_path(engine, tmp_path, clock, prepared=prepared) as path:
        wait_until(lambda: len(children(PROGRAM)) == 2)
        before = {*children(PROGRAM)}
        os.kill(max(before), signal.SIGKILL)
        wait_until(lambda: len(after := children(PROGRAM)) == 2 and not before & {*after})
        wait_until(lambda: path.ingest_queue.available)
        assert deliver(path, sysmon()) == 0, "no sender notices"


@one_or_two
def test_a_record_that_stalls_workers_is_rejected_with_its_position(spinning: WritePath) -> None:
    good = [*sysmon(), *plain()]
    refused, receipt = send_until_taken(spinning, [*good[:3], spin(), *good[3:]])
    assert refused == STUCK_RECORD_STALLS
    assert list(receipt.outcomes) == [EVENTS] * 3 + [REJECTED] + [EVENTS] * 5
    assert [(one.position, one.reason) for one in receipt.refusals] == [(3, "stuck")]
    assert receipt.tally["", 0, REJECTED] == 1
    assert rows(spinning.engine) == (8, 0)


@two
def test_a_record_is_rejected_at_once_when_it_comes_again_or_alone(spinning: WritePath) -> None:
    send_until_taken(spinning, [hang()])
    for records in ([hang()], [hang(), *sysmon(), hang()]):
        refused, receipt = send_until_taken(spinning, records)
        assert refused == 0
        assert [one.position for one in receipt.refusals] in ([0], [0, 5])


@one
def test_what_shares_a_commit_with_a_stuck_record_is_stored(spinning: WritePath) -> None:
    stuck = spinning.send([hang()])
    assert deliver(spinning, sysmon()) in (0, 1, 2)
    with pytest.raises(UnavailableError):
        stuck.result(ANSWER_S)
    assert rows(spinning.engine) == (4, 0)
