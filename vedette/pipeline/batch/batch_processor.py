"""From the decoded submissions of one commit to the rows it will write.

A preparer prepares one commit at a time, in a process of its own
(`pipeline/workers/worker_main.py`), and owns all memory of the write path for its share of the
hosts: what was stored before (`Seen`), what is known of processes (`SegmentAssigner`), the hosts'
learned context. The steps are those of design.md 4: decode (`decoded_batch.py`), find the host,
recognise what was stored before, learn, normalise, filter, fold, place.
"""

from collections.abc import Iterator
from operator import attrgetter
from typing import Any, Final

from msgspec import Struct

from vedette.ingest.fold import Folded, check_times, fold
from vedette.ingest.normalise import SOURCES
from vedette.ingest.normalise.normaliser import Keep
from vedette.ingest.record import RecordError
from vedette.limits import TIME_AHEAD_US
from vedette.model.event import BinarySeen, Kept, Outcome
from vedette.model.host import SensorRef
from vedette.pipeline.batch.binary_sightings import BinaryNews
from vedette.pipeline.batch.decoded_batch import ChannelCodes, Finder, Part, our_fault
from vedette.pipeline.batch.deduplicate import Seen
from vedette.pipeline.batch.host_cache import Host, Hosts
from vedette.pipeline.batch.ingest_filters import Sieve, Sifting
from vedette.pipeline.batch.segment_assigner import Placement, SegmentAssigner
from vedette.pipeline.receipt_outcomes import (
    DUPLICATE,
    EVENTS,
    FILTERED,
    NOT_KEPT,
    RECORD,
    REJECTED,
    tell,
)
from vedette.pipeline.submission import Receipt, Refusal
from vedette.pipeline.time_windows import Windows
from vedette.pipeline.workers.ownership import Share

SEGMENT_TABLE: Final = "segment"
RECORD_TABLE: Final = "record"
"""The tables that a request's key is known by: each is one insert of its own."""


class Prepared(Struct):
    """Rows of one commit, and the receipts to hand out once they are durable."""

    seq: int
    now_us: int
    partition_ms: int
    placement: Placement
    folded: Folded
    hosts: dict[int, dict[str, Any]]
    """The `columns.HOST` values by sensor id."""
    receipts: list[Receipt]


class Preparer:
    """See the module."""

    def __init__(
        self,
        hosts: Hosts,
        channels: ChannelCodes,
        registry: SegmentAssigner,
        seen: Seen,
        windows: Windows,
        keep: Keep,
        share: Share | None = None,
    ) -> None:
        """`share` is what this one has of the hosts; None for all of them."""
        self.registry = registry
        self.seen = seen
        self.windows = windows
        self._hosts = hosts
        self._finder = Finder(hosts, channels)
        self._share = share
        self._keep = keep
        self.sieve = Sieve(registry)
        self._binaries = BinaryNews()

    def forget(self) -> None:
        """Drops all memory that may speak of rows which were never stored."""
        self.registry.forget()
        self.seen.forget_pending()
        self._binaries.forget()
        self._hosts.retell()

    def enter(self, window_ms: int, partition_ms: int) -> None:
        """Takes over the window that is told by whoever owns the windows."""
        if window_ms != self.windows.window_ms:
            self._hosts.look_again()
        self.windows.window_ms, self.windows.partition_ms = window_ms, partition_ms

    def prepare(self, parts: list[Part], seq: int, now_us: int) -> Prepared:
        """The rows of one commit. What it learns counts once `seen.durable(seq)` is told.

        Raises SharedAnewError before it has changed anything.
        """
        self._hosts.forget_oldest()
        if self.windows.advance(now_us):
            self._hosts.look_again()
        for part in parts:
            self._finder.find(part, now_us)
        if self._share is not None:
            self._share.settle(parts)
        self.seen.begin(seq, now_us)
        hosts = self._find_stored(parts)
        for together in _learned_together(parts):
            for part in together:
                _learn(part)
            for part in together:
                self._normalise(part, now_us + TIME_AHEAD_US)
                # Before the next one: the same request may come twice in one commit.
                self.seen.add_request(SEGMENT_TABLE, part.request_key)
                self.seen.add_request(RECORD_TABLE, part.request_key)
        sifting = self.sieve.judge(_told(parts))
        folded = Folded()
        for part in parts:
            _fold(part, folded, sifting)
        for host in hosts:
            self.seen.add_records(host.sensor.id, host.taken)
        folded.binaries = self._binaries.news(folded.binaries)
        columns = self._hosts.columns({host.sensor.id for host in hosts}, now_us)
        placement = self.registry.place(folded.drafts, self.windows, columns)
        receipts = [part.receipt for part in parts]
        for receipt in receipts:
            receipt.refusals.sort(key=attrgetter("position"))
        partition_ms = self.windows.partition_ms
        return Prepared(seq, now_us, partition_ms, placement, folded, columns, receipts)

    def _find_stored(self, parts: list[Part]) -> set[Host]:
        """The hosts of a commit; each learns which of its records were stored before."""
        hosts = {host for part in parts for host in part.hosts}
        for host in hosts:
            host.keys = []
            host.taken = set()
        for part in parts:
            for host, key in zip(part.hosts, part.keys, strict=True):
                host.keys.append(key)
        for host in hosts:
            host.stored = self.seen.known_among(host.sensor.id, host.keys)
        return hosts

    def _normalise(self, part: Part, until_us: int) -> None:
        """Makes outcomes of the records of one submission that were not stored before."""
        keep, made = self._keep, part.made
        sent_before = self._tables_of(part.request_key)
        for record, host, key in zip(part.records, part.hosts, part.keys, strict=True):
            if key and (key in host.taken or key in host.stored):
                made.append(DUPLICATE)
                continue
            outcomes: list[Outcome] = []
            try:
                outcomes = SOURCES[record.vedette_record].normalise(record, host.context, keep)
                check_times(outcomes, until_us)
            except RecordError as error:
                host.untell(outcomes)
                made.append(error)
                continue
            except Exception as error:  # noqa: BLE001 - logged by our_fault
                host.context.retell()
                made.append(our_fault(error))
                continue
            if not outcomes:
                made.append(NOT_KEPT)
                continue
            if key:
                host.taken.add(key)
                if self.seen.has_half(host.sensor.id, key):
                    outcomes = _without(outcomes, RECORD_TABLE)
            elif sent_before:
                host.untell(outcomes)
                outcomes = _without(outcomes, *sent_before)
            made.append(outcomes or DUPLICATE)

    def _tables_of(self, request_key: int) -> list[str]:
        """The tables that this very request was stored in before."""
        tables = (SEGMENT_TABLE, RECORD_TABLE)
        return [table for table in tables if self.seen.has_request(table, request_key)]


