"""Builds the write path over its engines, for a server and for an import without a server.

The process that opens it has exclusive use of the data directory until it is closed.
"""

from contextlib import ExitStack
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

from vedette.alerting.rule_import import compile_anew
from vedette.bootstrap.ingest_workers import WorkerLauncher, worker_count
from vedette.bootstrap.private_folder import make_private
from vedette.bootstrap.record_policy import keep_of
from vedette.bootstrap.store_identity import check_store, keep_part_list
from vedette.clock import Clock
from vedette.doctor.migration import half_moved_telemetry, unmoved_state, unmoved_telemetry
from vedette.errors import StartError
from vedette.limits import STORE_PARTS_MERGED, Limit
from vedette.pipeline.clock_watch import ClockWatch
from vedette.pipeline.commit_numbers import LocalNumbers
from vedette.pipeline.filter_reload import FilterReloader
from vedette.pipeline.ingest_metrics import IngestMetrics
from vedette.pipeline.ingest_queue import IngestQueue
from vedette.pipeline.partition_control import PARTITION_CHANGES, PartitionControl
from vedette.pipeline.privacy_reload import PrivacyReloader
from vedette.pipeline.rule_reload import RuleReloader
from vedette.pipeline.store_writer import StoreWriter
from vedette.pipeline.time_windows import TimeWindows
from vedette.pipeline.workers.lookup_server import LookupServer
from vedette.pipeline.workers.store_lookup import StoreLookup
from vedette.pipeline.workers.worker_pool import WorkerPool
from vedette.servers.cluster import Cluster
from vedette.servers.joining import join_cluster, only_one_opens, open_cluster, settle_s_of
from vedette.servers.shard_reload import ShardReloader
from vedette.servers.shared_numbers import SharedNumbers
from vedette.settings import Settings
from vedette.state.clock.guard import ClockGuard
from vedette.state.clock.record import load_confirmation, load_reading
from vedette.state.db.author import Author
from vedette.state.db.database import Database, open_database
from vedette.state.jobs import watermarks
from vedette.state.sensors.channel_codes import Channels
from vedette.state.sensors.host_registry import Sensors
from vedette.state.start import migrate
from vedette.store.engine.capabilities import replicated
from vedette.store.engine.client import ClickHouseEngine, Engine
from vedette.store.engine.open import connect_engine, open_engine
from vedette.store.engine.shard_routing import ShardRouter
from vedette.store.integrity.identity import check_tables
from vedette.store.partitions.lifecycle import recover, unmounted
from vedette.store.schema.create import create_tables

WORKERS_PROCESSES_CACHED_MAX: Limit[int] = 100_000
"""Processes whose metadata all workers together cache, about 2 kB each."""


@dataclass(frozen=True, slots=True)
class Engines:
    """The telemetry store and the state database."""

    telemetry: Engine
    state: Database
    router: ShardRouter | None = None
    """The shard router of a cluster; None otherwise."""


@dataclass(frozen=True, slots=True)
class WritePath:
    """The write path, with those of its parts that others use."""

    metrics: CollectorRegistry
    sensors: Sensors
    ingest_queue: IngestQueue
    partitions: PartitionControl
    filters: FilterReloader
    privacy: PrivacyReloader
    rules: RuleReloader
    clock_guard: ClockGuard
    clock_watch: ClockWatch
    shards: ShardReloader | None = None
    """Set in a cluster."""
    cluster: Cluster | None = None
    """This server's membership of a cluster; None for a single server."""


def open_engines(
    settings: Settings,
    clock: Clock,
    closing: ExitStack,
    parts_merged: int = STORE_PARTS_MERGED,
    *,
    accepted_by: Author | None = None,
) -> Engines:
    """Opens the engines until `closing` is closed, migrates the state database and checks that both
    belong together. `parts_merged` applies to an embedded engine.

    Raises StartError with advice for the operator.
    """
    make_private(settings.data)
    telemetry = open_telemetry(settings, parts_merged)
    closing.callback(telemetry.close)
    state = open_database(settings.state_dsn, settings.data)
    closing.callback(state.close)
    if accepted_by is None:
        data = settings.data
        if refusal := unmoved_state(data, state) or unmoved_telemetry(data, telemetry):
            raise StartError(refusal)
    elif refusal := half_moved_telemetry(settings.data, telemetry):
        raise StartError(refusal)
    if not telemetry.capabilities.cluster:
        _prepare(telemetry)
        migrate(state)
        check_store(telemetry, state, clock, accepted_by=accepted_by)
        closing.callback(keep_part_list, telemetry, state)
        return Engines(telemetry, state)
    migrate(state)
    with only_one_opens(state):
        router = join_cluster(telemetry, state)
        with state.exclusive(PARTITION_CHANGES):
            _prepare(telemetry)
        check_store(telemetry, state, clock, accepted_by=accepted_by)
    return Engines(telemetry, state, router)


