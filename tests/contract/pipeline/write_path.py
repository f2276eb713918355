"""The write path over a test's engine: what `build` puts together, with a clock that is driven."""

import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from prometheus_client import CollectorRegistry

from vedette.api.schemas.search.search_parameters import search_request
from vedette.bootstrap.ingest_workers import PROGRAM, WorkerLauncher
from vedette.bootstrap.record_policy import keep_of
from vedette.clock import DrivenClock
from vedette.limits import WORKER_STALL_S
from vedette.model.scope import EVERYTHING
from vedette.pipeline.batch.batch_processor import BatchProcessor
from vedette.pipeline.batch.deduplicate import Deduplicator
from vedette.pipeline.batch.host_cache import HostCache
from vedette.pipeline.batch.segment_assigner import SegmentAssigner
from vedette.pipeline.ingest_metrics import IngestMetrics
from vedette.pipeline.ingest_queue import IngestQueue
from vedette.pipeline.partition_control import PartitionControl
from vedette.pipeline.store_writer import StoreWriter
from vedette.pipeline.submission import Outcome, Receipt, Submission
from vedette.pipeline.workers.lookup_server import LookupServer
from vedette.pipeline.workers.processor import CommitProcessor, LocalProcessor
from vedette.pipeline.workers.store_lookup import StoreLookup
from vedette.pipeline.workers.worker_pool import WorkerPool
from vedette.search.processes.process_search import search_processes
from vedette.settings import Settings
from vedette.state.db.database import Database, open_database
from vedette.state.policy.groups import DEFAULT_GROUP_ID
from vedette.state.sensors.channel_codes import Channels
from vedette.state.sensors.host_registry import Sensors
from vedette.state.start import start
from vedette.store.engine.client import Engine
from vedette.store.partitions.lifecycle import unmounted
from vedette.store.read import process as stored

NOON_S = 1_700_049_600
"""The clock when a test begins: 2023-11-15T12:00:00Z, the edge of a window."""

ANSWER_S = 60.0

Json = dict[str, Any]


@dataclass(frozen=True)
class Limits:
    """Commits at once: a test posts one request after the other."""

    queue_bytes_max: int = 256 * 2**20
    commit_bytes_max: int = 24 * 2**20
    commit_wait_ms: int = 0


@dataclass
class WritePath:
    """An open write path. What tests post is stored when `post` returns."""

    engine: Engine
    clock: DrivenClock
    preparation: CommitProcessor
    intake: IngestQueue
    partitions: PartitionControl
    metrics: CollectorRegistry

    def send(self, records: Iterable[Json | bytes]) -> Future[Receipt]:
        """One request with these records. The same records are the same request."""
        return self.intake.enqueue(submission(records))

    def post(self, records: Iterable[Json | bytes]) -> Receipt:
        return self.send(records).result(ANSWER_S)

    def outcomes(self, records: Iterable[Json | bytes]) -> list[Outcome]:
        return [Outcome(code) for code in self.post(records).outcomes]


def submission(records: Iterable[Json | bytes]) -> Submission:
    texts = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in records]
    body = b"\n".join(texts)
    return Submission(texts, DEFAULT_GROUP_ID, crc32(body), len(body))


Prepare = Callable[
    [StoreLookup, Database, DrivenClock, int], AbstractContextManager[CommitProcessor]
]


@contextmanager
def prepared_here(
    guide: StoreLookup, database: Database, clock: DrivenClock, remembered: int
) -> Iterator[LocalProcessor]:
    """CommitProcessor in this process."""
    sensors = Sensors(database)
    preparer = BatchProcessor(
        HostCache(sensors, guide),
        Channels(database),
        SegmentAssigner(guide, remembered),
        Deduplicator(clock.now_us()),
        guide.windows(),
        keep_of(["default"]),
    )
    preparation = LocalProcessor(preparer, guide)
    preparation.without_partitions(unmounted(guide.engine))
    if guide.is_ours_and_empty():
        preparer.registry.begin_empty()
    preparation.recover(0)
    yield preparation
    sensors.flush(clock.now_us())


@contextmanager
def prepared_apart(
    guide: StoreLookup,
    database: Database,
    clock: DrivenClock,
    remembered: int,
    processes: int = 2,
    program: str = PROGRAM,
    stall_s: float = WORKER_STALL_S,
) -> Iterator[WorkerPool]:
    """CommitProcessor in other processes, as a server does it."""
    launcher = WorkerLauncher("warning", "json", program)
    sensors = Sensors(database)
    knowledge = LookupServer(sensors, Channels(database), guide)
    preparation = WorkerPool(
        launcher,
        knowledge,
        guide.windows(),
        clock,
        keep_of(["default"]),
        remembered,
        processes,
        stall_s,
    )
    try:
        preparation.begin(unmounted(guide.engine), is_empty=guide.is_ours_and_empty())
        yield preparation
        sensors.flush(clock.now_us())
    finally:
        preparation.close()
        launcher.close()


@contextmanager
def write_path(
    engine: Engine,
    state: Path,
    clock: DrivenClock,
    limits: Limits | None = None,
    ledger: Any = None,
    remembered: int = 100_000,
    prepared: Prepare = prepared_here,
) -> Iterator[WritePath]:
    """A write path that begins with what `engine` and the state in `state` hold; opening it a
    second time is a restart. `remembered` is how many processes the registry holds."""
    with closing(open_database("", state)) as database:
        start(database, clock.now_us())
        guide = StoreLookup(engine, clock)
        metrics = CollectorRegistry()
        with prepared(guide, database, clock, remembered) as preparation:
            intake = IngestQueue(
                preparation,
                ledger or StoreWriter(engine),
                clock,
                limits or Limits(),
                IngestMetrics(metrics),
                guide.newest_seq() + 1,
            )
            intake.start()
            try:
                partitions = PartitionControl(engine, intake, preparation, clock)
                yield WritePath(engine, clock, preparation, intake, partitions, metrics)
            finally:
                intake.close()


def found(engine: Engine, query: str) -> list[tuple[str, int]]:
    """The segments that a query finds, as the API answers them."""
    results = search_processes(
        engine,
        EVERYTHING,
        search_request([("q", query), ("rows", "10000")]),
        Settings(),
        NOON_S * 1_000_000,
    )
    rows = [(row["process_id"], row["segment_id"]) for row in results.rows]
    assert results.total == len(rows)
    return sorted(rows)


def event_texts(engine: Engine, process_id: str) -> list[str]:
    """Every event of a process as text, sorted."""
    events = stored.events(engine, process_id, EVERYTHING, count=10_000_000)
    return sorted(str(event) for kind in events.by_kind.values() for event in kind)


def segment_ids(engine: Engine, process_id: str) -> list[int]:
    return [segment.segment_id for segment in stored.segments_of(engine, process_id, EVERYTHING)]


def processes(engine: Engine) -> list[str]:
    """Ids of all processes."""
    found = engine.query("SELECT DISTINCT process_id FROM segment ORDER BY process_id")
    return [row[0] for row in found.rows]


def merge(engine: Engine) -> None:
    engine.command(f"OPTIMIZE TABLE `{engine.capabilities.storage('segment')}` FINAL")
