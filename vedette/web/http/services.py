"""The components that routes use, in a single value that `bootstrap` assembles."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from anyio import CapacityLimiter
from fastapi import Request
from prometheus_client import CollectorRegistry

from vedette import limits
from vedette.alerting.detection_writer import DetectionWriter
from vedette.alerting.response import Responder
from vedette.alerting.rule_budget import RuleBudget
from vedette.alerting.rule_hits import RuleHits
from vedette.alerting.workflow_jobs import WorkflowJobs
from vedette.backup.snapshots import Snapshots
from vedette.blobs.blob_store import BlobStore
from vedette.clock import Clock
from vedette.feeds.indicators import IndicatorRounds
from vedette.feeds.schedule import Schedule
from vedette.forwarder.configuration import Forwarders
from vedette.forwarder.rounds import ForwarderRounds
from vedette.limits import Limit
from vedette.notify.outbox_loop import OutboxLoop
from vedette.oidc.code_flow import CodeFlow
from vedette.pipeline.filter_reload import FilterReloader
from vedette.pipeline.ingest_queue import IngestQueue, Intake
from vedette.pipeline.part_sequencer import PartSequencer
from vedette.pipeline.partition_control import PartitionControl
from vedette.pipeline.privacy_reload import PrivacyReloader
from vedette.pipeline.rule_reload import RuleReloader
from vedette.respond.binary_copies import BinaryCopies
from vedette.respond.binary_reading import BinaryReading
from vedette.respond.blob_migration import BlobMigration
from vedette.respond.order_cache import OrderCache
from vedette.search.streams.filtered_counts import FilteredCounts
from vedette.servers.cluster import Cluster
from vedette.settings import Origin, Settings
from vedette.state.accounts.access_tokens import AccessTokens
from vedette.state.accounts.scopes import Scopes
from vedette.state.accounts.tokens import Tokens
from vedette.state.clock.guard import ClockGuard
from vedette.state.db.database import Database
from vedette.state.db.sealing import Sealing
from vedette.state.devices.update_progress import UpdateTargets
from vedette.state.files.binary_orders import WaitingSensors
from vedette.state.policy.approved_addresses import ApprovedAddresses
from vedette.state.sensors.checkins import CheckinInterval
from vedette.state.sensors.host_registry import Sensors
from vedette.state.sensors.sensor_keys import SensorKeys
from vedette.state.shares.group_commit import GroupCommit
from vedette.store.engine.client import Engine
from vedette.watchlists.rounds import WatchlistRounds
from vedette.web.http.bodies.body_budget import BodyBudget
from vedette.web.http.health_checks import HealthChecks
from vedette.web.http.policy_reports import PolicyReports
from vedette.web.http.request_rates import RequestRates
from vedette.web.http.search_pool import SearchPool
from vedette.web.http.server_certificate import PresentedCertificate

YARA_CHECKS_MAX: Limit[int] = 2
"""YARA rule texts compiled concurrently. Each takes a core and up to a gigabyte of memory."""

COPY_THREADS: Limit[int] = 4
"""Threads that receive copies of programs. A hanging bucket must not delay telemetry."""

CHECKIN_THREADS: Limit[int] = 8
"""Threads reserved for check-ins and enrollment of sensors."""

CONCURRENT_AUTHENTICATIONS_MAX: Limit[int] = 8
"""Threads that check tokens, separate from search threads, so that slow searches never delay
senders."""

CONCURRENT_SIGN_INS_MAX: Limit[int] = 2
"""Threads that check passwords. Each check (argon2id) takes 64 MiB and all cores for tens of
milliseconds. Separate from threads that check tokens, so that password guessing does not delay
them."""

CONCURRENT_SPLITS_MAX: Limit[int] = 4
"""Threads that inflate and split telemetry bodies. Each may hold an inflated body."""

PROVIDER_REQUESTS_MAX: Limit[int] = 4
"""Concurrent requests to identity providers; further requests wait."""


@dataclass(frozen=True, slots=True)
class Services:
    """Components of a server. All are thread-safe."""

    settings: Settings
    origins: Mapping[str, Origin]
    """Source of each setting."""
    clock: Clock
    clock_guard: ClockGuard
    metrics: CollectorRegistry
    database: Database
    tokens: Tokens
    access_tokens: AccessTokens
    """Access tokens and the secrets of apps."""
    code_flow: CodeFlow
    """Sign-in through identity providers."""
    scopes: Scopes
    engine: Engine
    ingest_queue: IngestQueue
    intake: Intake
    """Entry point for telemetry of senders: the local queue, or a router to the servers of the
    cluster."""
    cluster: Cluster | None
    """This server's cluster membership; None for a single server."""
    partitions: PartitionControl
    filters: FilterReloader
    privacy: PrivacyReloader
    rules: RuleReloader
    sensors: Sensors
    sensor_keys: SensorKeys
    update_targets: UpdateTargets
    ordering_sensors: WaitingSensors
    """Sensors that have orders to send files."""
    commits: GroupCommit
    checkin_interval: CheckinInterval
    blobs: BlobStore
    blob_migration: BlobMigration
    copies: BinaryCopies
    binary_reading: BinaryReading
    """Use only in the thread that reads binaries."""
    order_cache: OrderCache
    approved_addresses: ApprovedAddresses
    snapshots: Snapshots
    sealing: Sealing
    feeds: Schedule
    indicators: IndicatorRounds
    outbox: OutboxLoop
    forwarders: Forwarders
    forwarder_rounds: ForwarderRounds
    responder: Responder
    detections: DetectionWriter
    """Writer that all detections pass through."""
    workflow_jobs: WorkflowJobs
    watchlists: WatchlistRounds
    """Use only in the thread that evaluates watchlists."""
    rule_hits: RuleHits
    rule_budget: RuleBudget
    searches: SearchPool
    """Pool for requests that may read the whole store."""
    lookups: SearchPool
    """Pool for requests about a single process or binary."""
    policy_reports: PolicyReports
    presented: PresentedCertificate = field(default_factory=PresentedCertificate)
    filtered_counts: FilteredCounts = field(default_factory=FilteredCounts)
    rates: RequestRates = field(default_factory=RequestRates)
    authentications: CapacityLimiter = field(
        default_factory=lambda: CapacityLimiter(CONCURRENT_AUTHENTICATIONS_MAX)
    )
    sign_ins: CapacityLimiter = field(
        default_factory=lambda: CapacityLimiter(CONCURRENT_SIGN_INS_MAX)
    )
    checkins: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(CHECKIN_THREADS))
    copy_threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(COPY_THREADS))
    """Threads that receive copies of programs and may wait for a bucket."""
    rule_checks: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(YARA_CHECKS_MAX))
    """Threads that wait for YARA rules to compile."""
    provider_requests: CapacityLimiter = field(
        default_factory=lambda: CapacityLimiter(PROVIDER_REQUESTS_MAX)
    )
    """Threads that wait for identity providers."""
    health_checks: HealthChecks = field(default_factory=HealthChecks)
    """Checks of `/readyz`, each with its own thread."""
    part_sequencer: PartSequencer = field(default_factory=PartSequencer)
    bodies: BodyBudget = field(
        default_factory=lambda: BodyBudget(limits.BODIES_IN_FLIGHT_BYTES_MAX)
    )
    splits: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(CONCURRENT_SPLITS_MAX))


async def services(request: Request) -> Services:
    """Returns the services. A dependency of routes; it is a coroutine because the framework runs
    synchronous dependencies in threads."""
    return services_of(request)


def services_of(request: Request) -> Services:
    services = request.app.state.services
    assert isinstance(services, Services)
    return services
