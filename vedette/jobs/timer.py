"""Scheduler of background jobs: threads that run each job at its own interval, one at a time in a
thread.

A leased job runs on one server of a cluster: the one that holds the job's lease. A job that raises
is logged and runs again at its next time; where a database is away, with its reason alone, once a
minute, and with a line when it runs again. A slow job delays the others of its thread; it is never
run twice at once, and rests after it was slow, so that what comes in meanwhile is done in one go:
most of what followers of commits cost is a round, not what they find in it.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from vedette.errors import UnavailableError
from vedette.limits import JOB_LEASE_MARGIN_S, JOB_REST_MAX_S, JOB_REST_SHARE, JOB_WAITING_LOGGED_S
from vedette.state.db.author import Author, acting_as

log = structlog.get_logger(__name__)


TIMER: Final = "timer"
"""The thread of jobs that take no time."""


class Lease(Protocol):
    """The right to run a job, held by one server at a time."""

    def keep(self, name: str, seconds: float) -> bool:
        """Acquires the lease, or renews it in time; False while another server holds it."""


@dataclass(frozen=True, slots=True)
class Job:
    """A function to call every `every_s` seconds, first after that time. `leased` jobs need a lease
    named as the job."""

    name: str
    every_s: float
    leased: bool
    what: str
    run: Callable[[], object]
    thread: str = TIMER
    """Name of the thread that it runs in."""


def timers(jobs: Iterable[Job], lease: Lease) -> list["Timer"]:
    """A timer for each thread that the jobs name, not started yet."""
    by_thread: dict[str, list[Job]] = {}
    for job in jobs:
        by_thread.setdefault(job.thread, []).append(job)
    return [Timer(some, lease, name) for name, some in by_thread.items()]


class Timer:
    """A thread that runs jobs when they are due."""

    def __init__(self, jobs: Sequence[Job], lease: Lease, name: str = TIMER) -> None:
        self._lease = lease
        self._due = {job.name: (time.monotonic() + job.every_s, job) for job in jobs}
        self._waiting: dict[str, float] = {}
        """When the log has last had of a job why it cannot run."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Returns when the job that is running has finished. No other job is started."""
        self._stopping.set()
        self._thread.join()

    def _loop(self) -> None:
        while self._due:
            name, (due_s, job) = min(self._due.items(), key=lambda item: item[1][0])
            if self._stopping.wait(max(0.0, due_s - time.monotonic())):
                return
            begun_s = time.monotonic()
            self._run(job)
            ended_s = time.monotonic()
            rest_s = min(JOB_REST_SHARE * (ended_s - begun_s), JOB_REST_MAX_S)
            self._due[name] = (max(begun_s + job.every_s, ended_s + rest_s), job)

    def _run(self, job: Job) -> None:
        try:
            if job.leased and not self._lease.keep(job.name, 2 * job.every_s + JOB_LEASE_MARGIN_S):
                return
            with acting_as(Author("job", job.name)):
                job.run()
        except UnavailableError as error:
            self._waits(job, str(error))
        except Exception:
            log.exception("a background job failed", job=job.name, what=job.what)
        else:
            if self._waiting.pop(job.name, None) is not None:
                log.info("a background job runs again", job=job.name)

    def _waits(self, job: Job, reason: str) -> None:
        now_s = time.monotonic()
        if now_s - self._waiting.get(job.name, -JOB_WAITING_LOGGED_S) >= JOB_WAITING_LOGGED_S:
            self._waiting[job.name] = now_s
            log.warning("a background job waits", job=job.name, what=job.what, reason=reason)
