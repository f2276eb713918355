"""All background jobs with their schedule: to add one, add a line to one of the tuples.

Jobs of the write path run in a server and in an import without a server; the others only in a
server. `leased` jobs run on one server of a cluster at a time; they are those that change what the
servers share. Names are also the names of leases.
"""

import gc
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from vedette.api.services import Services
from vedette.bootstrap.write_path import WritePath
from vedette.clock import Clock
from vedette.jobs.timer import Job
from vedette.settings import Settings
from vedette.state.jobs.streams import remove_dead
from vedette.store.engine.client import Engine
from vedette.store.partitions.index_build import settle
from vedette.store.write.corrections import apply_corrections
from vedette.store.write.idle_merge import merge_when_quiet

Context = TypeVar("Context")


@dataclass(frozen=True, slots=True)
class BackgroundJob(Generic[Context]):
    """A job before it is bound to the parts of a server that it works on."""

    name: str
    every_s: float
    leased: bool
    what: str
    """What it does, for the log of a failure."""
    run: Callable[[Context], object]


@dataclass(frozen=True, slots=True)
class WritePathContext:
    """What jobs of the write path work on."""

    path: WritePath
    settings: Settings
    clock: Clock
    telemetry: Engine


WRITE_PATH_JOBS: Final[tuple[BackgroundJob[WritePathContext], ...]] = (
    BackgroundJob(
        "sensors", 5, False, "write last seen, address and type of sensors",
        lambda here: here.path.sensors.flush(here.clock.now_us()),
    ),
    BackgroundJob(
        "changes", 5, False, "reload sensors and groups that other servers changed",
        lambda here: here.path.sensors.refresh(here.clock.now_us()),
    ),
    BackgroundJob(
        "clock", 2, False, "compare the clocks, save the trusted time, apply a confirmation",
        lambda here: here.path.clock_watch.look(),
    ),
    BackgroundJob(
        "ingress filters", 2, False, "reload ingress filters that other servers changed",
        lambda here: here.path.filters.reload(),
    ),
    BackgroundJob(
        "filter rates", 5, False, "write the hit counts of ingress filters",
        lambda here: here.path.filters.flush(),
    ),
    BackgroundJob(
        "young garbage", 10, False, "collect garbage of the two young generations",
        lambda _: gc.collect(1),
    ),
    BackgroundJob(
        "garbage", 300, False, "collect all garbage; automatic collection is off",
        lambda _: gc.collect(),
    ),
    BackgroundJob(
        "partitions", 60, True, "roll and delete partitions as the settings say",
        lambda here: here.path.partitions.maintain(here.settings),
    ),
    BackgroundJob(
        "ends", 600, True, "build the suffix index of data that no longer changes",
        lambda here: settle(here.telemetry),
    ),
    BackgroundJob(
        "corrections", 3, True, "apply corrections of process metadata to stored segments",
        lambda here: apply_corrections(here.telemetry),
    ),
    BackgroundJob(
        "quiet", 5, True, "merge small parts while nothing is written",
        lambda here: merge_when_quiet(here.telemetry),
    ),
)  # fmt: skip

SERVER_JOBS: Final[tuple[BackgroundJob[Services], ...]] = (
    BackgroundJob(
        "sensor keys", 5, False, "reload keys of sensors that other servers changed",
        lambda here: here.sensor_keys.refresh(here.clock.now_us()),
    ),
    BackgroundJob(
        "copies", 3600, False, "delete copies of files whose upload was given up a week ago",
        lambda here: here.copies.forget_stale(here.clock.now_us()),
    ),
    BackgroundJob(
        "pace", 60, False, "adapt the check-in interval to the number of sensors",
        lambda here: here.pace.refresh(),
    ),
    BackgroundJob(
        "tokens", 10, False, "write when tokens were last used",
        lambda here: here.tokens.flush(),
    ),
    BackgroundJob(
        "streams", 60, True, "delete event streams that expired long ago",
        lambda here: remove_dead(
            here.database, here.settings.stream_ttl_s, here.clock.now_us()
        ),
    ),
)  # fmt: skip

BACKGROUND_JOBS: Final = (*WRITE_PATH_JOBS, *SERVER_JOBS)
"""Every job of a server."""


def bind(jobs: Iterable[BackgroundJob[Context]], context: Context) -> list[Job]:
    """The jobs with the context they run on, for a `Timer`."""
    return [_bind(job, context) for job in jobs]


def _bind(job: BackgroundJob[Context], context: Context) -> Job:
    return Job(job.name, job.every_s, job.leased, job.what, lambda: job.run(context))
