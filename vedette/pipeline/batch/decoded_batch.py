"""The decoded records of one submission, with their hosts and keys."""

from collections.abc import Callable, Collection, Iterable
from typing import Protocol

import structlog

from vedette.ingest.decode import decode
from vedette.ingest.record import Record, RecordError
from vedette.model.address import pack_address
from vedette.model.event import Outcome
from vedette.model.ids import slot_of
from vedette.pipeline.batch.deduplicate import record_key
from vedette.pipeline.batch.host_cache import Host, HostCache
from vedette.pipeline.receipt_outcomes import NOT_KEPT, note_refusal
from vedette.pipeline.request_parts import key_in_slot, key_of_part
from vedette.pipeline.submission import NO_OUTCOME, Receipt, Submission
from vedette.pipeline.workers.progress import NoProgress, ProgressReporter

log = structlog.get_logger(__name__)

Result = list[Outcome] | int | RecordError
"""The result of a normalized record: its outcomes, a number of `receipt_outcomes`, or the error for
which it is rejected."""

Decode = Callable[[bytes, str], list[Record]]
"""Decodes the text of one record for a fixed host ("" for any host). Raises RecordError."""


class ChannelCodes(Protocol):
    """Numeric codes of event log channels (`state/sensors/channel_codes.py`)."""

    def codes(self, names: Iterable[str], group_id: int) -> dict[str, int]: ...


class DecodedBatch:
    """Records of one submission in parallel lists: `records`, `positions`, `hosts`, `keys` and
    `results` have the same order and, once filled, the same length."""

    __slots__ = (
        "any_group",
        "byte_counts",
        "comms_ip",
        "group_id",
        "hosts",
        "in_sequence",
        "keys",
        "number",
        "parts",
        "peer_ip",
        "positions",
        "receipt",
        "records",
        "reported_elsewhere",
        "request_key",
        "results",
        "sensor_id",
    )

    def __init__(self, submission: Submission, number: int = 0) -> None:
        self.receipt = Receipt(bytearray([NO_OUTCOME]) * len(submission.records))
        self.number = number
        """Number of the submission, for progress reports."""
        self.group_id = submission.group_id
        self.any_group = submission.any_group
        """Whether the records may be of hosts of any group; otherwise only of the credential's
        group."""
        self.sensor_id = submission.sensor_id
        """The sensor that owns the credential, which stays valid when the sensor moves to another
        group; 0 for senders of many hosts."""
        self.comms_ip = submission.comms_ip
        self.peer_ip = submission.peer_ip
        self.request_key = submission.request_key
        self.parts = submission.parts
        self.in_sequence = submission.in_sequence
        self.reported_elsewhere = frozenset(submission.reported_elsewhere)
        self.records: list[Record] = []
        self.positions: list[int] = []
        """Maps record index to the position of its text in the submission."""
        self.byte_counts: list[int] = []
        """Maps text position to the bytes of each record in the text."""
        self.hosts: list[Host] = []
        self.keys: list[int] = []
        """Record keys; 0 for records without a number."""
        self.results: list[Result] = []

    def stored_key(self, position: int) -> int:
        """Returns the request key (in a cluster, the key of the request's part) stored with the
        rows of a text."""
        if not self.parts:
            return self.request_key
        return key_of_part(self.request_key, self.parts[position])

    def seen_key(self, host: Host, position: int) -> int:
        """Returns the key that identifies the records of a host in a text."""
        stored = self.stored_key(position)
        return key_in_slot(stored, slot_of(host.sensor.id)) if self.parts else stored

    def refuse(
        self, position: int, error: RecordError, channel: str = "", event_id: int = 0
    ) -> None:
        """Rejects a text, or a record that was removed from the lists."""
        if position not in self.reported_elsewhere:
            note_refusal(self.receipt, position, error, channel, event_id)

    def remove_sensors(self, sensor_ids: Collection[int]) -> None:
        """Removes the records of these sensors, as if they had not been sent."""
        self._keep([n for n, one in enumerate(self.hosts) if one.sensor.id not in sensor_ids])

    def remove_rejected(self, rejected: dict[int, RecordError]) -> None:
        """Rejects records, given by their index in the lists, and removes them."""
        if not rejected:
            return
        for n, error in rejected.items():
            record = self.records[n]
            self.refuse(self.positions[n], error, record.channel, record.event_id)
        self._keep([n for n in range(len(self.records)) if n not in rejected])

    def _keep(self, kept: list[int]) -> None:
        if len(kept) == len(self.records):
            return
        self.records = [self.records[n] for n in kept]
        self.positions = [self.positions[n] for n in kept]
        if self.hosts:
            self.hosts = [self.hosts[n] for n in kept]
        if self.keys:
            self.keys = [self.keys[n] for n in kept]


def decode_submission(
    submission: Submission,
    number: int = 0,
    progress: ProgressReporter | None = None,
    decode_record: Decode = decode,
) -> DecodedBatch:
    """Decodes the records of a submission. Needs no state, so it may run before the commit begins.
    Rejects texts that cannot be decoded on the receipt."""
    batch = DecodedBatch(submission, number)
    progress = progress or NoProgress()
    progress.submission(number)
    report = progress.position
    batch.byte_counts = list(map(len, submission.records))
    records, positions = batch.records, batch.positions
    for position, raw in enumerate(submission.records):
        report(position)
        try:
            found = decode_record(raw, submission.host)
        except RecordError as error:
            batch.refuse(position, error)
            continue
        except Exception as error:  # noqa: BLE001 - logged by internal_error
            batch.refuse(position, internal_error(error))
            continue
        if not found:
            batch.receipt.outcomes[position] = NOT_KEPT
        elif len(found) > 1:
            batch.byte_counts[position] //= len(found)
        records += found
        positions += [position] * len(found)
    return batch


class HostResolver:
    """Finds the host and the key of every record. Rejects records without a valid host."""

    def __init__(self, hosts: HostCache, channels: ChannelCodes) -> None:
        self._hosts = hosts
        self._channels = channels
        self._codes: dict[str, int] = {}

    def resolve(self, batch: DecodedBatch, now_us: int) -> None:
        """Fills `hosts` and `keys` of a batch. Raises UnavailableError when a lookup fails."""
        found = self._hosts.of(
            batch.records,
            batch.group_id,
            now_us,
            any_group=batch.any_group,
            sensor_id=batch.sensor_id,
        )
        rejected = {n: _bad_host(batch.records[n]) for n, host in enumerate(found) if host is None}
        batch.remove_rejected(rejected)
        batch.hosts = [host for host in found if host is not None]
        if batch.comms_ip and batch.hosts:
            batch.hosts[0].comms_ip = pack_address(batch.comms_ip)  # all records are of one host
        unknown = {record.channel for record in batch.records}.difference(self._codes)
        if unknown:
            self._codes.update(self._channels.codes(unknown, batch.group_id))
        codes = self._codes
        batch.keys = [
            record_key(codes[record.channel], record.record_id) for record in batch.records
        ]


def internal_error(error: Exception) -> RecordError:
    """Logs a bug that a record triggers, and returns the error that rejects only that record. A
    failed commit would fail all its requests, every time the record is sent again."""
    if isinstance(error, MemoryError):
        raise error
    log.error("failed to process a record", exc_info=error)
    return RecordError(
        "internal_error", "the server failed to process the record; see the server log"
    )


def _bad_host(record: Record) -> RecordError:
    return RecordError("bad_host", f"no sensor for a host named {record.host[:80]!r}")
