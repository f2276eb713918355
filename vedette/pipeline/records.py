"""From one file to the records in it, as items that sort by the time of the event.

An item is bytes: time, class, record id, content, and where it came from; so a shuffled copy of
a file gives the same items in the same order. Records of the formats that come in volume are
decoded here, and their items hold them in the native dialect: it is shorter, and the server
reads it in less time. The time is that of the event data (`UtcTime`)
where a record has one. What has none goes a way of its own, because the clocks of envelopes can
be off by hours (telemetry.md 2, fact 5): `files` puts that right.
"""

import codecs
import hashlib
import re
from collections.abc import Callable, Iterator
from struct import Struct
from typing import NamedTuple, Protocol

import evtx
import msgspec

from vedette.ingest.bodies import as_utf8, text_record
from vedette.ingest.decode import auditd, auoms, decode, decode_event, decode_events, shipper
from vedette.ingest.decode.eventlog import lower_host
from vedette.ingest.pieces import split_pieces
from vedette.ingest.record import Record, RecordError
from vedette.ingest.times import time_us
from vedette.limits import IMPORT_BLOCK_BYTES
from vedette.pipeline.archives import DAMAGE, BombError, Found, Kind, Stream, whole

AUDIT_LINE, AS_SENT, DECODED = 0, 1, 2
"""Classes of items: a line of an audit event, a JSON text or XML element to send as it is, a
record of the native dialect. Lines come first, so that nothing stands between those of an event."""

HEAD = Struct(">QBQ")
"""Time in epoch microseconds, class, record id (of a line its serial)."""

HOST = Struct(">I")
"""Number of the host of an item with the time of its envelope."""

PLACE = Struct(">II")
"""Number of the file within the sequence, and of the record within the file from 1."""

_encode = msgspec.json.Encoder().encode

EVTX_ERRORS_MAX = 70_000
"""Damaged places of one EVTX file: it has at most 65,535 chunks."""

_UTC_TIME = b'"UtcTime"'
_RECORD_ID_NAMES = (b'"EventRecordID"', b'"RecordNumber"', b'"record_number"', b'"record_id"')
_RECORD_ID_WITHIN = 1_024
"""How far into a record its id is looked for: only records with one time are sorted by it, so
missing one costs nothing but the time to look."""
_RECORD_ID = re.compile(rb'"\s*:\s*"?(\d{1,14})[",}\s]')
_CLOCK_SAMPLE = 16
"""Of how many records with both times about one is decoded to see how far their clocks are apart:
by its own time, so that the order in the file does not matter."""


class RefusedRecord(NamedTuple):
    """A record that cannot be read."""

    file: int
    position: int
    """From 1, in the file."""
    reason: str
    message: str


class Sink(Protocol):
    """Where the items of a sequence go while its files are read."""

    def take(self, items: list[bytes]) -> None:
        """Items with the time of their event."""

    def take_envelopes(self, items: list[bytes]) -> None:
        """Items with the time of their envelope; before their place is their host's number."""

    def host_number(self, host: str) -> int:
        """By what number items name a host."""

    def learn_clock(self, host: str, envelope_us: int, event_us: int) -> None:
        """Both times of one record of a host."""

    def refuse(self, refused: RefusedRecord) -> None: ...


