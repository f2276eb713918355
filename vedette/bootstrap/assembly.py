"""Puts a server together from its settings, and takes it apart again in the right order."""

import os
from contextlib import ExitStack
from dataclasses import dataclass

from fastapi import FastAPI

from vedette import limits
from vedette.api.app import create_app
from vedette.api.search_pool import SearchPool
from vedette.api.services import Services
from vedette.bootstrap.write_path import Engines, open_engines, start_write_path, write_path_jobs
from vedette.clock import Clock
from vedette.jobs.timer import Job, Timer
from vedette.respond.binary_copies import CopiedFiles
from vedette.respond.order_book import OrderBook
from vedette.settings import Settings
from vedette.state.accounts.scopes import Scopes
from vedette.state.accounts.tokens import Tokens
from vedette.state.db.database import Database
from vedette.state.db.group_commit import GroupCommit
from vedette.state.db.start import FirstCredentials, start
from vedette.state.jobs.leases import Leases
from vedette.state.jobs.streams import remove_dead
from vedette.state.sensors.checkins import Pace
from vedette.state.sensors.sensor_keys import SensorKeys
from vedette.store.engine.client import Engine


@dataclass(frozen=True, slots=True)
class Assembly:
    """A server that is ready to take requests."""

    app: FastAPI
    database: Database
    first_credentials: FirstCredentials | None
    closing: ExitStack
    """Closes everything: first what takes in, last the engines."""


def assemble(settings: Settings, clock: Clock) -> Assembly:
    """Opens the engines and starts the write path and the timer.

    Raises StartError with what to do about it; then nothing stays open.
    """
    with ExitStack() as closing:
        engines = open_engines(settings, closing)
        credentials = start(engines.state, clock.now_us())
        app = _connect(settings, clock, engines, closing)
        return Assembly(app, engines.state, credentials, closing.pop_all())


def _connect(settings: Settings, clock: Clock, engines: Engines, closing: ExitStack) -> FastAPI:
    """Write path, timer and application over open engines."""
    database = engines.state
    commits = GroupCommit(database)
    closing.callback(commits.close)
    path = start_write_path(settings, clock, engines, closing)
    services = Services(
        settings=settings,
        clock=clock,
        metrics=path.metrics,
        database=database,
        tokens=Tokens(database, clock),
        scopes=Scopes(database, clock),
        engine=engines.telemetry,
        intake=path.intake,
        partitions=path.partitions,
        filters=path.filters,
        sensors=path.sensors,
        sensor_keys=SensorKeys(database),
        commits=commits,
        pace=Pace(database, settings.checkin_interval_s),
        copies=CopiedFiles(database, settings.data / "binaries", settings.copied_files_bytes_max),
        order_book=OrderBook(database),
        searches=_searches(settings, engines.telemetry, closing),
        lookups=_lookups(settings, engines.telemetry, closing),
    )
    services.pace.refresh()
    closing.callback(services.tokens.flush)
    jobs = write_path_jobs(path, settings, clock, engines.telemetry) + _jobs(services)
    timer = Timer(jobs, Leases(database, clock))
    timer.start()
    closing.callback(timer.close)
    return create_app(services)


def _searches(settings: Settings, engine: Engine, closing: ExitStack) -> SearchPool:
    pool = SearchPool(
        engine,
        running_max=max(limits.SEARCHES_RUNNING_MIN, (os.cpu_count() or 1) // 2 + 1),
        readers_max=limits.SEARCH_READERS,
        a_user_max=settings.user_searches_max,
    )
    closing.callback(pool.close)
    return pool


def _lookups(settings: Settings, engine: Engine, closing: ExitStack) -> SearchPool:
    pool = SearchPool(
        engine,
        running_max=limits.LOOKUPS_RUNNING_MAX,
        readers_max=limits.LOOKUP_READERS,
        a_user_max=max(settings.user_searches_max, limits.USER_SEARCHES_MAX),
    )
    closing.callback(pool.close)
    return pool


def _jobs(here: Services) -> list[Job]:
    """What happens by itself beside the write path. Jobs that are shared run on one server of a
    cluster at a time."""
    now_us, ttl_s = here.clock.now_us, here.settings.stream_ttl_s
    return [
        Job("sensor keys", 5, lambda: here.sensor_keys.refresh(now_us()), shared=False),
        Job("copies", 3600, lambda: here.copies.forget_stale(now_us()), shared=False),
        Job("pace", 60, here.pace.refresh, shared=False),
        Job("tokens", 10, here.tokens.flush, shared=False),
        Job("streams", 60, lambda: remove_dead(here.database, ttl_s, now_us())),
    ]
