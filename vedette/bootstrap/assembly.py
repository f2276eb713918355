"""Assembles a server from its settings, and closes its parts in order."""

import os
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from threading import Thread

from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from vedette.alerting.detection_writer import DetectionWriter
from vedette.alerting.response import Responder
from vedette.alerting.rule_budget import RuleBudget
from vedette.alerting.rule_hits import HitMetrics, RuleHits
from vedette.alerting.starter_rules import install_starter
from vedette.alerting.workflow_jobs import WorkflowJobs
from vedette.backup.snapshots import Snapshots
from vedette.binaries.file_reader import FileReader
from vedette.binaries.trust_store import load_trust
from vedette.blobs.blob_store import BlobStore
from vedette.bootstrap.background_jobs import (
    SERVER_JOBS,
    WRITE_PATH_JOBS,
    WritePathContext,
    bind,
)
from vedette.bootstrap.detection_hooks import alerting_sources, detection_hooks
from vedette.bootstrap.event_loop import defer_to_event_loop
from vedette.bootstrap.open_blobs import open_blobs
from vedette.bootstrap.open_forwarders import open_forwarders
from vedette.bootstrap.write_path import Engines, is_cluster, open_engines, start_write_path
from vedette.clock import Clock
from vedette.errors import UnavailableError
from vedette.feeds.fetch import Fetcher, FetchRules
from vedette.feeds.indicators import IndicatorRounds
from vedette.feeds.schedule import Schedule
from vedette.feeds.synchronise import Parts
from vedette.forwarder.configuration import Forwarders
from vedette.forwarder.rounds import ForwarderRounds
from vedette.jobs.leases import owned_leases
from vedette.jobs.timer import Changes, timers
from vedette.limits import Limit
from vedette.notify.egress import EgressPolicy
from vedette.notify.http_post import PostRules
from vedette.notify.outbox_loop import OutboxLoop
from vedette.notify.outbox_metrics import OutboxMetrics
from vedette.notify.senders import SenderContext, all_senders
from vedette.oidc.code_flow import CodeFlow
from vedette.oidc.documents import ProviderDocuments
from vedette.pipeline.ingest_queue import IngestQueue
from vedette.respond.binary_copies import BinaryCopies
from vedette.respond.binary_reading import BinaryReading
from vedette.respond.blob_migration import BlobMigration
from vedette.respond.order_cache import OrderCache
from vedette.servers.joining import check_shared_key, intake_of, settle_s_of
from vedette.settings import Loaded, Settings
from vedette.state.accounts.access_tokens import AccessTokens
from vedette.state.accounts.scopes import Scopes
from vedette.state.accounts.tokens import Tokens
from vedette.state.db.author import Author
from vedette.state.db.database import Database
from vedette.state.db.sealing import Sealing, open_sealing
from vedette.state.devices.update_progress import UpdateTargets
from vedette.state.files.binary_orders import WaitingSensors
from vedette.state.jobs.leases import Leases
from vedette.state.policy.approved_addresses import ApprovedAddresses
from vedette.state.sensors.checkins import CheckinInterval
from vedette.state.sensors.sensor_keys import SensorKeys
from vedette.state.shares.change_marker import ChangeMarker
from vedette.state.shares.group_commit import GroupCommit
from vedette.state.start import FirstCredentials, start
from vedette.store.engine.client import Engine
from vedette.watchlists.rounds import WatchlistRounds
from vedette.web.app import create_app
from vedette.web.http.policy_reports import PolicyReports
from vedette.web.http.search_pool import SearchPool
from vedette.web.http.services import Services
from vedette.web.page.static_files import prepare
from vedette.web.pages import PAGES

SEARCHES_RUNNING_MIN: Limit[int] = 3
"""Minimum number of concurrent searches; the default is half of the cores plus one."""

SEARCH_READERS: Limit[int] = 5
"""Concurrent reads of the telemetry engine by searches."""

SEARCH_NICE: Limit[int] = 15
"""Nice value of the engine's search threads: on scarce cores they get the time that ingest, sensors
and lookups leave, a thirtieth against a busy thread. Needs CAP_SYS_NICE."""

INGEST_BEHIND_SHARE: Limit[int] = 4
"""Divisor of `commit_bytes_max`: ingest is behind when more bytes wait (10 MB, a second's work of
one worker). Then only half as many searches start."""

LOOKUPS_RUNNING_MAX: Limit[int] = 8
"""Concurrent requests about one process or binary, separate from searches."""

LOOKUP_READERS: Limit[int] = 4
"""Concurrent reads of the telemetry engine by lookups."""

USER_SEARCHES_MAX: Limit[int] = 40
"""(setting) Searches, and separately lookups, of one user that run or wait; above it 429. Tools use
32."""

LEASE_ALONE_S: Limit[int] = 600
"""Minimum length (s) of a lease with SQLite, which has a single server: each renewal is a write,
and a change that wakes other jobs."""


