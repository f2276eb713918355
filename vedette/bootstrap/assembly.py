"""Assembles a server from its settings, and closes its parts in the right order."""

import os
from contextlib import ExitStack
from dataclasses import dataclass

from fastapi import FastAPI

from vedette import limits
from vedette.api.app import create_app
from vedette.api.search_pool import SearchPool
from vedette.api.services import Services
from vedette.bootstrap.background_jobs import (
    SERVER_JOBS,
    WRITE_PATH_JOBS,
    WritePathContext,
    bind,
)
from vedette.bootstrap.write_path import Engines, open_engines, start_write_path
from vedette.clock import Clock
from vedette.jobs.timer import Timer
from vedette.respond.binary_copies import BinaryCopies
from vedette.respond.order_cache import OrderCache
from vedette.settings import Settings
from vedette.state.accounts.scopes import Scopes
from vedette.state.accounts.tokens import Tokens
from vedette.state.db.database import Database
from vedette.state.db.group_commit import GroupCommit
from vedette.state.jobs.leases import Leases
from vedette.state.sensors.checkins import CheckinInterval
from vedette.state.sensors.sensor_keys import SensorKeys
from vedette.state.start import FirstCredentials, start
from vedette.store.engine.client import Engine

_DAY_US = 24 * 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class Assembly:
    """A server that is ready to serve requests."""

    app: FastAPI
    database: Database
    first_credentials: FirstCredentials | None
    closing: ExitStack
    """Closes everything: what accepts requests first, the engines last."""


def assemble(settings: Settings, clock: Clock, *, accept_store: bool = False) -> Assembly:
    """Opens the engines and starts the write path and the timer. `accept_store` is for
    `bootstrap/store_identity.py`.

    Raises StartError with advice for the operator; nothing stays open then.
    """
    with ExitStack() as closing:
        engines = open_engines(settings, clock, closing, accept_store=accept_store)
        credentials = start(engines.state, clock.now_us(), settings.token_lifetime_days * _DAY_US)
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
        clock_guard=path.clock_guard,
        metrics=path.metrics,
        database=database,
        tokens=Tokens(database, clock),
        scopes=Scopes(database, clock),
        engine=engines.telemetry,
        ingest_queue=path.ingest_queue,
        partitions=path.partitions,
        filters=path.filters,
        sensors=path.sensors,
        sensor_keys=SensorKeys(database),
        commits=commits,
        checkin_interval=CheckinInterval(database, settings.checkin_interval_s),
        copies=BinaryCopies(database, settings.data / "binaries", settings.copied_files_bytes_max),
        order_cache=OrderCache(database),
        searches=_searches(settings, engines.telemetry, closing),
        lookups=_lookups(settings, engines.telemetry, closing),
    )
    services.checkin_interval.refresh()
    closing.callback(services.tokens.flush)
    context = WritePathContext(path, settings, clock, engines.telemetry)
    jobs = [*bind(WRITE_PATH_JOBS, context), *bind(SERVER_JOBS, services)]
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