class FileReader:
    """Reads one file into a sink. `host` is for lines that do not name theirs."""

    def __init__(self, number: int, host: str, sink: Sink) -> None:
        self.count = 0
        """Records, lines of audit events and broken pieces so far."""
        self.refused = 0
        self.unknown = 0
        """Of the refused ones those of no known format."""
        self._number = number
        self._host = host
        self._sink = sink
        self._digest = hashlib.sha256()
        self._envelopes: list[bytes] = []
        """Items of the block that is read."""

    @property
    def digest(self) -> bytes:
        """SHA-256 of what was read."""
        return self._digest.digest()

    def read(self, found: Found) -> None:
        """Takes all records of a file. Raises what its stream raises when that is damaged."""
        if found.kind is Kind.EVTX:
            self._read_evtx(found)
        else:
            self._read_text(found)

    # --- text ------------------------------------------------------------------------------

    def _read_text(self, found: Found) -> None:
        for block in _blocks(found, self._digest.update):
            if isinstance(block, _Events):
                self._take_events(block.records)
            else:
                self._take(block)

    def _take_events(self, records: list[Record]) -> None:
        items: list[bytes] = []
        for record in records:
            self.count += 1
            self._take_event(record, items)
        self._hand_over(items)

    def _hand_over(self, items: list[bytes]) -> None:
        envelopes, self._envelopes = self._envelopes, []
        self._sink.take(items)
        self._sink.take_envelopes(envelopes)

    def _take(self, pieces: list[bytes]) -> None:
        items: list[bytes] = []
        for piece in pieces:
            self.count += 1
            record = decode_event(piece)
            if record is not None:
                self._take_event(record, items)
                continue
            moment_us = _event_time_us(piece)
            if not moment_us or b"\n" in piece:
                if not self._take_envelope(piece):
                    items += self._read_piece(piece)
                continue
            items.append(self._item(moment_us, AS_SENT, _record_id(piece), piece))
            if moment_us // 1_000 % _CLOCK_SAMPLE == 0:
                self._sample(piece)
        self._hand_over(items)

    def _take_event(self, record: Record, items: list[bytes]) -> None:
        """Takes a record, by the time of its event; one of an event log that tells none by that
        of its envelope."""
        told = record.data.get("UtcTime")
        event_us = time_us(told) if type(told) is str else 0
        if not event_us and record.vedette_record == "windows":
            self._add_envelope(
                record.host, record.time_us, DECODED, record.record_id, _encode(record)
            )
            return
        moment_us = event_us or record.time_us
        items.append(self._item(moment_us, DECODED, record.record_id, _encode(record)))
        if event_us and event_us // 1_000 % _CLOCK_SAMPLE == 0:
            self._sink.learn_clock(record.host, record.time_us, event_us)

    def _take_envelope(self, piece: bytes) -> bool:
        """Takes an event-log record whose envelope can be seen from outside, if it is one."""
        seen = _envelope(piece)
        if seen is not None:
            moment_us, host = seen
            self._add_envelope(host, moment_us, AS_SENT, _record_id(piece), piece)
        return seen is not None

    def _read_piece(self, piece: bytes) -> list[bytes]:
        """Items of a piece without a time that can be seen from outside."""
        line = piece if piece[:1] == b"{" else text_record(piece, self._host) or piece
        audit = self._audit_lines(line) if b"audit(" in line else None
        if audit is not None:
            return audit
        try:
            records = self._decode(line)
        except RecordError as error:
            self._refuse(error.reason, error.message)
            return []
        items: list[bytes] = []
        for record in records:
            item = _encode(record)
            event_us = _told_time_us(record)
            if event_us or record.vedette_record != "windows":
                moment_us = event_us or record.time_us
                items.append(self._item(moment_us, DECODED, record.record_id, item))
            else:
                self._add_envelope(record.host, record.time_us, DECODED, record.record_id, item)
        return items

    def _decode(self, text: bytes) -> list[Record]:
        try:
            return decode(text)
        except RecordError as error:
            if error.reason != "no_host" or not self._host or text[:1] != b"{":
                raise
        # The file's own host, where a format has none (Endpoint Security, Santa).
        obj = msgspec.json.decode(text)
        return decode(msgspec.json.encode({**obj, "hostname": self._host}))

    def _audit_lines(self, text: bytes) -> list[bytes] | None:
        """Items of the audit lines in a shipper's record; None when there are none."""
        try:
            obj = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return None
        if not isinstance(obj, dict) or auoms.recognises(obj) or not auditd.recognises(obj):
            return None
        host = (shipper.host_of(obj) or self._host).encode()
        items: list[bytes] = []
        for written in shipper.text_of(obj, "audit(").split("\n"):
            line = auditd.parse_line(written)
            if line is not None:
                content = host + b"\0" + written.encode()
                items.append(self._item(line.time_us, AUDIT_LINE, line.serial, content))
        return items

    # --- EVTX ------------------------------------------------------------------------------

    def _read_evtx(self, found: Found) -> None:
        if found.path is not None:
            with found.path.open("rb") as file:
                self._digest = hashlib.file_digest(file, "sha256")
            parser = _parser(str(found.path))
        else:
            content = whole(found.stream)
            self._digest.update(content.getbuffer())
            parser = _parser(content)
        batch: list[bytes] = []
        for text in _evtx_texts(parser, self._damaged):
            batch.append(text)
            if len(batch) == 1_000:
                self._take(batch)
                batch = []
        self._take(batch)

    def _damaged(self, message: str) -> None:
        self.count += 1
        self._refuse("damaged", message)

    # --- items -----------------------------------------------------------------------------

    def _item(self, moment_us: int, kind: int, record_id: int, content: bytes) -> bytes:
        place = PLACE.pack(self._number, self.count)
        return HEAD.pack(moment_us, kind, record_id & 0xFFFFFFFFFFFFFFFF) + content + place

    def _add_envelope(
        self, host: str, moment_us: int, kind: int, record_id: int, content: bytes
    ) -> None:
        head = HEAD.pack(moment_us, kind, record_id & 0xFFFFFFFFFFFFFFFF)
        place = PLACE.pack(self._number, self.count)
        self._envelopes.append(head + content + HOST.pack(self._sink.host_number(host)) + place)

    def _sample(self, piece: bytes) -> None:
        try:
            records = decode(piece)
        except RecordError:
            return  # the server says what is wrong with it
        for record in records:
            self._sink.learn_clock(record.host, record.time_us, _told_time_us(record))

    def _refuse(self, reason: str, message: str) -> None:
        self.refused += 1
        self.unknown += reason in _NO_RECORD
        self._sink.refuse(RefusedRecord(self._number, self.count, reason, message))


_NO_RECORD = frozenset({"unknown_format", "not_json", "not_an_object"})
"""Reasons that a file which is no log at all gives for each of its pieces."""


