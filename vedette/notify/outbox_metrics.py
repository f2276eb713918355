"""Prometheus metrics of the outbox, by kind of target."""

from collections import Counter as Tally
from collections.abc import Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge

from vedette.notify.targets import kind_of
from vedette.state.jobs.outbox import Target


class OutboxMetrics:
    """Metrics registered with `registry`."""

    def __init__(self, registry: CollectorRegistry, kinds: Sequence[str]) -> None:
        self._kinds = tuple(kinds)
        self._attempts = Counter(
            "vedette_outbox_messages",
            "Messages by outcome; failed messages are retried.",
            ["kind", "outcome"],
            registry=registry,
        )
        self._waiting = Gauge(
            "vedette_outbox_waiting", "Messages queued for sending.", ["kind"], registry=registry
        )
        self._failing = Gauge(
            "vedette_outbox_failing_targets",
            "Targets whose last attempt failed.",
            ["kind"],
            registry=registry,
        )
        self._dead = Gauge(
            "vedette_outbox_dead",
            "Dead messages, which need manual action.",
            ["kind"],
            registry=registry,
        )
        self._overflow = Gauge(
            "vedette_outbox_overflow",
            "Messages dropped because the queue of their target was full.",
            ["kind"],
            registry=registry,
        )

    def count(self, kind: str, outcome: str, count: int = 1) -> None:
        self._attempts.labels(kind, outcome).inc(count)

    def show(self, targets: Sequence[Target], dead: Mapping[str, int]) -> None:
        """Sets the gauges from the state of the database."""
        sums: dict[str, Tally[str]] = {
            name: Tally() for name in ("waiting", "failing", "overflow", "dead")
        }
        for one in targets:
            kind = kind_of(one.name)
            sums["waiting"][kind] += one.waiting
            sums["failing"][kind] += one.failures > 0
            sums["overflow"][kind] += one.refused
            sums["dead"][kind] += dead.get(one.name, 0)
        for kind in self._kinds:
            self._waiting.labels(kind).set(sums["waiting"][kind])
            self._failing.labels(kind).set(sums["failing"][kind])
            self._overflow.labels(kind).set(sums["overflow"][kind])
            self._dead.labels(kind).set(sums["dead"][kind])
