"""Main loop of a worker process: executes the server's orders until the channel closes.

A worker has neither store nor state database. It sends its lookups to the server (`LookupClient`),
which is waiting for the commit anyway.
"""

import gc
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, assert_never, cast

import structlog
from pyroaring import BitMap

from vedette.detect.judged_rule import decoded_rules
from vedette.errors import UnavailableError, VedetteError
from vedette.ingest.decode import decode
from vedette.ingest.filter import compile_filters
from vedette.limits import Limit
from vedette.model.host import HostProcess, SensorRef, Sighting
from vedette.pipeline.batch.batch_processor import BatchProcessor
from vedette.pipeline.batch.decoded_batch import Decode, DecodedBatch, decode_submission
from vedette.pipeline.batch.deduplicate import Deduplicator
from vedette.pipeline.batch.host_cache import HostCache
from vedette.pipeline.batch.pack import pack
from vedette.pipeline.batch.segment_assigner import SegmentAssigner, SegmentPlace
from vedette.pipeline.submission import Submission
from vedette.pipeline.time_windows import TimeWindows
from vedette.pipeline.workers.message_channel import MessageChannel
from vedette.pipeline.workers.ownership import HostOwnership, ReshardError, UnownedSensors
from vedette.pipeline.workers.progress import ProgressReporter
from vedette.pipeline.workers.protocol import (
    Begin,
    ChannelCodesFound,
    ClaimSensors,
    Deliver,
    Failed,
    ForgetSlots,
    FromServer,
    HostProcessesFound,
    Lookup,
    LookupChannelCodes,
    LookupHostProcesses,
    LookupProcesses,
    LookupProcessHashes,
    LookupSensors,
    Order,
    Ping,
    ProcessCommit,
    Processed,
    ProcessesFound,
    ProcessHashesFound,
    Reset,
    Restore,
    SensorsFound,
    SensorsOwned,
    WithoutPartitions,
)
from vedette.pipeline.workers.refusal_pieces import take_refusals
from vedette.store.engine.arrow_arrays import packed

WORKER_COLLECT_YOUNG_S: Limit[int] = 10
"""Interval of garbage collection of young objects, between commits. Automatic collection is off: it
would traverse every batch of telemetry many times and find nothing."""

WORKER_COLLECT_ALL_S: Limit[int] = 300
"""Interval of garbage collection of all objects, between commits."""


log = structlog.get_logger(__name__)

ServerChannel = MessageChannel[FromServer]


_Answer = TypeVar("_Answer")


class Inbox:
    """Messages from the server. Defers each `Deliver` and `Ping` that arrives before an answer."""

    def __init__(self, channel: ServerChannel) -> None:
        self._channel = channel
        self._deferred: deque[Deliver | Ping] = deque()

    def order(self) -> FromServer:
        """Returns the next order. Blocks; raises ConnectionError if the server is gone."""
        return self._deferred.popleft() if self._deferred else self._channel.receive()

    def answer(self) -> FromServer:
        """Returns the answer to the pending lookup. Blocks; raises ConnectionError."""
        while isinstance(message := self._channel.receive(), Deliver | Ping):
            self._deferred.append(message)
        return message


class LookupClient:
    """Lookups in the server's state database and store. Methods block, and raise UnavailableError
    if the server cannot answer, ConnectionError if it is gone."""

    def __init__(self, channel: ServerChannel, inbox: Inbox) -> None:
        self._channel = channel
        self._inbox = inbox
        self.seen: list[tuple[int, str, str, str, str]] = []
        """Arguments of `note` since the commit began, sent with its result."""

    def resolve(
        self,
        hosts: Mapping[str, Sighting],
        group_id: int,
        now_us: int,
        *,
        any_group: bool = False,
        sensor_id: int = 0,
    ) -> dict[str, SensorRef]:
        names = {name: sighting.os_type for name, sighting in hosts.items()}
        lookup = LookupSensors(names, group_id, now_us, any_group, sensor_id)
        return self._look_up(lookup, SensorsFound).sensors

    def note(
        self,
        sensor_id: int,
        _seen_us: int,
        *,
        interface_ip: str = "",
        host_type: str = "",
        computer_sid: str = "",
        adapters: str = "",
    ) -> None:
        self.seen.append((sensor_id, interface_ip, host_type, computer_sid, adapters))

    def codes(self, names: Iterable[str], group_id: int) -> dict[str, int]:
        return self._look_up(LookupChannelCodes(list(names), group_id), ChannelCodesFound).codes

    def processes(
        self, process_ids: list[str]
    ) -> dict[str, tuple[dict[str, Any], list[SegmentPlace]]]:
        return self._look_up(LookupProcesses(process_ids), ProcessesFound).found

    def process_hashes(self) -> BitMap | None:
        hashes = self._look_up(LookupProcessHashes(), ProcessHashesFound).hashes
        return None if hashes is None else BitMap.deserialize(hashes)

    def host_processes(self, sensor_ids: Sequence[int]) -> list[HostProcess]:
        return self._look_up(LookupHostProcesses(list(sensor_ids)), HostProcessesFound).found

    def claim(self, unowned: UnownedSensors) -> list[int] | None:
        return self._look_up(ClaimSensors(unowned), SensorsOwned).granted

    def _look_up(self, lookup: Lookup | ClaimSensors, expected: type[_Answer]) -> _Answer:
        self._channel.send(lookup)
        answer = self._inbox.answer()
        match answer:
            case Failed(message, reason) if reason:
                raise UnavailableError(message, reason=reason)
            case Failed(message):
                raise RuntimeError(message)
        assert isinstance(answer, expected)
        return answer


