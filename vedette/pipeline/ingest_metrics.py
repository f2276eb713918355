"""Prometheus metrics of the write path."""

from collections import Counter as Tally

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from vedette.pipeline.batch.pack import PackedCommit
from vedette.pipeline.submission import Outcome, Receipt

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class IngestMetrics:
    """Metrics of one ingest queue, registered with `registry`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._records = Counter(
            "vedette_ingest_records",
            "Records received, by outcome.",
            ["outcome"],
            registry=registry,
        )
        self._rejected = Counter(
            "vedette_ingest_rejected",
            "Records rejected, by reason.",
            ["reason"],
            registry=registry,
        )
        self._conflicts = Counter(
            "vedette_ingest_conflicts",
            "Records stored despite an earlier record with the same number.",
            registry=registry,
        )
        self._queue = Gauge(
            "vedette_ingest_queue_bytes",
            "Bytes of request bodies accepted and not yet stored.",
            registry=registry,
        )
        self._prepare = Histogram(
            "vedette_commit_prepare_seconds",
            "Time to process the records of a commit into rows.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._write = Histogram(
            "vedette_commit_write_seconds",
            "Time until a commit is durable.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._failures = Counter(
            "vedette_commit_failures",
            "Failed commits.",
            registry=registry,
        )
        self._outcomes = {
            outcome: self._records.labels(outcome.name.lower()) for outcome in Outcome
        }

    def queued(self, byte_count: int) -> None:
        self._queue.set(byte_count)

    def committed(self, packed: PackedCommit, prepare_s: float, write_s: float) -> None:
        self._prepare.observe(prepare_s)
        self._write.observe(write_s)
        for receipt in packed.receipts:
            self._count(receipt)

    def failed(self) -> None:
        self._failures.inc()

    def _count(self, receipt: Receipt) -> None:
        for (_, _, outcome), count in receipt.tally.items():
            self._outcomes[Outcome(outcome)].inc(count)
        self._conflicts.inc(receipt.conflicts)
        for reason, count in Tally(one.reason for one in receipt.refusals).items():
            self._rejected.labels(reason).inc(count)