def _learned_together(parts: list[Part]) -> Iterator[list[Part]]:
    """Parts whose records are all learned from before any of them is normalised: what arrived
    together, but every part of an import by itself."""
    yield [part for part in parts if not part.in_sequence]
    for part in parts:
        if part.in_sequence:
            yield [part]


def _told(parts: list[Part]) -> Iterator[tuple[SensorRef, list[Outcome]]]:
    """What the records of a commit tell, each with its sensor."""
    for part in parts:
        for host, made in zip(part.hosts, part.made, strict=True):
            if type(made) is list:
                yield host.sensor, made


def _fold(part: Part, folded: Folded, sifting: Sifting | None) -> None:
    """Folds the outcomes of one submission, and tells what became of each of its records."""
    outcomes: list[int] = []
    request_key = part.request_key
    for host, key, position, made in zip(
        part.hosts, part.keys, part.positions, part.made, strict=True
    ):
        if isinstance(made, list):
            told = made if sifting is None else sifting.kept(made)
            if fold(folded, told, host.sensor.id, key, request_key):
                outcomes.append(EVENTS)
            else:
                outcomes.append(_without_events(made, told))
        elif isinstance(made, RecordError):
            part.receipt.refusals.append(Refusal(position, made.reason, made.message))
            outcomes.append(REJECTED)
        else:
            outcomes.append(made)
    tell(part.receipt, part.records, part.positions, outcomes)


def _without_events(made: list[Outcome], told: list[Outcome]) -> int:
    """What became of a record that made something, of which nothing that belongs to a process is
    stored: because it told of none, or because filters dropped it."""
    if len(told) < len(made) and not any(type(one) is Kept for one in told):
        return FILTERED
    return RECORD


def _learn(part: Part) -> None:
    """Learns from every record of a submission, before any of them is normalised."""
    for record, host in zip(part.records, part.hosts, strict=True):
        try:
            SOURCES[record.vedette_record].learn(record, host.context)
        except Exception as error:  # noqa: BLE001 - logged by our_fault
            # Others lose what it would have taught them; what it says is for normalise to find.
            our_fault(error)


def _without(outcomes: list[Outcome], *tables: str) -> list[Outcome]:
    """The outcomes that are not for one of the tables: the half that is still to be stored."""
    rest = [
        outcome
        for outcome in outcomes
        if (RECORD_TABLE if type(outcome) is Kept else SEGMENT_TABLE) not in tables
    ]
    return [] if all(type(outcome) is BinarySeen for outcome in rest) else rest