def start_write_path(
    settings: Settings, clock: Clock, engines: Engines, closing: ExitStack, url: str = ""
) -> WritePath:
    """Starts accepting submissions. Closing `closing` stores everything accepted. `url` is the
    address for other servers.

    Raises StartError with advice for the operator.
    """
    metrics = _metrics()
    sensors = Sensors(engines.state)
    newest_seq = _newest_seq(engines, clock)
    cluster = None
    if is_cluster(engines):
        settle_s = settle_s_of(engines.telemetry, settings.clickhouse_quorum)
        cluster = open_cluster(settings, clock, engines.state, newest_seq, settle_s, url, closing)
    processor = _processor(settings, clock, engines, sensors, closing, cluster is not None)
    guard = ClockGuard(clock, load_reading(engines.state))
    watch = ClockWatch(guard, engines.state, load_confirmation(engines.state))
    watch.look()
    closing.callback(watch.save)
    numbers: LocalNumbers | SharedNumbers = (
        LocalNumbers(newest_seq + 1) if cluster is None else cluster.numbers
    )
    fence_us = None if cluster is None else cluster.membership.fence_us
    ingest_queue = IngestQueue(
        processor,
        StoreWriter(engines.telemetry, fence_us),
        clock,
        settings,
        IngestMetrics(metrics),
        numbers,
        guard,
    )
    partitions = PartitionControl(
        engines.telemetry,
        ingest_queue,
        processor,
        clock,
        engines.state,
        guard,
        None if cluster is None else cluster.partition_changes,
    )
    filters = FilterReloader(engines.state, processor, clock)
    filters.reload()
    closing.callback(filters.flush)
    privacy = PrivacyReloader(engines.state, processor)
    privacy.reload()
    compile_anew(engines.state)
    rules = RuleReloader(engines.state, processor, clock)
    rules.reload()
    closing.callback(rules.flush)
    closing.callback(lambda: sensors.flush(clock.now_us()))
    ingest_queue.start()
    closing.callback(ingest_queue.close)
    shards = None
    if cluster is not None:
        assert engines.router is not None
        shards = ShardReloader(engines.state, engines.router)
        shards.reload()
        cluster.membership.start(processor, ingest_queue, rules.reload)
    return WritePath(
        metrics,
        sensors,
        ingest_queue,
        partitions,
        filters,
        privacy,
        rules,
        guard,
        watch,
        shards,
        cluster,
    )


def first_windows(engines: Engines, clock: Clock) -> TimeWindows:
    """Returns the windows of the first commit. Of several servers that start together, one opens
    the first partition."""
    with engines.state.exclusive(PARTITION_CHANGES):
        return StoreLookup(engines.telemetry, clock).windows()


def open_telemetry(settings: Settings, parts_merged: int = STORE_PARTS_MERGED) -> ClickHouseEngine:
    """Opens the embedded store or the cluster of the settings. Creates the database if it is
    missing, but no tables. `parts_merged` applies to an embedded engine. Raises StartError."""
    if settings.clickhouse_dsn:
        capabilities = replicated(settings.clickhouse_cluster, settings.clickhouse_quorum)
        return connect_engine(settings.clickhouse_dsn, capabilities)
    return open_engine(settings.data / "telemetry", parts_merged=parts_merged)


def _prepare(engine: Engine) -> None:
    check_tables(engine)
    create_tables(engine)
    recover(engine)


def _metrics() -> CollectorRegistry:
    metrics = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=metrics)
    return metrics


def _processor(
    settings: Settings,
    clock: Clock,
    engines: Engines,
    sensors: Sensors,
    closing: ExitStack,
    shares_hosts: bool,
) -> WorkerPool:
    """Builds the worker pool, with its state restored from the store."""
    lookup = StoreLookup(engines.telemetry, clock)
    launcher = WorkerLauncher(settings.log_level, settings.log_format)
    processor = WorkerPool(
        launcher,
        LookupServer(sensors, Channels(engines.state), lookup),
        first_windows(engines, clock),
        clock,
        keep_of(settings.keep),
        WORKERS_PROCESSES_CACHED_MAX,
        settings.preparing_processes or worker_count(),
        shares_hosts=shares_hosts,
    )
    closing.callback(launcher.close)
    closing.callback(processor.close)
    processor.begin(unmounted(engines.telemetry), is_empty=lookup.is_ours_and_empty())
    return processor


def is_cluster(engines: Engines) -> bool:
    """Whether other servers may store into the same engines."""
    return bool(engines.telemetry.capabilities.cluster and engines.state.name)


def _newest_seq(engines: Engines, clock: Clock) -> int:
    """Returns the highest commit number, or the highest follower watermark if greater (its rows may
    have been deleted since)."""
    followed = watermarks.highest(engines.state)
    return max(StoreLookup(engines.telemetry, clock).newest_seq(), followed)
