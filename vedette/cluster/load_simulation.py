"""Discrete-event simulation of servers and shards under load, with failures; no sleeping.

Events arrive at servers, are prepared and committed: a commit inserts on every shard of its hosts
and is acknowledged when a quorum of each shard has stored it. When a server fails, senders send its
unacknowledged events to the other servers once its leases have ended. An insert whose quorum is
unavailable waits. Every event is in one place at any time: `Counts.is_whole`.
"""

import heapq
import math
import random
from dataclasses import dataclass, field, replace
from itertools import count

from vedette.cluster.sizing import MEASURED, Costs
from vedette.limits import Limit

SIMULATION_TICK_S: Limit[float] = 0.05
"""Time between two arrivals of events in a simulation of a cluster: short compared with a
commit."""

SIMULATED_HOST_EVENTS: Limit[int] = 20
"""Events that one simulated host sends at a time."""


@dataclass(frozen=True, slots=True)
class Load:
    """Parameters of a simulation."""

    events_s: float
    seconds: float = 60.0
    servers: int = 20
    shards: int = 100
    replicas: int = 3
    quorum: int = 2
    server_cores: int = 16
    replica_cores: int = 16
    commit_wait_s: float = 0.5
    commit_events_max: int = 200_000
    lease_s: float = 10.0
    failures: int = 0
    """Number of servers and replicas that fail, each for `down_s`."""
    down_s: float = 20.0
    seed: int = 1
    costs: Costs = MEASURED


@dataclass(slots=True)
class Counts:
    """Number of events in each place."""

    offered: int = 0
    acknowledged: int = 0
    waiting: int = 0
    """Events at servers, not yet in a commit."""
    committing: int = 0
    unsent: int = 0
    """Events kept by senders whose server has failed."""

    @property
    def is_whole(self) -> bool:
        return self.offered == self.acknowledged + self.waiting + self.committing + self.unsent


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a simulation; shares are of the cores of the busiest machine, over the whole
    time."""

    counts: Counts
    acknowledged_s: float
    delay_p50_s: float
    delay_p99_s: float
    """Delay from arrival to acknowledgment, for commits."""
    server_share: float
    shard_share: float
    inserts_a_shard_s: float
    is_saturated: bool
    """Whether more than two seconds' events were waiting at the end."""


@dataclass(slots=True)
class _Server:
    waiting: list[tuple[float, int]] = field(default_factory=list)
    """Arrival times and numbers of events."""
    commit: list[tuple[float, int]] = field(default_factory=list)
    busy_s: float = 0.0
    is_up: bool = True
    life: int = 0
    """Incremented by a failure: work begun in an earlier life is ignored."""


@dataclass(slots=True)
class _Shard:
    free_s: list[list[float]]
    """Time at which each core of each replica is free."""
    busy_s: float = 0.0
    down: int = 0


