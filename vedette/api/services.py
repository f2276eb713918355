"""What the routes need of the rest of the server, as one value that `build` makes."""

from dataclasses import dataclass, field

from anyio import CapacityLimiter
from fastapi import Request
from prometheus_client import CollectorRegistry

from vedette import limits
from vedette.clock import Clock
from vedette.pipeline.filter_watch import FilterWatch
from vedette.pipeline.intake import Intake
from vedette.pipeline.partition_control import PartitionControl
from vedette.pipeline.turns import Turns
from vedette.respond.copied_files import CopiedFiles
from vedette.respond.order_book import OrderBook
from vedette.search.views import Views
from vedette.settings import Settings
from vedette.state.access import Scopes
from vedette.state.checkins import Pace
from vedette.state.engine import Database
from vedette.state.group_commit import GroupCommit
from vedette.state.sensor_keys import SensorKeys
from vedette.state.sensors import Sensors
from vedette.state.tokens import Tokens
from vedette.store.engine import Engine


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
    views: Views = field(default_factory=Views)
    authentications: CapacityLimiter = field(
        default_factory=lambda: CapacityLimiter(limits.CONCURRENT_AUTHENTICATIONS_MAX)
    )
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