class _Events(NamedTuple):
    """A block that was decoded as it is: one event-log record after the other."""

    records: list[Record]


def _blocks(found: Found, read: Callable[[bytes], None]) -> Iterator[list[bytes] | _Events]:
    """The pieces of a text, block by block, or the records in them where these are of one
    format that comes in volume. UTF-16 is read whole: such files are small."""
    if found.stream.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        content = whole(found.stream).getvalue()
        read(content)
        yield split_pieces(as_utf8(content))[0]
        return
    held = b""
    tries = _EVENTS_TRIES
    last = False
    while not last:
        block, damage = _block(found.stream)
        read(block)
        held += block
        last = len(block) < IMPORT_BLOCK_BYTES
        taken = len(held) if last else held.rfind(b"\n") + 1
        records = decode_events(held[:taken]) if tries else None
        if records is not None:
            yield _Events(records)
        else:
            tries = max(0, tries - 1)
            pieces, taken = split_pieces(held, last=last)
            yield pieces
        if damage is not None:
            raise damage
        held = held[taken:]


_EVENTS_TRIES = 8
"""Blocks of a file that are found not to be of one format before it is no longer tried."""


def _block(stream: Stream) -> tuple[bytes, Exception | None]:
    """The next block, smaller only at the end; and what ended it, where that is damage: what
    came before the damage counts."""
    parts: list[bytes] = []
    left = IMPORT_BLOCK_BYTES
    while left:
        try:
            part = stream.read1(left)
        except (BombError, *DAMAGE) as error:
            return b"".join(parts), error
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts), None


def _event_time_us(piece: bytes) -> int:
    """The `UtcTime` of a JSON text or XML element, epoch microseconds; 0 when it has none."""
    at = piece.find(_UTC_TIME)
    if at < 0:
        return 0
    written = piece[at + 9 : at + 44].lstrip(b" :>").lstrip(b'"')[:23]
    try:
        return time_us(written.decode("ascii"))
    except UnicodeDecodeError:
        return 0


def _envelope(piece: bytes) -> tuple[int, str] | None:
    """Time and host of the common envelopes without decoding them; None for all others."""
    if piece.startswith(b'{"Event"'):
        time_name, host_name = b'"SystemTime":"', b'"Computer":"'
    elif piece[:1] == b"{" and not any(mark in piece for mark in _OTHER_ENVELOPES):
        time_name, host_name = b'"TimeCreated":"', b'"Hostname":"'
    else:
        return None
    at, host_at = piece.find(time_name), piece.find(host_name)
    if at < 0 or host_at < 0 or b"\n" in piece:
        return None
    at += len(time_name)
    host_at += len(host_name)
    host = piece[host_at : piece.find(b'"', host_at)]
    try:
        moment_us = time_us(piece[at : piece.find(b'"', at, at + 48)].decode("ascii"))
        return (moment_us, lower_host(host.decode("ascii"))) if moment_us and host else None
    except UnicodeDecodeError:
        return None


_OTHER_ENVELOPES = (b'"SourceModuleType"', b'"EventReceivedTime"', b'"winlog"', b'"message":"type=')
"""Members of records that have the members of Get-WinEvent too, but another time or host."""


def _told_time_us(record: Record) -> int:
    told = record.data.get("UtcTime")
    return time_us(told) if isinstance(told, str) else 0


def _record_id(piece: bytes) -> int:
    begin = piece[:_BEGIN_BYTES]
    name = _record_id_names.get(begin, b"")
    at = piece.find(name, 0, _RECORD_ID_WITHIN) if name else -1
    if at < 0:
        for name in _RECORD_ID_NAMES:
            at = piece.find(name, 0, _RECORD_ID_WITHIN)
            if at >= 0:
                _remember_name(begin, name)
                break
        else:
            return 0
    found = _RECORD_ID.match(piece, at + len(name) - 1)
    return int(found[1]) if found else 0


_BEGIN_BYTES = 16
_record_id_names: dict[bytes, bytes] = {}
"""What the id is called in records that begin alike: three of four searches find nothing."""


def _remember_name(begin: bytes, name: bytes) -> None:
    if len(_record_id_names) >= _BEGINS_MAX:
        _record_id_names.clear()
    _record_id_names[begin] = name


_BEGINS_MAX = 256


def _parser(source: object) -> evtx.PyEvtxParser:
    """Raises ValueError for a file that is EVTX by its first bytes only."""
    try:
        return evtx.PyEvtxParser(source, number_of_threads=1)
    except (RuntimeError, OSError) as error:
        raise ValueError(f"no EVTX file: {error}") from error


def _evtx_texts(parser: evtx.PyEvtxParser, damaged: Callable[[str], None]) -> Iterator[bytes]:
    """The records as JSON. A damaged chunk costs its records only."""
    records = iter(parser.records_json())
    errors = 0
    while errors < EVTX_ERRORS_MAX:
        try:
            record = next(records)
            if record is not None:
                yield record["data"].encode()
        except StopIteration:
            return
        except RuntimeError as error:
            errors += 1
            damaged(str(error)[:200])