class WorkerProcess:
    """The main loop. `run` returns when the server is gone. `decode_record` decodes the text of one
    record to records; it is an argument so that a test can pass a function that never returns."""

    def __init__(
        self, channel: ServerChannel, progress: ProgressReporter, decode_record: Decode = decode
    ) -> None:
        self._channel = channel
        self._progress = progress
        self._decode = decode_record
        self._inbox = Inbox(channel)
        self._lookups = LookupClient(channel, self._inbox)
        self._ownership: HostOwnership | None = None
        self._delivered: dict[int, DecodedBatch] = {}
        """Decoded submissions that wait for their commit, by number."""
        now_s = time.monotonic()
        self._collected_young_s, self._collected_all_s = now_s, now_s

    def run(self) -> None:
        try:
            begin = self._inbox.order()
            assert isinstance(begin, Begin)
            processor = self._processor(begin)
            while True:
                order = cast(Order, self._inbox.order())
                self._execute(processor, order)
                self._progress.submission(0)
        except ConnectionError:
            return

    def _processor(self, begin: Begin) -> BatchProcessor:
        registry = SegmentAssigner(self._lookups, begin.process_cache_size // begin.workers)
        if begin.is_empty:
            registry.begin_empty()
        if begin.workers > 1 or begin.shares_hosts:
            self._ownership = HostOwnership(self._lookups.claim)
        return BatchProcessor(
            HostCache(self._lookups, self._lookups, begin.workers),
            self._lookups,
            registry,
            Deduplicator(begin.now_us),
            TimeWindows(0, 0),
            begin.keep,
            self._ownership,
            self._progress,
        )

    def _execute(self, processor: BatchProcessor, order: Order) -> None:
        match order:
            case Deliver(number, submission):
                self._delivered[number] = self._decoded(submission, number)
            case ProcessCommit():
                try:
                    self._channel.send(self._prepare(processor, order))
                except ReshardError:
                    return
                self._collect_garbage()
            case Restore(records, kept, requests):
                _restore(processor.seen, records, kept, requests)
            case Reset(durable):
                _mark_durable(processor, durable)
                processor.reset()
                self._delivered.clear()
            case ForgetSlots(slots, durable):
                _mark_durable(processor, durable)
                processor.forget_slots(slots)
            case WithoutPartitions(unmounted):
                processor.assigner.without_partitions(unmounted)
            case Ping():
                pass  # every executed order is progress
            case Begin():
                raise AssertionError("a worker begins once")
            case _:
                assert_never(order)

    def _decoded(self, submission: Submission, number: int) -> DecodedBatch:
        return decode_submission(submission, number, self._progress, self._decode)

    def _prepare(self, processor: BatchProcessor, order: ProcessCommit) -> Processed | Failed:
        self._lookups.seen.clear()
        try:
            _mark_durable(processor, order.durable)
            if order.filters is not None:
                processor.filters.use(compile_filters(order.filters))
            if order.privacy is not None:
                processor.use_privacy(order.privacy)
            if order.rules is not None:
                rules = decoded_rules(order.rules.encoded)
                processor.rules.use(order.rules.generation, rules)
            processor.enter(order.window_ms, order.partition_ms)
            if order.expire_names:
                processor.expire_names()
            if self._ownership is not None:
                self._ownership.begin(order.granted)
            batches = [self._delivered.pop(number) for number in order.delivered]
            batches += [
                self._decoded(submission, number)
                for number, submission in zip(order.numbers, order.submissions, strict=True)
            ]
            made = pack(processor.prepare(batches, order.seq, order.now_us))
        except (ConnectionError, ReshardError):
            raise
        except VedetteError as error:
            return Failed(error.message, error.reason)
        except Exception as error:
            log.exception("processing a commit failed")
            return Failed(f"processing a commit failed: {type(error).__name__}")
        small_tables = [(name, packed(rows)) for name, rows in made.tables.aside]
        segments = list(map(packed, made.tables.segments))
        return Processed(
            small_tables,
            segments,
            made.receipts,
            take_refusals(made.receipts),
            self._lookups.seen,
            processor.filters.take_counts(),
            processor.rules.take_costs(),
            processor.rules.take_arrived(),
        )

    def _collect_garbage(self) -> None:
        now_s = time.monotonic()
        if now_s - self._collected_all_s > WORKER_COLLECT_ALL_S:
            self._collected_young_s = self._collected_all_s = now_s
            gc.collect()
        elif now_s - self._collected_young_s > WORKER_COLLECT_YOUNG_S:
            self._collected_young_s = now_s
            gc.collect(1)


def _mark_durable(processor: BatchProcessor, commits: Iterable[int]) -> None:
    for seq in commits:
        processor.seen.durable(seq)


def _restore(
    seen: Deduplicator,
    records: list[tuple[int, list[int]]],
    kept: list[tuple[int, list[int]]],
    requests: list[tuple[str, list[int]]],
) -> None:
    for sensor_id, keys in records:
        seen.restore_records(sensor_id, keys)
    for sensor_id, keys in kept:
        seen.restore_kept(sensor_id, keys)
    for table, keys in requests:
        seen.restore_requests(table, keys)
