"""Load generator: the simulated fleet at a given event rate, for a given time or count.

Each connection has its own endpoints and one request in flight, so the events of an endpoint arrive
in order. Bodies come from templates (`template.py`). The rate applies to all connections together.
If the server falls behind, missed events are skipped, not caught up.
"""

import resource
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from vedette.errors import BadRequestError, VedetteError
from vedette.simulate.bulk_client import BulkConnection, Delivery, Target
from vedette.simulate.fleet import Fleet, build_fleet
from vedette.simulate.template import Cycle, Template, record_templates

SECONDS_DEFAULT = 60
RECORDED_EVENTS = 96_000
"""Events in all templates together, about 130 MB: as many distinct events as memory allows."""

TEMPLATES_MIN = 3
_BEHIND_S_MAX = 0.5
"""Lag behind the rate above which missed events are skipped, seconds."""


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """Amount and rate of the load."""

    endpoints: int = 200
    events_per_s: float = 10_000
    """0 sends as fast as the server acknowledges."""
    seconds: float = SECONDS_DEFAULT
    events_max: int = 0
    """0 limits the run by time only."""
    connections: int = 12
    events_per_request: int = 4_000
    seed: int = 1

    def __post_init__(self) -> None:
        if self.endpoints < self.connections or self.connections < 1:
            raise BadRequestError("at least one connection, and an endpoint for each")
        if self.seconds <= 0 or self.events_per_s < 0 or self.events_per_request < 1:
            raise BadRequestError("seconds and events per request must be positive")

    @property
    def templates_each(self) -> int:
        """Templates per connection; a short run records no more than it sends."""
        wanted = RECORDED_EVENTS
        if self.events_per_s:
            wanted = min(wanted, int(self.events_per_s * self.seconds))
        return max(TEMPLATES_MIN, wanted // (self.connections * self.events_per_request))


@dataclass(frozen=True, slots=True)
class LoadResult:
    """Sent and acknowledged events. Times in seconds unless named otherwise."""

    seconds: float
    sent: int
    """Events posted, each counted once, however often it was sent again."""
    stored: int
    known: int
    refused: int
    waits: int
    errors: tuple[str, ...]
    events_per_s: float
    """Acknowledged events per second."""
    latency_p50_ms: float
    latency_p95_ms: float
    latency_max_ms: float
    bytes_per_event: float
    sender_cpu_s: float
    sender_cpu_share: float
    """Fraction of one core."""

    @property
    def acknowledged(self) -> int:
        return self.stored + self.known


class RateLimiter:
    """Rate limiter shared by all connections."""

    def __init__(self, events_per_s: float, now_s: float) -> None:
        self._events_per_s = events_per_s
        self._due_s = now_s
        self._lock = threading.Lock()

    def wait_s(self, events: int, now_s: float) -> float:
        """Reserves `events`; returns the seconds to wait before sending them."""
        if not self._events_per_s:
            return 0.0
        with self._lock:
            due = max(self._due_s, now_s - _BEHIND_S_MAX)
            self._due_s = due + events / self._events_per_s
            return due - now_s


@dataclass(slots=True)
class LoadCounters:
    """Counters of all senders together."""

    sent: int = 0
    sent_bytes: int = 0
    stored: int = 0
    known: int = 0
    refused: int = 0
    waits: int = 0
    latencies_s: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, body_bytes: int, delivery: Delivery) -> None:
        with self.lock:
            self.sent += delivery.acknowledged + delivery.refused
            self.sent_bytes += body_bytes
            self.stored += delivery.stored
            self.known += delivery.known
            self.refused += delivery.refused
            self.waits += delivery.waits
            self.latencies_s.append(delivery.seconds)


def run_load(
    plan: LoadPlan,
    target: Target,
    watch: Callable[[LoadCounters, float], None] | None = None,
) -> LoadResult:
    """Sends until the plan's time or count is used up; calls `watch` four times per second with the
    counters and the elapsed seconds. Templates are recorded before the clock starts."""
    parts = [
        record_templates(part, plan.templates_each, plan.events_per_request, int(time.time()))
        for part in split_fleet(plan)
    ]
    counters = LoadCounters()
    begin, begin_cpu = time.monotonic(), _cpu_s()
    limiter = RateLimiter(plan.events_per_s, begin)
    end = begin + plan.seconds
    senders = [
        threading.Thread(
            target=_send, args=(plan, target, part, limiter, counters, end), daemon=True
        )
        for part in parts
    ]
    for sender in senders:
        sender.start()
    for sender in senders:
        while sender.is_alive():
            sender.join(0.25)
            if watch is not None:
                watch(counters, time.monotonic() - begin)
    return _result(counters, time.monotonic() - begin, _cpu_s() - begin_cpu)


def split_fleet(plan: LoadPlan) -> list[Fleet]:
    """Distributes the plan's endpoints, all Windows hosts, over its connections."""
    fleet = build_fleet(plan.seed, plan.endpoints, only="windows")
    return [
        Fleet(fleet.seed + number, fleet.hosts[number :: plan.connections])
        for number in range(plan.connections)
    ]


def _send(
    plan: LoadPlan,
    target: Target,
    part: tuple[list[Template], Cycle],
    limiter: RateLimiter,
    counters: LoadCounters,
    end_s: float,
) -> None:
    templates, cycle = part
    connection = BulkConnection(target)
    turn = 0
    try:
        while not (plan.events_max and counters.sent >= plan.events_max):
            template = templates[turn % len(templates)]
            turn += 1
            wait_s = limiter.wait_s(template.events, time.monotonic())
            if time.monotonic() + max(0.0, wait_s) >= end_s:
                break
            if wait_s > 0:
                time.sleep(wait_s)
            template.fill(cycle, int(time.time()))
            counters.add(len(template.body), connection.deliver(template.body))
    except VedetteError as error:
        counters.errors.append(error.message)
    finally:
        connection.close()


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _result(counters: LoadCounters, seconds: float, cpu_s: float) -> LoadResult:
    ordered = sorted(counters.latencies_s) or [0.0]
    return LoadResult(
        seconds=seconds,
        sent=counters.sent,
        stored=counters.stored,
        known=counters.known,
        refused=counters.refused,
        waits=counters.waits,
        errors=tuple(counters.errors),
        events_per_s=(counters.stored + counters.known) / seconds,
        latency_p50_ms=ordered[len(ordered) // 2] * 1000,
        latency_p95_ms=ordered[int((len(ordered) - 1) * 0.95)] * 1000,
        latency_max_ms=ordered[-1] * 1000,
        bytes_per_event=counters.sent_bytes / max(1, counters.sent),
        sender_cpu_s=cpu_s,
        sender_cpu_share=cpu_s / seconds,
    )