_DAY_US = 24 * 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class Assembly:
    """A server that is ready to serve requests."""

    app: FastAPI
    services: Services
    database: Database
    first_credentials: FirstCredentials | None
    closing: ExitStack
    """Closes all parts: those that accept requests first, the engines last."""


def assemble(
    loaded: Loaded, clock: Clock, *, accepted_by: Author | None = None, url: str = ""
) -> Assembly:
    """Opens the engines and starts the write path and the timers. `accepted_by` is passed to
    `bootstrap/store_identity.py`; `url` is the address for other servers.

    Raises StartError with advice for the operator, after closing everything.
    """
    settings = loaded.settings
    with ExitStack() as closing:
        engines = open_engines(settings, clock, closing, accepted_by=accepted_by)
        credentials = start(engines.state, clock.now_us(), settings.token_lifetime_days * _DAY_US)
        closing.enter_context(owned_leases(engines.state, settings.data))
        services = _connect(loaded, clock, engines, closing, url)
        Thread(target=prepare, name="files of the console", daemon=True).start()
        app = create_app(services, PAGES)
        return Assembly(app, services, engines.state, credentials, closing.pop_all())


def _connect(
    loaded: Loaded, clock: Clock, engines: Engines, closing: ExitStack, url: str
) -> Services:
    """Builds all services over open engines, and starts the write path and the timers."""
    settings = loaded.settings
    database = engines.state
    commits = GroupCommit(database)
    closing.callback(commits.close)
    blobs = open_blobs(settings, database)
    if settings.starter_rules:
        install_starter(database, clock.now_us())
    sealing = open_sealing(settings.data)
    if is_cluster(engines):
        check_shared_key(database, sealing)
    path = start_write_path(settings, clock, engines, closing, url)
    detections = DetectionWriter(
        engines.telemetry,
        database,
        clock,
        detection_hooks(settings, clock),
        alerting_sources,
        fence_us=path.cluster.membership.fence_us if path.cluster is not None else None,
    )
    tokens = Tokens(database, clock, path.clock_guard.check)

    def settled_seq() -> int:
        return path.ingest_queue.settled_seq

    forwarders = open_forwarders(settings, clock, engines, sealing, settled_seq)
    services = Services(
        settings=settings,
        origins=loaded.origins,
        clock=clock,
        clock_guard=path.clock_guard,
        metrics=path.metrics,
        database=database,
        tokens=tokens,
        access_tokens=AccessTokens(database, sealing, clock, tokens),
        code_flow=_code_flow(settings, clock, database, sealing),
        scopes=Scopes(database, clock),
        engine=engines.telemetry,
        ingest_queue=path.ingest_queue,
        intake=path.ingest_queue
        if path.cluster is None
        else intake_of(path.ingest_queue, path.cluster),
        cluster=path.cluster,
        partitions=path.partitions,
        filters=path.filters,
        privacy=path.privacy,
        rules=path.rules,
        sensors=path.sensors,
        sensor_keys=SensorKeys(database),
        update_targets=UpdateTargets(database),
        ordering_sensors=WaitingSensors(database),
        commits=commits,
        checkin_interval=CheckinInterval(database, settings.checkin_interval_s),
        blobs=blobs,
        blob_migration=BlobMigration(blobs, database),
        copies=_copies(settings, database, blobs),
        binary_reading=_reading(settings, clock, engines, blobs, closing),
        order_cache=OrderCache(database),
        approved_addresses=ApprovedAddresses(database),
        snapshots=Snapshots(settings.data, engines.telemetry, database, path.ingest_queue),
        sealing=sealing,
        feeds=_feeds(settings, clock, engines, sealing),
        detections=detections,
        indicators=IndicatorRounds(
            engines.telemetry,
            database,
            clock,
            detections,
            settled_seq,
            settle_s_of(engines.telemetry, settings.clickhouse_quorum) if path.cluster else 0.0,
        ),
        outbox=_outbox(settings, clock, engines, sealing, path.metrics, closing),
        forwarders=forwarders,
        forwarder_rounds=_forwarder_rounds(settings, clock, forwarders, closing),
        responder=Responder(database, engines.telemetry, clock),
        workflow_jobs=WorkflowJobs(engines.telemetry, database, clock),
        watchlists=WatchlistRounds(engines.telemetry, database, clock, detections, settled_seq),
        rule_hits=RuleHits(
            engines.telemetry,
            database,
            detections,
            settled_seq,
            clock,
            HitMetrics(path.metrics),
        ),
        rule_budget=RuleBudget(database, path.rules, detections, clock),
        searches=_searches(settings, engines.telemetry, path.ingest_queue, closing),
        lookups=_lookups(settings, engines.telemetry, closing),
        policy_reports=PolicyReports(path.metrics),
    )
    _start(services, WritePathContext(path, settings, clock, engines.telemetry), closing)
    return services


