"""The table of background jobs, and the timer that runs them."""

import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from vedette.bootstrap.background_jobs import BACKGROUND_JOBS, BackgroundJob, bind
from vedette.clock import DrivenClock
from vedette.errors import UnavailableError
from vedette.jobs.timer import JOB_REST_SHARE, Job, Timer
from vedette.state.clock.guard import ClockGuard

WAIT_S = 10.0


class Lease:
    """A lease that this server holds, or another one."""

    def __init__(self, is_held: bool) -> None:
        self.is_held = is_held
        self.asked = threading.Event()

    def keep(self, _name: str, _seconds: float) -> bool:
        self.asked.set()
        return self.is_held


@pytest.fixture
def ran() -> threading.Event:
    return threading.Event()


def running(jobs: list[Job], lease: Lease) -> Iterator[Timer]:
    timer = Timer(jobs, lease)
    timer.start()
    try:
        yield timer
    finally:
        timer.close()


def test_names_are_unique_because_they_name_leases() -> None:
    names = [job.name for job in BACKGROUND_JOBS]
    assert len(set(names)) == len(names)


def test_every_job_says_what_it_does_and_has_an_interval() -> None:
    assert all(job.what and job.every_s > 0 for job in BACKGROUND_JOBS)


@pytest.mark.parametrize(
    ("leased", "is_held", "runs"),
    [
        (False, False, True),
        (True, True, True),
        (True, False, False),
    ],
)
def test_a_leased_job_runs_only_where_the_lease_is_held(
    ran: threading.Event, leased: bool, is_held: bool, runs: bool
) -> None:
    lease = Lease(is_held)
    for _ in running([Job("some", 0.01, leased, "sets an event", ran.set)], lease):
        assert (ran if runs else lease.asked).wait(WAIT_S)
    assert ran.is_set() == runs


def test_a_job_that_was_slow_rests_before_it_runs_again(ran: threading.Event) -> None:
    runs: list[tuple[float, float]] = []

    def work() -> None:
        begun_s = time.monotonic()
        time.sleep(0.05)
        runs.append((begun_s, time.monotonic()))
        if len(runs) == 3:
            ran.set()

    for _ in running([Job("slow", 0.01, False, "takes its time", work)], Lease(True)):
        assert ran.wait(WAIT_S)
    for (begun_s, ended_s), (next_s, _) in pairwise(runs):
        assert next_s - ended_s >= JOB_REST_SHARE * (ended_s - begun_s)


def test_a_job_that_fails_runs_again_and_stops_no_other(ran: threading.Event) -> None:
    failures: list[int] = []

    def fail() -> None:
        failures.append(1)
        raise ValueError("on purpose")

    def is_second() -> None:
        if len(failures) > 1:
            ran.set()

    jobs = [
        Job("fails", 0.01, False, "fails", fail),
        Job("goes on", 0.01, False, "goes on", is_second),
    ]
    for _ in running(jobs, Lease(True)):
        assert ran.wait(WAIT_S)


def test_a_job_that_waits_for_a_database_is_told_once_and_when_it_runs_again(
    ran: threading.Event,
) -> None:
    runs: list[int] = []

    def work() -> None:
        runs.append(1)
        if len(runs) < 5:
            raise UnavailableError("the store is away")
        if len(runs) > 6:
            ran.set()

    with capture_logs() as logs:
        for _ in running([Job("follows", 0.01, False, "follows commits", work)], Lease(True)):
            assert ran.wait(WAIT_S)
    lines = [(one["event"], one["log_level"], one.get("reason", "")) for one in logs]
    assert lines == [
        ("a background job is delayed", "warning", "the store is away"),
        ("a background job recovered", "info", ""),
    ]


class Idle:
    """Jobs with changes that a test makes: `watched` rests while nothing changes, `others` runs."""

    def __init__(self, changes: Callable[[], object] = lambda: 1) -> None:
        self.changes = changes
        self.watched = 0
        self.others = 0
        self.fails = False

    def watch(self) -> None:
        self.watched += 1
        if self.fails:
            raise UnavailableError("the store is away")

    def run_rounds(self, rounds: int) -> int:
        """Runs the timer until the other job has run so often; returns the runs of `watched`."""
        begun, until = self.watched, self.others + rounds
        reached = threading.Event()

        def other() -> None:
            self.others += 1
            if self.others >= until:
                reached.set()

        jobs = [
            Job("watched", 0.01, False, "counts", self.watch, idle_s=3600),
            Job("other", 0.01, False, "counts", other),
        ]
        timer = Timer(jobs, Lease(True), changes=self.changes)
        timer.start()
        assert reached.wait(WAIT_S)
        timer.close()
        return self.watched - begun


def test_a_job_that_only_reads_rests_while_nothing_changes() -> None:
    assert Idle().run_rounds(8) == 1


def test_a_job_runs_again_after_each_change() -> None:
    numbers = iter(range(1_000))
    idle = Idle(changes=lambda: next(numbers))
    assert idle.run_rounds(8) >= 7


def test_a_job_runs_each_time_where_changes_are_unknown() -> None:
    assert Idle(changes=lambda: None).run_rounds(8) >= 7


def test_a_job_that_failed_does_not_rest() -> None:
    idle = Idle()
    idle.fails = True
    with capture_logs():
        assert idle.run_rounds(8) >= 7


def test_a_job_runs_with_the_context_that_it_is_bound_to() -> None:
    seen: list[Any] = []
    (job,) = bind([BackgroundJob("some", 1, False, "notes its context", seen.append)], "context")
    job.run()
    assert seen == ["context"]


BY_THE_CLOCK = {
    "deleted rules",
    "correlations",
    "snapshots",
    "copies",
    "update job ends",
    "alert retention",
    "streams",
    "outbox tombstones",
    "isolation ends",
    "ban ends",
    "filter ends",
    "response ends",
    "old requests",
}
"""Jobs that end or delete what its time has come for; partitions ask the clock themselves."""


@pytest.mark.parametrize("name", sorted(BY_THE_CLOCK))
@pytest.mark.parametrize("days", [40, -2])
def test_while_the_clock_is_in_doubt_nothing_is_ended_or_deleted_by_time(
    name: str, days: int
) -> None:
    clock = DrivenClock(1_700_000_000_000_000)
    context = SimpleNamespace(clock_guard=ClockGuard(clock))
    jobs = bind([job for job in BACKGROUND_JOBS if job.name == name], context)
    clock.set_wall(clock.now_us() + days * 86_400 * 1_000_000)
    for job in jobs:
        job.run()  # would fail for want of a database
    context.clock_guard.confirm()
    with pytest.raises(AttributeError):
        jobs[0].run()
