"""From the submissions of one commit to the rows it will write.

A preparer prepares one commit at a time, in a process of its own (`preparing.py`), and owns all
memory of the write path: what was stored before (`Seen`), what is known of processes
(`Registry`), the hosts' learned context. The steps are those of design.md 4: decode, find the host,
recognise what was stored before, learn, normalise, filter, fold, place.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol

import structlog
from msgspec import Struct

from vedette.ingest.decode import decode, decode_event
from vedette.ingest.fold import Folded, check_times, fold
from vedette.ingest.normalise import SOURCES
from vedette.ingest.normalise.normaliser import Keep
from vedette.ingest.record import Record, RecordError
from vedette.limits import TIME_AHEAD_US
from vedette.model.address import pack_address
from vedette.model.event import BinarySeen, Kept, Outcome
from vedette.model.host import SensorRef
from vedette.pipeline.binaries import BinaryNews
from vedette.pipeline.hosts import Host, Hosts
from vedette.pipeline.registry import Placement, Registry
from vedette.pipeline.seen import Seen, record_key
from vedette.pipeline.sieve import Sieve, Sifting
from vedette.pipeline.submission import Receipt, Submission
from vedette.pipeline.tally import DUPLICATE, EVENTS, FILTERED, NOT_KEPT, RECORD, Tally, refuse
from vedette.pipeline.windows import Windows

log = structlog.get_logger(__name__)

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


_Made = list[Outcome] | int | RecordError
"""The outcomes of a record, or why it has none: one of `tally`'s numbers, or its refusal."""


class _Part:
    """The decoded records of one submission, in parallel lists."""

    __slots__ = (
        "hosts",
        "in_sequence",
        "keys",
        "made",
        "positions",
        "receipt",
        "records",
        "request_key",
    )

    def __init__(self, receipt: Receipt, submission: Submission) -> None:
        self.receipt = receipt
        self.request_key = submission.request_key
        self.in_sequence = submission.in_sequence
        self.records: list[Record] = []
        self.positions: list[int] = []
        """Which text of the submission each came from."""
        self.hosts: list[Host] = []
        self.keys: list[int] = []
        self.made: list[_Made] = []
        """What normalise made of each."""


class ChannelCodes(Protocol):
    """Codes of channel names (`state/channels.py`)."""

    def codes(self, names: Iterable[str]) -> dict[str, int]: ...


class Preparer:
    """See the module."""

    def __init__(
        self,
        hosts: Hosts,
        channels: ChannelCodes,
        registry: Registry,
        seen: Seen,
        windows: Windows,
        keep: Keep,
    ) -> None:
        self.registry = registry
        self.seen = seen
        self.windows = windows
        self._hosts = hosts
        self._channels = channels
        self._keep = keep
        self.sieve = Sieve(registry)
        self._codes: dict[str, int] = {}
        self._binaries = BinaryNews()

    def forget(self) -> None:
        """Drops all memory that may speak of rows which were never stored."""
        self.registry.forget()
        self.seen.forget_pending()
        self._binaries.forget()
        self._hosts.retell()

    def prepare(self, submissions: list[Submission], seq: int, now_us: int) -> Prepared:
        """The rows of one commit. What it learns counts once `seen.durable(seq)` is told."""
        self.seen.begin(seq, now_us)
        self._hosts.forget_oldest()
        if self.windows.advance(now_us):
            self._hosts.look_again()
        parts = [self._decode(submission, now_us) for submission in submissions]
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
        partition_ms = self.windows.partition_ms
        return Prepared(seq, now_us, partition_ms, placement, folded, columns, receipts)

    def _decode(self, submission: Submission, now_us: int) -> _Part:
        """Records of one submission with their hosts; what cannot be read is refused."""
        receipt = Receipt(bytearray(len(submission.records)))
        part = _Part(receipt, submission)
        records, positions = part.records, part.positions
        for position, raw in enumerate(submission.records):
            try:
                record = None if submission.host else decode_event(raw)
                if record is not None:
                    records.append(record)
                    positions.append(position)
                    continue
                found = decode(raw, submission.host)
            except RecordError as error:
                refuse(receipt, position, error, "", 0)
                continue
            except Exception as error:  # noqa: BLE001 - logged by _our_fault
                refuse(receipt, position, _our_fault(error), "", 0)
                continue
            if not found:
                receipt.outcomes[position] = NOT_KEPT
            records += found
            positions += [position] * len(found)
        hosts = self._hosts.of(records, submission.group_id, now_us)
        if None in hosts:
            hosts = _refuse_hostless(part, hosts)
        part.hosts = [host for host in hosts if host is not None]
        if submission.comms_ip and part.hosts:
            part.hosts[0].comms_ip = pack_address(submission.comms_ip)  # all are of one host
        unknown = {record.channel for record in part.records}.difference(self._codes)
        if unknown:
            self._codes.update(self._channels.codes(unknown))
        codes = self._codes
        part.keys = [record_key(codes[record.channel], record.record_id) for record in part.records]
        return part

    def _find_stored(self, parts: list[_Part]) -> set[Host]:
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

    def _normalise(self, part: _Part, until_us: int) -> None:
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
            except Exception as error:  # noqa: BLE001 - logged by _our_fault
                host.context.retell()
                made.append(_our_fault(error))
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


