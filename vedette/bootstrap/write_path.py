"""The write path over its engines: what a server has, and an import where none runs.

Whoever opens it owns the data directory until it is closed.
"""

import gc
from contextlib import ExitStack
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

from vedette.bootstrap.ingest_workers import Launcher, preparing_processes
from vedette.bootstrap.record_policy import keep_of
from vedette.clock import Clock
from vedette.errors import StartError
from vedette.jobs.timer import Job
from vedette.pipeline.filter_reload import FilterWatch
from vedette.pipeline.ingest_metrics import IntakeMeter
from vedette.pipeline.ingest_queue import Intake
from vedette.pipeline.partition_control import PartitionControl
from vedette.pipeline.store_writer import StoreLedger
from vedette.pipeline.workers.lookup_server import Knowledge
from vedette.pipeline.workers.store_lookup import StoreGuide
from vedette.pipeline.workers.worker_pool import PreparationProcesses
from vedette.settings import Settings
from vedette.state.db.database import Database, open_database
from vedette.state.sensors.channel_codes import Channels
from vedette.state.sensors.host_registry import Sensors
from vedette.store.engine.capabilities import replicated
from vedette.store.engine.client import Engine
from vedette.store.engine.grants import check_rights
from vedette.store.engine.open import PARTS_MERGED, connect_engine, open_engine
from vedette.store.partitions.lifecycle import recover, unmounted
from vedette.store.schema.create import create_tables
from vedette.store.schema.index_build import settle
from vedette.store.write.corrections import apply_corrections
from vedette.store.write.idle_merge import merge_when_quiet

PROCESSES_REMEMBERED = 100_000
"""Processes whose metadata the write path holds in memory, about 2 kB each."""


@dataclass(frozen=True, slots=True)
class Engines:
    """Where telemetry and state lie."""

    telemetry: Engine
    state: Database


@dataclass(frozen=True, slots=True)
class WritePath:
    """What takes telemetry, and what it needs to."""

    metrics: CollectorRegistry
    sensors: Sensors
    intake: Intake
    partitions: PartitionControl
    filters: FilterWatch


def open_engines(
    settings: Settings, closing: ExitStack, parts_merged: int = PARTS_MERGED
) -> Engines:
    """Opens the engines, until `closing` is closed. `parts_merged` is for an embedded one.

    Raises StartError with what to do about it.
    """
    try:
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StartError(f"the data directory cannot be made: {error}") from None
    telemetry = _telemetry(settings, parts_merged)
    closing.callback(telemetry.close)
    state = open_database(settings.state_dsn, settings.data)
    closing.callback(state.close)
    return Engines(telemetry, state)


def start_write_path(
    settings: Settings, clock: Clock, engines: Engines, closing: ExitStack
) -> WritePath:
    """Takes submissions from now on; closing it stores what was taken first."""
    metrics = _metrics()
    sensors = Sensors(engines.state)
    preparation = _preparation(settings, clock, engines, sensors, closing)
    intake = _intake(settings, clock, engines.telemetry, preparation, metrics)
    partitions = PartitionControl(engines.telemetry, intake, preparation, clock)
    filters = FilterWatch(engines.state, preparation, clock)
    filters.look()
    closing.callback(filters.flush)
    closing.callback(lambda: sensors.flush(clock.now_us()))
    intake.start()
    closing.callback(intake.close)
    return WritePath(metrics, sensors, intake, partitions, filters)


def write_path_jobs(
    path: WritePath, settings: Settings, clock: Clock, telemetry: Engine
) -> list[Job]:
    """What a write path needs done every now and then. Garbage is collected by them alone:
    whoever runs them may forbid the collector to do it by itself."""
    now_us = clock.now_us
    return [
        Job("sensors", 5, lambda: path.sensors.flush(now_us()), shared=False),
        Job("changes", 5, lambda: path.sensors.refresh(now_us()), shared=False),
        Job("ingress filters", 2, path.filters.look, shared=False),
        Job("filter rates", 5, path.filters.flush, shared=False),
        Job("young garbage", 10, lambda: gc.collect(1), shared=False),
        Job("garbage", 300, gc.collect, shared=False),
        Job("partitions", 60, lambda: path.partitions.maintain(settings)),
        Job("ends", 600, lambda: settle(telemetry)),
        Job("corrections", 3, lambda: apply_corrections(telemetry)),
        Job("quiet", 5, lambda: merge_when_quiet(telemetry)),
    ]


def _telemetry(settings: Settings, parts_merged: int) -> Engine:
    if settings.clickhouse_dsn:
        engine = connect_engine(settings.clickhouse_dsn, replicated("vedette", quorum=2))
        check_rights(engine)
    else:
        engine = open_engine(settings.data / "telemetry", parts_merged=parts_merged)
    create_tables(engine)
    recover(engine)
    apply_corrections(engine)
    return engine


def _metrics() -> CollectorRegistry:
    metrics = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=metrics)
    return metrics


def _preparation(
    settings: Settings, clock: Clock, engines: Engines, sensors: Sensors, closing: ExitStack
) -> PreparationProcesses:
    """What prepares commits, with what the store holds; it is asked nothing yet."""
    guide = StoreGuide(engines.telemetry, clock)
    launcher = Launcher(settings.log_level, settings.log_format)
    preparation = PreparationProcesses(
        launcher.launch,
        Knowledge(sensors, Channels(engines.state), guide),
        guide.windows(),
        clock,
        keep_of(settings.keep),
        PROCESSES_REMEMBERED,
        settings.preparing_processes or preparing_processes(),
    )
    closing.callback(launcher.close)
    closing.callback(preparation.close)
    preparation.begin(unmounted(engines.telemetry), is_empty=guide.is_ours_and_empty())
    return preparation


def _intake(
    settings: Settings,
    clock: Clock,
    telemetry: Engine,
    preparation: PreparationProcesses,
    metrics: CollectorRegistry,
) -> Intake:
    """What takes submissions; it is not started yet."""
    meter, ledger = IntakeMeter(metrics), StoreLedger(telemetry)
    next_seq = StoreGuide(telemetry, clock).newest_seq() + 1
    return Intake(preparation, ledger, clock, settings, meter, next_seq)