class Simulation:
    """One run; call `run` only once."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._random = random.Random(load.seed)
        self._counts = Counts()
        self._servers = [_Server() for _ in range(load.servers)]
        cores = [0.0] * load.replica_cores
        self._shards = [
            _Shard([list(cores) for _ in range(load.replicas)]) for _ in range(load.shards)
        ]
        self._unsent: list[tuple[float, int]] = []
        self._delays: list[tuple[float, int]] = []
        self._inserts = 0
        self._order = count()
        self._events: list[tuple[float, int, str, int, int]] = []
        self._plan_failures()
        for number in range(load.servers):
            self._at(self._random.random() * load.commit_wait_s, "commit", number, 0)
        self._at(0.0, "arrive", 0, 0)

    def run(self) -> Outcome:
        """Runs until the end time; open work then stays open."""
        while self._events and self._events[0][0] <= self._load.seconds:
            now, _, kind, number, life = heapq.heappop(self._events)
            match kind:
                case "arrive":
                    self._arrive(now)
                case "commit":
                    self._commit(now, number, life)
                case "stored":
                    self._stored(now, number, life)
                case "fail" | "lease over" | "up":
                    self._change_server(now, kind, number)
                case "replica fails" | "replica up":
                    self._shards[number].down += 1 if kind == "replica fails" else -1
        return self._outcome()

    def _at(self, time_s: float, kind: str, number: int, life: int) -> None:
        heapq.heappush(self._events, (time_s, next(self._order), kind, number, life))

    def _plan_failures(self) -> None:
        load = self._load
        for place in range(load.failures):
            when = load.seconds * (0.2 + 0.4 * self._random.random())
            if place % 2:
                shard = self._random.randrange(load.shards)
                self._at(when, "replica fails", shard, 0)
                self._at(when + load.down_s, "replica up", shard, 0)
            else:
                self._at(when, "fail", self._random.randrange(load.servers), 0)

    def _arrive(self, now: float) -> None:
        mean = self._load.events_s * SIMULATION_TICK_S
        events = max(0, round(self._random.gauss(mean, math.sqrt(mean))))
        self._counts.offered += events
        each, rest = divmod(events, len(self._servers))
        for place, server in enumerate(self._servers):
            number = each + (place < rest)
            if not server.is_up:
                self._unsent.append((now, number))
                self._counts.unsent += number
            elif number:
                server.waiting.append((now, number))
                self._counts.waiting += number
        self._at(now + SIMULATION_TICK_S, "arrive", 0, 0)

    def _commit(self, now: float, number: int, life: int) -> None:
        server, load = self._servers[number], self._load
        if life != server.life or not server.is_up:
            return
        taken = self._take(server)
        events = sum(count for _, count in taken)
        if not events:
            self._at(now + load.commit_wait_s, "commit", number, life)
            return
        work = events * load.costs.server_us / 1e6
        server.busy_s += work
        server.commit = taken
        self._at(self._insert(now + work / load.server_cores, events), "stored", number, life)

    def _take(self, server: _Server) -> list[tuple[float, int]]:
        taken, events = [], 0
        while server.waiting and events < self._load.commit_events_max:
            taken.append(server.waiting.pop(0))
            events += taken[-1][1]
        self._counts.waiting -= events
        self._counts.committing += events
        return taken

    def _insert(self, now: float, events: int) -> float:
        """Returns the time when a commit that begins to insert at `now` is on a quorum of all its
        shards."""
        load = self._load
        hosts = max(1, events // SIMULATED_HOST_EVENTS)
        touched = max(1, round(load.shards * (1 - (1 - 1 / load.shards) ** hosts)))
        share = events / touched
        self._inserts += touched
        done = [self._insert_on(self._shards[one], now, share) for one in self._some(touched)]
        return max(done)

    def _some(self, touched: int) -> list[int]:
        return self._random.sample(range(self._load.shards), touched)

    def _insert_on(self, shard: _Shard, now: float, events: float) -> float:
        load = self._load
        work = load.costs.insert_ms / 1e3 + events * load.costs.insert_us / 1e6
        merging = events * load.costs.merge_us / 1e6
        up = load.replicas - shard.down
        ends = []
        for cores in shard.free_s[: max(up, 0)]:
            begin = max(now, heapq.heappop(cores))
            heapq.heappush(cores, begin + work + merging)
            ends.append(begin + work)
        shard.busy_s += work + merging
        if up < load.quorum:  # waits for a replica to come back
            return now + load.down_s
        return sorted(ends)[load.quorum - 1]

    def _stored(self, now: float, number: int, life: int) -> None:
        server = self._servers[number]
        if life != server.life:
            return  # stored, but not acknowledged: sent again, and deduplicated
        for since, events in server.commit:
            self._counts.committing -= events
            self._counts.acknowledged += events
            self._delays.append((now - since, events))
        server.commit = []
        self._at(now + self._load.commit_wait_s, "commit", number, life)

    def _change_server(self, now: float, kind: str, number: int) -> None:
        server = self._servers[number]
        if kind == "fail" and server.is_up:
            server.is_up, server.life = False, server.life + 1
            for events in (sum(n for _, n in server.waiting), sum(n for _, n in server.commit)):
                self._counts.unsent += events
            self._counts.waiting -= sum(n for _, n in server.waiting)
            self._counts.committing -= sum(n for _, n in server.commit)
            self._unsent += server.waiting + server.commit
            server.waiting, server.commit = [], []
            self._at(now + self._load.lease_s, "lease over", number, 0)
            self._at(now + self._load.down_s, "up", number, 0)
        elif kind == "up" and not server.is_up:
            server.is_up = True
            self._at(now, "commit", number, server.life)
        self._hand_over()
        if kind == "lease over" and not server.is_up:
            self._at(now + 1.0, "lease over", number, 0)  # its hosts go on sending

    def _hand_over(self) -> None:
        """Passes the events kept by senders to the servers that are up."""
        up = [server for server in self._servers if server.is_up]
        if not up:
            return
        for place, (since, events) in enumerate(self._unsent):
            up[place % len(up)].waiting.append((since, events))
            self._counts.unsent -= events
            self._counts.waiting += events
        self._unsent = []

    def _outcome(self) -> Outcome:
        load, counts = self._load, self._counts
        left = counts.offered - counts.acknowledged
        server_room = load.seconds * load.server_cores
        shard_room = load.seconds * load.replica_cores
        return Outcome(
            counts=counts,
            acknowledged_s=counts.acknowledged / load.seconds,
            delay_p50_s=_quantile(self._delays, 0.5),
            delay_p99_s=_quantile(self._delays, 0.99),
            server_share=max(one.busy_s for one in self._servers) / server_room,
            shard_share=max(one.busy_s for one in self._shards) / shard_room,
            inserts_a_shard_s=self._inserts / load.shards / load.seconds,
            is_saturated=left > load.events_s * (2.0 + load.commit_wait_s),
        )


def _quantile(delays: list[tuple[float, int]], share: float) -> float:
    """Returns the delay quantile: a `share` of the events had at most this delay."""
    wanted = share * sum(events for _, events in delays)
    for delay, events in sorted(delays):
        wanted -= events
        if wanted <= 0:
            return delay
    return 0.0


def saturation(load: Load, step: float = 1.25) -> tuple[float, Outcome]:
    """Returns (largest load in events per second that the machines keep up with, within a factor
    `step`; outcome of the next larger load). The load is 0.0 if they keep up with none."""
    rate, outcome = load.events_s, Simulation(load).run()
    while outcome.is_saturated and rate >= 1:
        beyond, rate = outcome, rate / step
        outcome = Simulation(replace(load, events_s=rate)).run()
        if not outcome.is_saturated:
            return rate, beyond
    while not outcome.is_saturated:
        kept, rate = rate, rate * step
        outcome = Simulation(replace(load, events_s=rate)).run()
        if outcome.is_saturated:
            return kept, outcome
    return 0.0, outcome
