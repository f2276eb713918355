"""The components that routes use, as one value that `bootstrap` assembles."""

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
from vedette.api.body_budget import BodyBudget
from vedette.api.health_checks import HealthChecks
from vedette.api.policy_reports import PolicyReports
from vedette.api.request_rates import RequestRates
from vedette.api.search_pool import SearchPool
from vedette.api.server_certificate import PresentedCertificate
from vedette.backup.snapshots import Snapshots
from vedette.blobs.blob_store import BlobStore
from vedette.clock import Clock
from vedette.feeds.indicators import IndicatorRounds
from vedette.feeds.schedule import Schedule
from vedette.forwarder.configuration import Forwarders
from vedette.forwarder.rounds import ForwarderRounds
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
from vedette.state.db.group_commit import GroupCommit
from vedette.state.db.sealing import Sealing
from vedette.state.devices.update_progress import UpdateTargets
from vedette.state.files.binary_orders import WaitingSensors
from vedette.state.policy.approved_addresses import ApprovedAddresses
from vedette.state.sensors.checkins import CheckinInterval
from vedette.state.sensors.host_registry import Sensors
from vedette.state.sensors.sensor_keys import SensorKeys
from vedette.store.engine.client import Engine
from vedette.watchlists.rounds import WatchlistRounds


@dataclass(frozen=True, slots=True)
class Services:
    """All members are safe to share between threads."""

    settings: Settings
    origins: Mapping[str, Origin]
    """Where each setting came from."""
    clock: Clock
    clock_guard: ClockGuard
    metrics: CollectorRegistry
    database: Database
    tokens: Tokens
    access_tokens: AccessTokens
    """And the secrets of apps."""
    code_flow: CodeFlow
    """Sign-in with identities of other servers."""
    scopes: Scopes
    engine: Engine
    ingest_queue: IngestQueue
    intake: Intake
    """Which senders use: the queue, or the servers of the cluster."""
    cluster: Cluster | None
    """This server among others; None for the only one."""
    partitions: PartitionControl
    filters: FilterReloader
    privacy: PrivacyReloader
    rules: RuleReloader
    sensors: Sensors
    sensor_keys: SensorKeys
    update_targets: UpdateTargets
    ordering_sensors: WaitingSensors
    """Which sensors are to send files."""
    commits: GroupCommit
    checkin_interval: CheckinInterval
    blobs: BlobStore
    blob_migration: BlobMigration
    copies: BinaryCopies
    binary_reading: BinaryReading
    """For its one thread."""
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
    """Through which everything goes that was found."""
    workflow_jobs: WorkflowJobs
    watchlists: WatchlistRounds
    """For its one thread."""
    rule_hits: RuleHits
    rule_budget: RuleBudget
    searches: SearchPool
    """For requests that may read the whole store."""
    lookups: SearchPool
    """For requests about one process or binary."""
    policy_reports: PolicyReports
    presented: PresentedCertificate = field(default_factory=PresentedCertificate)
    filtered_counts: FilteredCounts = field(default_factory=FilteredCounts)
    rates: RequestRates = field(default_factory=RequestRates)
    authentications: CapacityLimiter = field(
        default_factory=lambda: CapacityLimiter(limits.CONCURRENT_AUTHENTICATIONS_MAX)
    )
    sign_ins: CapacityLimiter = field(
        default_factory=lambda: CapacityLimiter(limits.CONCURRENT_SIGN_INS_MAX)
    )
    checkins: CapacityLimiter = field(
        default_factory=lambda: CapacityLimiter(limits.CHECKIN_THREADS)
    )
    copy_threads: CapacityLimiter = field(
        default_factory=lambda: CapacityLimiter(limits.COPY_THREADS)
    )
    """Threads that take copies of programs, and may wait for a bucket."""
    rule_checks: CapacityLimiter = field(
        default_factory=lambda: CapacityLimiter(limits.YARA_CHECKS_MAX)
    )
    """Threads that wait for YARA rules to be compiled."""
    provider_requests: CapacityLimiter = field(
        default_factory=lambda: CapacityLimiter(limits.PROVIDER_REQUESTS_MAX)
    )
    """Threads that wait for identity providers."""
    health_checks: HealthChecks = field(default_factory=HealthChecks)
    """Of `/readyz`, in threads that nothing else can hold."""
    part_sequencer: PartSequencer = field(default_factory=PartSequencer)
    bodies: BodyBudget = field(
        default_factory=lambda: BodyBudget(limits.BODIES_IN_FLIGHT_BYTES_MAX)
    )
    splits: CapacityLimiter = field(
        default_factory=lambda: CapacityLimiter(limits.CONCURRENT_SPLITS_MAX)
    )


async def services(request: Request) -> Services:
    """The services, as a dependency of routes. A coroutine, because the framework runs synchronous
    dependencies in threads."""
    return services_of(request)


def services_of(request: Request) -> Services:
    services = request.app.state.services
    assert isinstance(services, Services)
    return services
