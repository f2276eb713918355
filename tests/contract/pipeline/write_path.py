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

from tests.support.started_state import FILE_NAME, open_started_state
from vedette.bootstrap.ingest_workers import PROGRAM, WorkerLauncher
from vedette.bootstrap.record_policy import keep_of
from vedette.clock import DrivenClock
from vedette.limits import WORKER_STALL_S
from vedette.model.scope import EVERYTHING
from vedette.pipeline.batch.batch_processor import BatchProcessor
from vedette.pipeline.batch.deduplicate import Deduplicator
from vedette.pipeline.batch.host_cache import HostCache
from vedette.pipeline.batch.segment_assigner import SegmentAssigner
from vedette.pipeline.commit_numbers import LocalNumbers
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
from vedette.web.processes.search_parameters_json import search_request

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
    processor: CommitProcessor
    ingest_queue: IngestQueue
    partitions: PartitionControl
    metrics: CollectorRegistry

    def send(self, records: Iterable[Json | bytes]) -> Future[Receipt]:
        """One request with these records. The same records are the same request."""
        return self.ingest_queue.enqueue(submission(records))

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
def local_processor(
    lookup: StoreLookup, database: Database, clock: DrivenClock, cached_processes: int
) -> Iterator[LocalProcessor]:
    """CommitProcessor in this process."""
    sensors = Sensors(database)
    batch = BatchProcessor(
        HostCache(sensors, lookup),
        Channels(database),
        SegmentAssigner(lookup, cached_processes),
        Deduplicator(clock.now_us()),
        lookup.windows(),
        keep_of(["default"]),
    )
    processor = LocalProcessor(batch, lookup)
    processor.without_partitions(unmounted(lookup.engine))
    if lookup.is_ours_and_empty():
        batch.assigner.begin_empty()
    processor.recover(0)
    yield processor
    sensors.flush(clock.now_us())


@contextmanager
def worker_processor(
    lookup: StoreLookup,
    database: Database,
    clock: DrivenClock,
    cached_processes: int,
    processes: int = 2,
    program: str = PROGRAM,
    stall_s: float = WORKER_STALL_S,
) -> Iterator[WorkerPool]:
    """CommitProcessor in other processes, as a server does it."""
    launcher = WorkerLauncher("warning", "json", program)
    sensors = Sensors(database)
    lookup_server = LookupServer(sensors, Channels(database), lookup)
    processor = WorkerPool(
        launcher,
        lookup_server,
        lookup.windows(),
        clock,
        keep_of(["default"]),
        cached_processes,
        processes,
        stall_s,
    )
    try:
        processor.begin(unmounted(lookup.engine), is_empty=lookup.is_ours_and_empty())
        yield processor
        sensors.flush(clock.now_us())
    finally:
        processor.close()
        launcher.close()


@contextmanager
def write_path(
    engine: Engine,
    state: Path,
    clock: DrivenClock,
    limits: Limits | None = None,
    ledger: Any = None,
    cached_processes: int = 100_000,
    prepared: Prepare = local_processor,
) -> Iterator[WritePath]:
    """A write path that begins with what `engine` and the state in `state` hold; opening it a
    second time is a restart. `cached_processes` is how many processes the registry holds."""
    with closing(_opened(state, clock.now_us())) as database:
        lookup = StoreLookup(engine, clock)
        metrics = CollectorRegistry()
        with prepared(lookup, database, clock, cached_processes) as processor:
            ingest_queue = IngestQueue(
                processor,
                ledger or StoreWriter(engine),
                clock,
                limits or Limits(),
                IngestMetrics(metrics),
                LocalNumbers(lookup.newest_seq() + 1),
            )
            ingest_queue.start()
            try:
                partitions = PartitionControl(engine, ingest_queue, processor, clock, database)
                yield WritePath(engine, clock, processor, ingest_queue, partitions, metrics)
            finally:
                ingest_queue.close()


def _opened(state: Path, now_us: int) -> Database:
    if not (state / FILE_NAME).exists():
        return open_started_state(state, now_us)
    database = open_database("", state)
    start(database, now_us)
    return database


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
