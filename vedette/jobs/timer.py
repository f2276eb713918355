"""Scheduler of background jobs: threads that run each job at its own interval, one job at a time
per thread.

A leased job runs on one server of a cluster: the one that holds the job's lease. A job that raises
is logged and runs again at its next time. If a database is unavailable, only the reason is logged,
once a minute, and a line when the job runs again. A slow job delays the others of its thread. It
never runs twice at once, and rests after a slow run, so that the next run processes all data that
arrived meanwhile at once: most of the cost of followers of commits is per round, not per finding.

On an idle server most jobs would read the same rows every second. A job with `idle_s` is skipped
while neither the state database nor telemetry has changed since its last run. Intervals of whole
seconds end on a common grid, so that a thread wakes once for several jobs.
"""

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from vedette.errors import UnavailableError
from vedette.limits import Limit
from vedette.state.db.author import Author, acting_as

JOB_LEASE_MARGIN_S: Limit[int] = 60
"""Seconds by which a lease exceeds two intervals of its job, so that the holder keeps it."""

JOB_GRID_S: Limit[float] = 1.0
"""Grid of the times at which background jobs run. On an idle server, threads that wake separately
for each job take more time than the jobs themselves."""

JOB_REST_SHARE: Limit[int] = 2
"""Rest of a background job after a run, in durations of the run: under load it takes at most a
third of a core, and of the data it reads and writes."""

JOB_REST_MAX_S: Limit[float] = 3.0
"""Maximum seconds that a background job rests, whatever its run took: alerts wait for such jobs."""

JOB_WAITING_LOGGED_S: Limit[int] = 60
"""Interval of the log message that a background job cannot run because a database is
unavailable."""


log = structlog.get_logger(__name__)


TIMER: Final = "timer"
"""Name of the thread for jobs that take no time."""


Changes = Callable[[], object]
"""Returns a value that differs after every change visible to jobs; None if that is unknown."""


class Lease(Protocol):
    """The right to run a job, held by one server at a time."""

    def keep(self, name: str, seconds: float) -> bool:
        """Acquires or renews the lease; returns False while another server holds it."""


@dataclass(frozen=True, slots=True)
class Job:
    """A function to call every `every_s` seconds, first after that time. `leased` jobs need a lease
    named like the job."""

    name: str
    every_s: float
    leased: bool
    what: str
    run: Callable[[], object]
    thread: str = TIMER
    """Name of the thread that runs the job."""
    idle_s: float = 0.0
    """Maximum time between two runs while nothing changes; 0: always every `every_s`."""


def _unknown() -> None:
    return None


def timers(jobs: Iterable[Job], lease: Lease, changes: Changes = _unknown) -> list["Timer"]:
    """Returns a timer for each thread that the jobs name, not started yet."""
    by_thread: dict[str, list[Job]] = {}
    for job in jobs:
        by_thread.setdefault(job.thread, []).append(job)
    return [Timer(some, lease, name, changes) for name, some in by_thread.items()]


class Timer:
    """A thread that runs jobs when they are due."""

    def __init__(
        self,
        jobs: Sequence[Job],
        lease: Lease,
        name: str = TIMER,
        changes: Changes = _unknown,
    ) -> None:
        self._lease = lease
        self._changes = changes
        self._last: dict[str, tuple[object, float]] = {}
        """Maps job with `idle_s` to (changes before its last successful run, time of that run)."""
        now_s = time.monotonic()
        self._due = {job.name: (_on_grid(now_s + job.every_s, job), job) for job in jobs}
        self._waiting: dict[str, float] = {}
        """Maps job to the time of its last log message that it cannot run."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Returns when the running job has finished. No other job is started."""
        self._stopping.set()
        self._thread.join()

    def _loop(self) -> None:
        while self._due:
            name, (due_s, job) = min(self._due.items(), key=lambda item: item[1][0])
            left_s = due_s - time.monotonic()
            if self._stopping.wait(left_s) if left_s > 0 else self._stopping.is_set():
                return
            begun_s = time.monotonic()
            if self._is_needed(job, begun_s):
                self._run(job)
            ended_s = time.monotonic()
            rest_s = min(JOB_REST_SHARE * (ended_s - begun_s), JOB_REST_MAX_S)
            # Measured from the begin, an interval would end after the grid and become a second
            # longer.
            next_s = max(due_s + job.every_s, begun_s + job.every_s / 2)
            self._due[name] = (max(_on_grid(next_s, job), ended_s + rest_s), job)

    def _is_needed(self, job: Job, now_s: float) -> bool:
        if not job.idle_s:
            return True
        changes = self._changes()  # read before the run: a change during it causes another run
        last = self._last.get(job.name)
        if last is not None and changes is not None:
            seen, run_s = last
            if seen == changes and now_s - run_s < job.idle_s:
                return False
        self._last[job.name] = (changes, now_s)
        return True

    def _run(self, job: Job) -> None:
        has_run = False
        try:
            if job.leased and not self._lease.keep(job.name, 2 * job.every_s + JOB_LEASE_MARGIN_S):
                return
            with acting_as(Author("job", job.name)):
                job.run()
            has_run = True
        except UnavailableError as error:
            self._waits(job, str(error))
        except Exception:
            log.exception("a background job failed", job=job.name, what=job.what)
        else:
            if self._waiting.pop(job.name, None) is not None:
                log.info("a background job recovered", job=job.name)
        finally:
            if not has_run:
                self._last.pop(job.name, None)

    def _waits(self, job: Job, reason: str) -> None:
        now_s = time.monotonic()
        if now_s - self._waiting.get(job.name, -JOB_WAITING_LOGGED_S) >= JOB_WAITING_LOGGED_S:
            self._waiting[job.name] = now_s
            log.warning("a background job is delayed", job=job.name, what=job.what, reason=reason)


def _on_grid(due_s: float, job: Job) -> float:
    """Returns the next common wake time; `due_s` itself for intervals below the grid."""
    return math.ceil(due_s / JOB_GRID_S) * JOB_GRID_S if job.every_s >= JOB_GRID_S else due_s
