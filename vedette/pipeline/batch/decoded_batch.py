"""The records of one submission: decoded, with their hosts and keys."""

from collections.abc import Collection, Iterable
from typing import Protocol

import structlog

from vedette.ingest.decode import decode
from vedette.ingest.record import Record, RecordError
from vedette.model.address import pack_address
from vedette.model.event import Outcome
from vedette.pipeline.batch.deduplicate import record_key
from vedette.pipeline.batch.host_cache import Host, HostCache
from vedette.pipeline.receipt_outcomes import NOT_KEPT, note_refusal
from vedette.pipeline.submission import NO_OUTCOME, Receipt, Submission

log = structlog.get_logger(__name__)

Made = list[Outcome] | int | RecordError
"""The outcomes of a record, or why it has none: one of `tally`'s numbers, or its refusal."""


class ChannelCodes(Protocol):
    """Codes of channel names (`state/sensors/channel_codes.py`)."""

    def codes(self, names: Iterable[str]) -> dict[str, int]: ...


class DecodedBatch:
    """The decoded records of one submission, in parallel lists."""

    __slots__ = (
        "comms_ip",
        "group_id",
        "guests",
        "hosts",
        "in_sequence",
        "keys",
        "made",
        "positions",
        "receipt",
        "records",
        "request_key",
    )

    def __init__(self, submission: Submission) -> None:
        self.receipt = Receipt(bytearray([NO_OUTCOME]) * len(submission.records))
        self.group_id = submission.group_id
        self.comms_ip = submission.comms_ip
        self.request_key = submission.request_key
        self.in_sequence = submission.in_sequence
        self.guests = frozenset(submission.guests)
        self.records: list[Record] = []
        self.positions: list[int] = []
        """Which text of the submission each came from."""
        self.hosts: list[Host] = []
        self.keys: list[int] = []
        self.made: list[Made] = []
        """What normalise made of each."""

    def refuse(
        self, position: int, error: RecordError, channel: str = "", event_id: int = 0
    ) -> None:
        """Notes a record, or a text without any, that is of no host."""
        if position not in self.guests:
            note_refusal(self.receipt, position, error, channel, event_id)

    def take_out(self, sensors: Collection[int]) -> None:
        """Leaves out the records of these sensors, as if they had not been sent."""
        kept = [n for n, host in enumerate(self.hosts) if host.sensor.id not in sensors]
        self.records = [self.records[n] for n in kept]
        self.positions = [self.positions[n] for n in kept]
        self.hosts = [self.hosts[n] for n in kept]
        self.keys = [self.keys[n] for n in kept]


def decode_submission(submission: Submission) -> DecodedBatch:
    """The records of a submission, which nobody knows the hosts of yet: that needs no memory, and
    may be done before the commit begins. What cannot be read is refused on the receipt."""
    part = DecodedBatch(submission)
    records, positions = part.records, part.positions
    for position, raw in enumerate(submission.records):
        try:
            found = decode(raw, submission.host)
        except RecordError as error:
            part.refuse(position, error)
            continue
        except Exception as error:  # noqa: BLE001 - logged by internal_error
            part.refuse(position, internal_error(error))
            continue
        if not found:
            part.receipt.outcomes[position] = NOT_KEPT
        records += found
        positions += [position] * len(found)
    return part


class HostResolver:
    """Finds the hosts and the keys of records. What has none is refused on the receipt."""

    def __init__(self, hosts: HostCache, channels: ChannelCodes) -> None:
        self._hosts = hosts
        self._channels = channels
        self._codes: dict[str, int] = {}

    def find(self, part: DecodedBatch, now_us: int) -> None:
        hosts = self._hosts.of(part.records, part.group_id, now_us)
        if None in hosts:
            hosts = _refuse_hostless(part, hosts)
        part.hosts = [host for host in hosts if host is not None]
        if part.comms_ip and part.hosts:
            part.hosts[0].comms_ip = pack_address(part.comms_ip)  # all are of one host
        unknown = {record.channel for record in part.records}.difference(self._codes)
        if unknown:
            self._codes.update(self._channels.codes(unknown))
        codes = self._codes
        part.keys = [record_key(codes[record.channel], record.record_id) for record in part.records]


def internal_error(error: Exception) -> RecordError:
    """The refusal of a record that shows a bug of ours. It must cost only itself: an error here
    would fail all requests of the commit, each time the record is sent again."""
    if isinstance(error, MemoryError):
        raise error
    log.error("a record could not be handled", exc_info=error)
    return RecordError("internal_error", "the server could not handle the record; see its log")


def _refuse_hostless(part: DecodedBatch, hosts: list[Host | None]) -> list[Host | None]:
    """Takes records out whose host cannot have a sensor."""
    kept = [number for number, host in enumerate(hosts) if host is not None]
    for number, host in enumerate(hosts):
        if host is None:
            record = part.records[number]
            error = RecordError("bad_host", f"no sensor for a host named {record.host[:80]!r}")
            part.refuse(part.positions[number], error, record.channel, record.event_id)
    part.records = [part.records[number] for number in kept]
    part.positions = [part.positions[number] for number in kept]
    return [hosts[number] for number in kept]
