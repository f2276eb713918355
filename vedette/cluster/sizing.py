"""Computes the size of a cluster (docs/scaling.md) from measured costs and stated assumptions. Pure
arithmetic; `load_simulation.py` adds the effects of queues and failures."""

import math
from dataclasses import dataclass
from typing import Final, Literal

from vedette.errors import BadRequestError
from vedette.limits import Limit

ONE_MACHINE_EVENTS_S: Limit[int] = 20_000
"""Events per second that two cores acknowledged in a busy hour, less a tenth: the planned load of
one machine."""

SHARD_OPEN_EVENTS_MAX: Limit[int] = 500_000_000
"""Events of the open partition of a shard up to which searches answer in a second or two."""

PLANNED_OPEN_DAYS: Limit[int] = 3
"""Days of the open partition in plans: the default of `partition_roll_hours`."""


DAY_S: Final = 86_400


@dataclass(frozen=True, slots=True)
class Costs:
    """Measured costs (docs/performance.md), as core microseconds, milliseconds and bytes."""

    server_us: float = 50.0
    """A server's work per event: 18 to 21 for preparing, 25 to 29 for TLS, HTTP and Arrow."""
    insert_us: float = 3.3
    """A replica's work to insert an event."""
    merge_us: float = 4.0
    """A replica's work to merge an event: three passes of 1.24."""
    insert_ms: float = 25.0
    """Cost of an insert, whatever its size."""
    checkin_ms: float = 0.9
    """A server's work per check-in of a sensor."""
    event_bytes: float = 12.0
    """On disk, with indexes: 10.0 merged, 17.6 before merges end."""
    search_core_s: float = 0.1
    """A shard's fixed work per search."""
    search_event_us: float = 0.001
    """A shard's additional work per search for each event of its open partition: 0.1 s for 100
    million."""


MEASURED: Final = Costs()


@dataclass(frozen=True, slots=True)
class Machines:
    """Resources of one machine, and the share of them that may be used at the peak of a day."""

    server_cores: int = 16
    replica_cores: int = 16
    replica_disk_bytes: float = 4e12
    used_share: float = 0.5
    disk_share: float = 0.7


@dataclass(frozen=True, slots=True)
class Fleet:
    """Telemetry to take in and keep."""

    endpoints: int
    days: int
    events_a_day: int = 17_000
    """Events of one endpoint: a simulated host of a mixed fleet has 16,700."""
    peak: float = 3.0
    """Events per second in the busiest minutes, as a multiple of the day's mean."""
    searches_a_s: float = 0.0
    """Searches of all analysts and programs; 0: one per second for each 50,000 endpoints."""
    commit_wait_s: float = 0.5
    """`commit_wait_ms` of the servers: the interval at which each inserts on each shard."""
    checkin_s: int = 30
    replicas: int = 3


@dataclass(frozen=True, slots=True)
class Plan:
    """Required resources of a fleet."""

    fleet: Fleet
    events_s: float
    peak_events_s: float
    stored_bytes: float
    """Bytes of one copy."""
    one_machine: Literal["enough", "at its limit", "not enough"]
    """Whether an embedded store suffices; the numbers below always describe a cluster."""
    servers: int
    shards: int
    replicas: int
    replica_bytes: float
    """Bytes of telemetry per replica."""
    replica_disk_bytes: float
    """Size of the disk that the telemetry fills to the planned share."""
    inserts_a_shard_s: float
    bounded_by: str
    """The resource that determines the number of shards."""


def plan(fleet: Fleet, costs: Costs = MEASURED, machines: Machines | None = None) -> Plan:
    """Returns the smallest numbers of machines that keep every resource within the shares of
    `Machines`. Raises BadRequestError if no number of shards suffices."""
    machines = machines or Machines()
    events_s = fleet.endpoints * fleet.events_a_day / DAY_S
    peak = events_s * fleet.peak
    stored = fleet.endpoints * fleet.events_a_day * fleet.days * costs.event_bytes
    servers = _servers(fleet, costs, machines, peak)
    wanted = {
        "processor": _by_processor(fleet, costs, machines, peak, servers),
        "disk": stored / (machines.replica_disk_bytes * machines.disk_share),
        "searches": events_s * DAY_S * min(PLANNED_OPEN_DAYS, fleet.days) / SHARD_OPEN_EVENTS_MAX,
    }
    bounded_by = max(wanted, key=lambda name: wanted[name])
    if math.isinf(wanted[bounded_by]):
        raise BadRequestError(
            f"{servers} servers insert too often for shards of {machines.replica_cores} cores: "
            "make commits rarer (--commit-wait), or the machines larger"
        )
    shards = max(1, math.ceil(wanted[bounded_by]))
    share = stored / shards
    return Plan(
        fleet,
        events_s,
        peak,
        stored,
        _one_machine(machines, peak, stored),
        servers,
        shards,
        fleet.replicas,
        share,
        share / machines.disk_share,
        _inserts_s(fleet, servers),
        bounded_by,
    )


def _one_machine(
    machines: Machines, peak: float, stored: float
) -> Literal["enough", "at its limit", "not enough"]:
    """Returns "enough" if a machine could take twice the load."""
    used = max(peak / ONE_MACHINE_EVENTS_S, stored / machines.replica_disk_bytes)
    return "enough" if used <= 1 / 2 else "at its limit" if used <= 1 else "not enough"


def _servers(fleet: Fleet, costs: Costs, machines: Machines, peak: float) -> int:
    """Returns at least two servers, and one more than the peak needs, so that the others can take
    over its load."""
    checkins = fleet.endpoints / fleet.checkin_s * costs.checkin_ms / 1e3
    cores = peak * costs.server_us / 1e6 + checkins
    return max(2, math.ceil(cores / (machines.server_cores * machines.used_share)) + 1)


def _inserts_s(fleet: Fleet, servers: int) -> float:
    """Returns inserts per second on each shard: every commit of every server touches all shards of
    its hosts, with five tables per commit."""
    return servers / fleet.commit_wait_s * 5


def _by_processor(
    fleet: Fleet, costs: Costs, machines: Machines, peak: float, servers: int
) -> float:
    room = machines.replica_cores * machines.used_share
    # More shards do not divide the fixed cost of inserts.
    fixed = _inserts_s(fleet, servers) * costs.insert_ms / 1e3
    searches = fleet.searches_a_s or fleet.endpoints / 50_000
    # Every search queries every shard.
    fixed += searches * costs.search_core_s
    if fixed >= room:
        return math.inf
    events = fleet.endpoints * fleet.events_a_day * min(PLANNED_OPEN_DAYS, fleet.days)
    work = peak * (costs.insert_us + costs.merge_us) / 1e6
    work += searches * events * costs.search_event_us / 1e6
    return work / (room - fixed)
