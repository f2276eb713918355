"""Puts a server together from its settings, and takes it apart again in the right order."""

import gc
from contextlib import ExitStack
from dataclasses import dataclass

from fastapi import FastAPI
from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

from vedette.api.app import create_app
from vedette.api.services import Services
from vedette.build.kept_records import keep_of
from vedette.build.preparing import Launcher, preparing_processes
from vedette.clock import Clock
from vedette.errors import StartError
from vedette.jobs.timer import Job, Timer
from vedette.pipeline.filter_watch import FilterWatch
from vedette.pipeline.guide import StoreGuide
from vedette.pipeline.intake import Intake
from vedette.pipeline.knowledge import Knowledge
from vedette.pipeline.ledger import StoreLedger
from vedette.pipeline.meter import IntakeMeter
from vedette.pipeline.partition_control import PartitionControl
from vedette.pipeline.preparation_processes import PreparationProcesses
from vedette.respond.copied_files import CopiedFiles
from vedette.respond.order_book import OrderBook
from vedette.settings import Settings
from vedette.state.access import Scopes
from vedette.state.channels import Channels
from vedette.state.checkins import Pace
from vedette.state.engine import Database, open_database
from vedette.state.group_commit import GroupCommit
from vedette.state.leases import Leases
from vedette.state.sensor_keys import SensorKeys
from vedette.state.sensors import Sensors
from vedette.state.start import FirstCredentials, start
from vedette.state.streams import remove_dead
from vedette.state.tokens import Tokens
from vedette.store.capabilities import replicated
from vedette.store.engine import Engine
from vedette.store.open import connect_engine, open_engine
from vedette.store.partitions import recover, unmounted
from vedette.store.quiet import merge_when_quiet
from vedette.store.rights import check_rights
from vedette.store.schema import create_tables
from vedette.store.settled import settle

PROCESSES_REMEMBERED = 100_000
"""Processes whose metadata the write path holds in memory, about 2 kB each."""


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
    try:
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StartError(f"the data directory cannot be made: {error}") from None
    with ExitStack() as closing:
        engine = _engine(settings)
        closing.callback(engine.close)
        database = open_database(settings.state_dsn, settings.data)
        closing.callback(database.close)
        credentials = start(database, clock.now_us())
        app = _connect(settings, clock, engine, database, closing)
        return Assembly(app, database, credentials, closing.pop_all())


def _engine(settings: Settings) -> Engine:
    if settings.clickhouse_dsn:
        engine = connect_engine(settings.clickhouse_dsn, replicated("vedette", quorum=2))
        check_rights(engine)
    else:
        engine = open_engine(settings.data / "telemetry")
    create_tables(engine)
    recover(engine)
    return engine


def _connect(
    settings: Settings, clock: Clock, engine: Engine, database: Database, closing: ExitStack
) -> FastAPI:
    """Write path, timer and application over open engines."""
    metrics = _metrics()
    sensors, commits = Sensors(database), GroupCommit(database)
    closing.callback(commits.close)
    preparation = _preparation(settings, clock, engine, database, sensors, closing)
    intake = _intake(settings, clock, engine, preparation, metrics)
    services = Services(
        settings=settings,
        clock=clock,
        metrics=metrics,
        database=database,
        tokens=Tokens(database, clock),
        scopes=Scopes(database, clock),
        engine=engine,
        intake=intake,
        partitions=PartitionControl(engine, intake, preparation, clock),
        filters=FilterWatch(database, preparation, clock),
        sensors=sensors,
        sensor_keys=SensorKeys(database),
        commits=commits,
        pace=Pace(database, settings.checkin_interval_s),
        copies=CopiedFiles(database, settings.data / "binaries", settings.copied_files_bytes_max),
        order_book=OrderBook(database),
    )
    services.pace.refresh()
    services.filters.look()
    closing.callback(services.tokens.flush)
    closing.callback(services.filters.flush)
    closing.callback(lambda: sensors.flush(clock.now_us()))
    intake.start()
    closing.callback(intake.close)
    timer = Timer(_jobs(services), Leases(database, clock))
    timer.start()
    closing.callback(timer.close)
    return create_app(services)


def _metrics() -> CollectorRegistry:
    metrics = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=metrics)
    return metrics


def _preparation(
    settings: Settings,
    clock: Clock,
    engine: Engine,
    database: Database,
    sensors: Sensors,
    closing: ExitStack,
) -> PreparationProcesses:
    """What prepares commits, with what the store holds; it is asked nothing yet."""
    guide = StoreGuide(engine, clock)
    launcher = Launcher(settings.log_level, settings.log_format)
    preparation = PreparationProcesses(
        launcher.launch,
        Knowledge(sensors, Channels(database), guide),
        guide.windows(),
        clock,
        keep_of(settings.keep),
        PROCESSES_REMEMBERED,
        settings.preparing_processes or preparing_processes(),
    )
    closing.callback(launcher.close)
    closing.callback(preparation.close)
    preparation.begin(unmounted(engine), is_empty=guide.is_ours_and_empty())
    return preparation


def _intake(
    settings: Settings,
    clock: Clock,
    engine: Engine,
    preparation: PreparationProcesses,
    metrics: CollectorRegistry,
) -> Intake:
    """The write path, which is not started yet."""
    meter, ledger = IntakeMeter(metrics), StoreLedger(engine)
    next_seq = StoreGuide(engine, clock).newest_seq() + 1
    return Intake(preparation, ledger, clock, settings, meter, next_seq)


def _jobs(here: Services) -> tuple[Job, ...]:
    """What happens by itself. Jobs that are shared run on one server of a cluster at a time."""
    now_us, ttl_s = here.clock.now_us, here.settings.stream_ttl_s
    return (
        Job("sensors", 5, lambda: here.sensors.flush(now_us()), shared=False),
        Job("changes", 5, lambda: here.sensors.refresh(now_us()), shared=False),
        Job("ingress filters", 2, here.filters.look, shared=False),
        Job("filter rates", 5, here.filters.flush, shared=False),
        Job("sensor keys", 5, lambda: here.sensor_keys.refresh(now_us()), shared=False),
        Job("copies", 3600, lambda: here.copies.forget_stale(now_us()), shared=False),
        Job("pace", 60, here.pace.refresh, shared=False),
        Job("tokens", 10, here.tokens.flush, shared=False),
        Job("young garbage", 10, lambda: gc.collect(1), shared=False),
        Job("garbage", 300, gc.collect, shared=False),
        Job("partitions", 60, lambda: here.partitions.maintain(here.settings)),
        Job("ends", 600, lambda: settle(here.engine)),
        Job("quiet", 5, lambda: merge_when_quiet(here.engine)),
        Job("streams", 60, lambda: remove_dead(here.database, ttl_s, now_us())),
    )
