"""Runs what happens by itself, each job at its own pace, one at a time.

A job that many servers share runs under a lease: only the server that holds it runs the job.
A job that fails is logged and comes again; it never ends the others.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog

log = structlog.get_logger(__name__)


class Lease(Protocol):
    """The right to run a job, held by one server at a time."""

    def hold(self, name: str, seconds: float) -> bool:
        """Takes or renews the lease; False while another server holds it."""


@dataclass(frozen=True, slots=True)
class Job:
    """Something to do every `every_s` seconds; `shared` jobs run on one server of many."""

    name: str
    every_s: float
    run: Callable[[], object]
    shared: bool = True


class Timer:
    """A thread that runs jobs when they are due."""

    def __init__(self, jobs: Sequence[Job], lease: Lease) -> None:
        self._lease = lease
        self._due = {job.name: (time.monotonic() + job.every_s, job) for job in jobs}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="timer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Lets the running job finish and starts no other."""
        self._stopping.set()
        self._thread.join()

    def _loop(self) -> None:
        while self._due:
            name, (due, job) = min(self._due.items(), key=lambda item: item[1][0])
            if self._stopping.wait(max(0.0, due - time.monotonic())):
                return
            self._due[name] = (time.monotonic() + job.every_s, job)
            self._run(job)

    def _run(self, job: Job) -> None:
        try:
            if not job.shared or self._lease.hold(job.name, 2 * job.every_s + 60):
                job.run()
        except Exception:
            log.exception("a job failed", job=job.name)