def _start(services: Services, written: WritePathContext, closing: ExitStack) -> None:
    """Fills caches and starts the background jobs."""
    services.checkin_interval.refresh()
    services.update_targets.refresh()
    services.ordering_sensors.refresh(services.clock.now_us())
    services.approved_addresses.refresh()
    closing.callback(services.tokens.flush)
    for follower in (services.watchlists, services.indicators):
        with suppress(UnavailableError):  # the first round then starts from the current end
            follower.begin()
    jobs = [*bind(WRITE_PATH_JOBS, written), *bind(SERVER_JOBS, services)]
    database = services.database
    leases = Leases(database, services.clock, 0 if database.name else LEASE_ALONE_S)
    for timer in timers(jobs, leases, _changes(database, services.engine, closing)):
        timer.start()
        closing.callback(timer.close)
    closing.callback(services.binary_reading.stopping.set)
    closing.callback(services.feeds.stopping.set)  # before the timers wait for their jobs


def _changes(database: Database, engine: Engine, closing: ExitStack) -> Changes:
    """Returns the function whose results idle jobs compare (`jobs/timer.py`)."""
    marker = ChangeMarker(database)
    closing.callback(marker.close)

    def changes() -> object:
        state = marker.read()
        if state is None or engine.capabilities.cluster:  # which others write to
            return None
        return state, engine.process_cache.writes_ended

    return changes


def _copies(settings: Settings, database: Database, blobs: BlobStore) -> BinaryCopies:
    """Opens the store of copies. First moves unfinished copies from an older version's location, so
    that their uploads continue."""
    older, arriving = settings.data / "binaries" / "arriving", settings.data / "arriving"
    if older.is_dir() and not arriving.exists():
        older.rename(arriving)
    return BinaryCopies(database, blobs, arriving, settings.copied_files_bytes_max)


def _reading(
    settings: Settings, clock: Clock, engines: Engines, blobs: BlobStore, closing: ExitStack
) -> BinaryReading:
    reader = FileReader(load_trust(settings.signature_roots, settings.signature_distrusted))
    closing.callback(reader.close)
    return BinaryReading(engines.telemetry, engines.state, blobs, reader, clock)


def _code_flow(settings: Settings, clock: Clock, database: Database, sealing: Sealing) -> CodeFlow:
    rules = PostRules(EgressPolicy.of(settings.egress_allow), settings.oidc_ca_file)
    documents = ProviderDocuments(rules, clock)
    return CodeFlow(database, sealing, clock, documents, settings.public_url)


def _feeds(settings: Settings, clock: Clock, engines: Engines, sealing: Sealing) -> Schedule:
    files = settings.feed_files or settings.data / "feeds"
    rules = FetchRules(
        files=files,
        egress=EgressPolicy.of(settings.egress_allow),
        proxy=settings.feed_proxy,
        ca_file=settings.feed_ca_file,
        bytes_max=settings.feed_bytes_max,
        seconds_max=settings.feed_timeout_s,
    )
    parts = Parts(engines.telemetry, engines.state, sealing, Fetcher(rules), clock)
    leases = Leases(engines.state, clock)
    return Schedule(parts, leases, interval_s=settings.feed_interval_minutes * 60)


def _outbox(
    settings: Settings,
    clock: Clock,
    engines: Engines,
    sealing: Sealing,
    metrics: CollectorRegistry,
    closing: ExitStack,
) -> OutboxLoop:
    senders = all_senders(SenderContext(settings, clock, engines.state, sealing))
    loop = OutboxLoop(engines.state, clock, senders, OutboxMetrics(metrics, list(senders)))
    closing.callback(loop.close)
    return loop


def _forwarder_rounds(
    settings: Settings, clock: Clock, parts: Forwarders, closing: ExitStack
) -> ForwarderRounds:
    leases = Leases(parts.database, clock)
    rounds = ForwarderRounds(parts, leases, clock, settings.org_key)
    closing.callback(rounds.close)
    return rounds


def _searches(
    settings: Settings, engine: Engine, ingest_queue: IngestQueue, closing: ExitStack
) -> SearchPool:
    behind_bytes = settings.commit_bytes_max // INGEST_BEHIND_SHARE
    pool = SearchPool(
        engine,
        running_max=max(SEARCHES_RUNNING_MIN, (os.cpu_count() or 1) // 2 + 1),
        readers_max=SEARCH_READERS,
        a_user_max=settings.user_searches_max,
        nice=SEARCH_NICE,
        begin_thread=defer_to_event_loop,
        is_ingest_behind=lambda: ingest_queue.waiting_bytes > behind_bytes,
    )
    closing.callback(pool.close)
    return pool


def _lookups(settings: Settings, engine: Engine, closing: ExitStack) -> SearchPool:
    pool = SearchPool(
        engine,
        running_max=LOOKUPS_RUNNING_MAX,
        readers_max=LOOKUP_READERS,
        a_user_max=max(settings.user_searches_max, USER_SEARCHES_MAX),
        begin_thread=defer_to_event_loop,
    )
    closing.callback(pool.close)
    return pool
