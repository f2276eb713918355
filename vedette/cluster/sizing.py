"""How large a cluster has to be (docs/scaling.md): a model of measured figures and stated
assumptions. Pure arithmetic; `load_simulation.py` looks at what queues and failures add."""

import math
from dataclasses import dataclass
from typing import Final, Literal

from vedette.errors import BadRequestError
from vedette.limits import ONE_MACHINE_EVENTS_S, PLANNED_OPEN_DAYS, SHARD_OPEN_EVENTS_MAX

DAY_S: Final = 86_400


@dataclass(frozen=True, slots=True)
class Costs:
    """What was measured (docs/performance.md), as core microseconds, milliseconds and bytes."""

    server_us: float = 50.0
    """A server's work on an event: 18 to 21 of preparing, 25 to 29 of TLS, HTTP and Arrow."""
    insert_us: float = 3.3
    """A replica's work to insert an event."""
    merge_us: float = 4.0
    """A replica's work to merge it: three passes of 1.24."""
    insert_ms: float = 25.0
    """What an insert costs whatever its size."""
    checkin_ms: float = 0.9
    """A server's work on a check-in of a sensor."""
    event_bytes: float = 12.0
    """On disk, with indexes: 10.0 merged, 17.6 before merges end."""
    search_core_s: float = 0.1
    """A shard's work on a search, however little it holds."""
    search_event_us: float = 0.001
    """And for each event of its open partition: 0.1 s for 100 million."""


MEASURED: Final = Costs()


@dataclass(frozen=True, slots=True)
class Machines:
    """What one machine has, and how much of it may be used at the peak of a day."""

    server_cores: int = 16
    replica_cores: int = 16
    replica_disk_bytes: float = 4e12
    used_share: float = 0.5
    disk_share: float = 0.7


@dataclass(frozen=True, slots=True)
class Fleet:
    """What is to be taken in and kept."""

    endpoints: int
    days: int
    events_a_day: int = 17_000
    """Of one endpoint: a simulated host of a mixed fleet has 16,700."""
    peak: float = 3.0
    """Events a second in the busiest minutes, as a multiple of the day's mean."""
    searches_a_s: float = 0.0
    """Of all analysts and programs; 0: one for each 50,000 endpoints."""
    commit_wait_s: float = 0.5
    """`commit_wait_ms` of the servers: how often each of them inserts on each shard."""
    checkin_s: int = 30
    replicas: int = 3


@dataclass(frozen=True, slots=True)
class Plan:
    """What a fleet needs."""

    fleet: Fleet
    events_s: float
    peak_events_s: float
    stored_bytes: float
    """Of one copy."""
    one_machine: Literal["enough", "at its limit", "not enough"]
    """Whether an embedded store does; the numbers below are those of a cluster all the same."""
    servers: int
    shards: int
    replicas: int
    replica_bytes: float
    """Of telemetry."""
    replica_disk_bytes: float
    """Of the disk that is filled with it to the share that is planned."""
    inserts_a_shard_s: float
    bounded_by: str
    """What decides the number of shards."""


def plan(fleet: Fleet, costs: Costs = MEASURED, machines: Machines | None = None) -> Plan:
    """The least numbers of machines with which no part is used more than `Machines` allows. Raises
    BadRequestError where no number of shards would do."""
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
        fleet, events_s, peak, stored, _one_machine(machines, peak, stored), servers, shards,
        fleet.replicas, share, share / machines.disk_share, _inserts_s(fleet, servers), bounded_by,
    )  # fmt: skip


def _one_machine(
    machines: Machines, peak: float, stored: float
) -> Literal["enough", "at its limit", "not enough"]:
    """Enough with as much again to spare."""
    used = max(peak / ONE_MACHINE_EVENTS_S, stored / machines.replica_disk_bytes)
    return "enough" if used <= 1 / 2 else "at its limit" if used <= 1 else "not enough"


def _servers(fleet: Fleet, costs: Costs, machines: Machines, peak: float) -> int:
    """At least two, and one more than the peak needs: the others take over what it had."""
    checkins = fleet.endpoints / fleet.checkin_s * costs.checkin_ms / 1e3
    cores = peak * costs.server_us / 1e6 + checkins
    return max(2, math.ceil(cores / (machines.server_cores * machines.used_share)) + 1)


def _inserts_s(fleet: Fleet, servers: int) -> float:
    """Inserts a second on each shard: every commit of every server touches all shards that its
    hosts are on; five tables a commit."""
    return servers / fleet.commit_wait_s * 5


def _by_processor(
    fleet: Fleet, costs: Costs, machines: Machines, peak: float, servers: int
) -> float:
    room = machines.replica_cores * machines.used_share
    # What each shard spends on inserts, however few rows they have, is not shared out by more.
    fixed = _inserts_s(fleet, servers) * costs.insert_ms / 1e3
    searches = fleet.searches_a_s or fleet.endpoints / 50_000
    # Every search asks every shard.
    fixed += searches * costs.search_core_s
    if fixed >= room:
        return math.inf
    events = fleet.endpoints * fleet.events_a_day * min(PLANNED_OPEN_DAYS, fleet.days)
    work = peak * (costs.insert_us + costs.merge_us) / 1e6
    work += searches * events * costs.search_event_us / 1e6
    return work / (room - fixed)
