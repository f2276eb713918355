"""What the routes need of the rest of the server, as one value that `build` makes."""

from dataclasses import dataclass, field

from anyio import CapacityLimiter
from fastapi import Request
from prometheus_client import CollectorRegistry

from vedette import limits
from vedette.api.search_pool import SearchPool
from vedette.clock import Clock
from vedette.pipeline.filter_reload import FilterWatch
from vedette.pipeline.ingest_queue import Intake
from vedette.pipeline.part_sequencer import Turns
from vedette.pipeline.partition_control import PartitionControl
from vedette.respond.binary_copies import CopiedFiles
from vedette.respond.order_book import OrderBook
from vedette.search.streams.filtered_counts import FilteredCounts
from vedette.settings import Settings
from vedette.state.accounts.scopes import Scopes
from vedette.state.accounts.tokens import Tokens
from vedette.state.db.database import Database
from vedette.state.db.group_commit import GroupCommit
from vedette.state.sensors.checkins import Pace
from vedette.state.sensors.host_registry import Sensors
from vedette.state.sensors.sensor_keys import SensorKeys
from vedette.store.engine.client import Engine


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a request can reach. All members are safe to share between threads."""

    settings: Settings
    clock: Clock
    metrics: CollectorRegistry
    database: Database
    tokens: Tokens
    scopes: Scopes
    engine: Engine
    intake: Intake
    partitions: PartitionControl
    filters: FilterWatch
    sensors: Sensors
    sensor_keys: SensorKeys
    commits: GroupCommit
    pace: Pace
    copies: CopiedFiles
    order_book: OrderBook
    searches: SearchPool
    """For requests that may read the whole store."""
    lookups: SearchPool
    """For requests about one process or binary."""
    filtered_counts: FilteredCounts = field(default_factory=FilteredCounts)
    authentications: CapacityLimiter = field(
        default_factory=lambda: CapacityLimiter(limits.CONCURRENT_AUTHENTICATIONS_MAX)
    )
    checkins: CapacityLimiter = field(
        default_factory=lambda: CapacityLimiter(limits.CHECKIN_THREADS)
    )
    health_checks: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(1))
    """One thread for `/readyz`, which nothing else can hold."""
    turns: Turns = field(default_factory=Turns)
    splits: CapacityLimiter = field(
        default_factory=lambda: CapacityLimiter(limits.CONCURRENT_SPLITS_MAX)
    )


async def services(request: Request) -> Services:
    """The services, for routes. A coroutine, because the framework runs plain dependencies in a
    thread each."""
    return services_of(request)


def services_of(request: Request) -> Services:
    services = request.app.state.services
    assert isinstance(services, Services)
    return services