def _learned_together(parts: list[_Part]) -> Iterator[list[_Part]]:
    """Parts whose records are all learned from before any of them is normalised: what arrived
    together, but every part of an import by itself."""
    yield [part for part in parts if not part.in_sequence]
    for part in parts:
        if part.in_sequence:
            yield [part]


def _told(parts: list[_Part]) -> Iterator[tuple[SensorRef, list[Outcome]]]:
    """What the records of a commit tell, each with its sensor."""
    for part in parts:
        for host, made in zip(part.hosts, part.made, strict=True):
            if type(made) is list:
                yield host.sensor, made


def _fold(part: _Part, folded: Folded, sifting: Sifting | None) -> None:
    """Folds the outcomes of one submission, and tells what became of each of its records."""
    told, request_key = Tally(part.receipt), part.request_key
    for record, host, key, position, made in zip(
        part.records, part.hosts, part.keys, part.positions, part.made, strict=True
    ):
        if type(made) is not list:
            if isinstance(made, RecordError):
                told.refuse(record, position, made)
            else:
                told.tell(record, position, made)  # type: ignore[arg-type]
            continue
        outcomes = made if sifting is None else sifting.kept(made)
        if fold(folded, outcomes, host.sensor.id, key, request_key):
            told.tell(record, position, EVENTS)
        elif len(outcomes) < len(made) and not any(type(one) is Kept for one in outcomes):
            told.tell(record, position, FILTERED)
        else:
            told.tell(record, position, RECORD)


def _learn(part: _Part) -> None:
    """Learns from every record of a submission, before any of them is normalised."""
    for record, host in zip(part.records, part.hosts, strict=True):
        try:
            SOURCES[record.vedette_record].learn(record, host.context)
        except Exception as error:  # noqa: BLE001 - logged by _our_fault
            # Others lose what it would have taught them; what it says is for normalise to find.
            _our_fault(error)


def _our_fault(error: Exception) -> RecordError:
    """The refusal of a record that shows a bug of ours. It must cost only itself: an error here
    would fail all requests of the commit, each time the record is sent again."""
    if isinstance(error, MemoryError):
        raise error
    log.error("a record could not be handled", exc_info=error)
    return RecordError("internal_error", "the server could not handle the record; see its log")


def _without(outcomes: list[Outcome], *tables: str) -> list[Outcome]:
    """The outcomes that are not for one of the tables: the half that is still to be stored."""
    rest = [
        outcome
        for outcome in outcomes
        if (RECORD_TABLE if type(outcome) is Kept else SEGMENT_TABLE) not in tables
    ]
    return [] if all(type(outcome) is BinarySeen for outcome in rest) else rest


def _refuse_hostless(part: _Part, hosts: list[Host | None]) -> list[Host | None]:
    """Takes records out whose host cannot have a sensor."""
    kept = [number for number, host in enumerate(hosts) if host is not None]
    for number, host in enumerate(hosts):
        if host is None:
            record = part.records[number]
            error = RecordError("bad_host", f"no sensor for a host named {record.host[:80]!r}")
            refuse(part.receipt, part.positions[number], error, record.channel, record.event_id)
    part.records = [part.records[number] for number in kept]
    part.positions = [part.positions[number] for number in kept]
    return [hosts[number] for number in kept]
