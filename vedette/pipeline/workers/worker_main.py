"""Inside a process that prepares commits: takes orders over a link until its end.

It has neither store nor state database. What it must know of them it asks the server, which
waits for the commit anyway.
"""

import gc
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar, assert_never

import structlog
from pyroaring import BitMap

from vedette.errors import UnavailableError, VedetteError
from vedette.ingest.filter import compile_filters
from vedette.model.host import HostProcess, SensorRef, Sighting
from vedette.pipeline.batch.batch_processor import Preparer
from vedette.pipeline.batch.decoded_batch import Part, decoded
from vedette.pipeline.batch.deduplicate import Seen
from vedette.pipeline.batch.host_cache import Hosts
from vedette.pipeline.batch.pack import pack
from vedette.pipeline.batch.segment_assigner import SegmentAssigner, SegmentPlace
from vedette.pipeline.time_windows import Windows
from vedette.pipeline.workers.message_channel import Link
from vedette.pipeline.workers.ownership import Met, Share, SharedAnewError
from vedette.pipeline.workers.protocol import (
    Ahead,
    AskCodes,
    AskHeardOf,
    AskHosts,
    AskProcesses,
    AskWhose,
    Begin,
    Codes,
    Done,
    Failed,
    Forget,
    FromServer,
    HeardOfProcesses,
    HostProcesses,
    Order,
    Prepare,
    Processes,
    Question,
    Resolve,
    Resolved,
    Restore,
    Whose,
    WithoutPartitions,
)
from vedette.store.engine.arrow_arrays import packed

log = structlog.get_logger(__name__)

ServerLink = Link[FromServer]

_YOUNG_S: Final = 10
_ALL_S: Final = 300
"""How often garbage is collected, between commits: on its own the collector would look at every
batch of telemetry many times, and find nothing."""

_Answered = TypeVar("_Answered")


class Inbox:
    """What the server says. An answer does not wait for what was sent ahead of its commit."""

    def __init__(self, link: ServerLink) -> None:
        self._link = link
        self._put_off: deque[Ahead] = deque()

    def order(self) -> FromServer:
        return self._put_off.popleft() if self._put_off else self._link.receive()

    def answer(self) -> FromServer:
        while isinstance(message := self._link.receive(), Ahead):
            self._put_off.append(message)
        return message


class Asking:
    """What preparing has to know of the server's state database and store."""

    def __init__(self, link: ServerLink, inbox: Inbox) -> None:
        self._link = link
        self._inbox = inbox
        self.seen: list[tuple[int, str, str]] = []
        """What `note` was told since it was taken last."""

    def resolve(
        self, hosts: Mapping[str, Sighting], group_id: int, now_us: int
    ) -> dict[str, SensorRef]:
        names = {name: sighting.os_type for name, sighting in hosts.items()}
        return self._ask(Resolve(names, group_id, now_us), Resolved).sensors

    def note(
        self, sensor_id: int, _seen_us: int, *, interface_ip: str = "", host_type: str = ""
    ) -> None:
        self.seen.append((sensor_id, interface_ip, host_type))

    def codes(self, names: Iterable[str]) -> dict[str, int]:
        return self._ask(AskCodes(list(names)), Codes).codes

    def processes(
        self, process_ids: list[str]
    ) -> dict[str, tuple[dict[str, Any], list[SegmentPlace]]]:
        return self._ask(AskProcesses(process_ids), Processes).found

    def heard_of(self) -> BitMap | None:
        hashes = self._ask(AskHeardOf(), HeardOfProcesses).hashes
        return None if hashes is None else BitMap.deserialize(hashes)

    def host_processes(self, sensor_ids: Sequence[int]) -> list[HostProcess]:
        return self._ask(AskHosts(list(sensor_ids)), HostProcesses).found

    def whose(self, met: Met) -> list[int] | None:
        return self._ask(AskWhose(met), Whose).mine

    def _ask(self, question: Question | AskWhose, expected: type[_Answered]) -> _Answered:
        self._link.send(question)
        answer = self._inbox.answer()
        match answer:
            case Failed(message, reason) if reason:
                raise UnavailableError(message, reason=reason)
            case Failed(message):
                raise RuntimeError(message)
        assert isinstance(answer, expected)
        return answer


class Preparing:
    """See the module. `run` returns when the server is gone."""

    def __init__(self, link: ServerLink) -> None:
        self._link = link
        self._inbox = Inbox(link)
        self._asking = Asking(link, self._inbox)
        self._share: Share | None = None
        self._ahead: dict[int, Part] = {}
        """What came ahead of its commit, by number."""
        now_s = time.monotonic()
        self._collected_s, self._collected_all_s = now_s, now_s

    def run(self) -> None:
        try:
            begin = self._inbox.order()
            assert isinstance(begin, Begin)
            preparer = self._preparer(begin)
            while True:
                order = self._inbox.order()
                self._obey(preparer, order)  # type: ignore[arg-type]
        except ConnectionError:
            return

    def _preparer(self, begin: Begin) -> Preparer:
        registry = SegmentAssigner(self._asking, begin.processes_remembered // begin.processes)
        if begin.is_empty:
            registry.begin_empty()
        if begin.processes > 1:
            self._share = Share(self._asking.whose)
        return Preparer(
            Hosts(self._asking, self._asking, begin.processes),
            self._asking,
            registry,
            Seen(begin.now_us),
            Windows(0, 0),
            begin.keep,
            self._share,
        )

    def _obey(self, preparer: Preparer, order: Order) -> None:
        match order:
            case Ahead(number, submission):
                self._ahead[number] = decoded(submission)
            case Prepare():
                try:
                    self._link.send(self._prepare(preparer, order))
                except SharedAnewError:
                    return
                self._collect()
            case Restore(records, kept, requests):
                _restore(preparer.seen, records, kept, requests)
            case Forget(durable):
                _note(preparer, durable)
                preparer.forget()
                self._ahead.clear()
            case WithoutPartitions(unmounted):
                preparer.registry.without_partitions(unmounted)
            case Begin():
                raise AssertionError("a process begins once")
            case _:
                assert_never(order)

    def _prepare(self, preparer: Preparer, order: Prepare) -> Done | Failed:
        self._asking.seen.clear()
        try:
            _note(preparer, order.durable)
            if order.filters is not None:
                preparer.sieve.use(compile_filters(order.filters))
            preparer.enter(order.window_ms, order.partition_ms)
            if self._share is not None:
                self._share.begin(order.mine)
            parts = [self._ahead.pop(number) for number in order.ahead]
            parts += map(decoded, order.submissions)
            made = pack(preparer.prepare(parts, order.seq, order.now_us))
        except (ConnectionError, SharedAnewError):
            raise
        except VedetteError as error:
            return Failed(error.message, error.reason)
        except Exception as error:
            log.exception("preparing a commit failed")
            return Failed(f"preparing a commit failed: {type(error).__name__}")
        aside = [(name, packed(rows)) for name, rows in made.tables.aside]
        segments = list(map(packed, made.tables.segments))
        return Done(aside, segments, made.receipts, self._asking.seen, *preparer.sieve.counts())

    def _collect(self) -> None:
        now_s = time.monotonic()
        if now_s - self._collected_all_s > _ALL_S:
            self._collected_s = self._collected_all_s = now_s
            gc.collect()
        elif now_s - self._collected_s > _YOUNG_S:
            self._collected_s = now_s
            gc.collect(1)


def _note(preparer: Preparer, durable: Iterable[int]) -> None:
    for seq in durable:
        preparer.seen.durable(seq)


def _restore(
    seen: Seen,
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
