"""Scans a file for records and converts them to items that sort by the time of the event.

An item is bytes: time, class, record number, content, and position; a shuffled copy of a file gives
the same items in the same order. Most records are not decoded: what an item needs is scanned from
the text (`header_scan.py`). Texts stay in the file or go to a spool, and items refer to them
(`importer/sources/text_spool.py`). The time is that of the event data (`UtcTime`) where a record
has one. Records without one are kept apart, because the clocks of envelopes can be off by hours
(docs/telemetry-formats.md#real-world-data, fact 5); `file_sequence.py` corrects these.
"""

import codecs
from collections.abc import Callable, Iterator
from functools import partial
from struct import Struct
from typing import NamedTuple, Protocol

import evtx
import msgspec

from vedette.importer.scan.header_scan import envelope, event_time_us, record_id
from vedette.importer.sources.archives import FoundFile, Kind
from vedette.importer.sources.byte_streams import DAMAGE, BombError, Stream, read_all
from vedette.importer.sources.digest import Digest
from vedette.importer.sources.text_spool import IN_PLACE, Spool, checksum, in_spool
from vedette.ingest.decode import audit_text_of, auditd, decode, shipper
from vedette.ingest.framing.body import as_utf8, text_record, without_preamble
from vedette.ingest.framing.csv_table import CsvTable
from vedette.ingest.framing.record_boundaries import object_lines, split_pieces
from vedette.ingest.framing.record_container import contained_records
from vedette.ingest.record import Record, RecordError
from vedette.ingest.times import time_us
from vedette.limits import DAMAGE_CHARS_MAX, Limit

IMPORT_BLOCK_BYTES: Limit[int] = 512 * 1024
"""Bytes of a file that the importer reads at a time. They fit into the cache of a processor core
while they are decoded. A record may be longer than this."""

EVTX_HASH_READ_BYTES: Limit[int] = 1024 * 1024
"""Bytes per read while an EVTX file is hashed before it is parsed; longer reads are not faster."""

EVTX_SCAN_BATCH: Limit[int] = 1_000
"""Records of an EVTX log that are scanned at a time."""

EVTX_ERRORS_MAX: Limit[int] = 70_000
"""Errors after which reading an EVTX file stops: a file has at most 65,535 chunks."""

IMPORT_CLOCK_SAMPLE_RECORDS: Limit[int] = 16
"""Divisor for clock samples: about one in this many of the records with both times is decoded to
compare their clocks. Records are chosen by their time, so that the order in the file does not
matter."""


AUDIT_LINE, AS_SENT, DECODED = 0, 1, 2
"""Classes of items: a line of an audit event, a JSON text or XML element to send as it is, a record
of the native dialect. Lines sort first, so that nothing is between the lines of an event. The
content of an item of class AS_SENT is the `SPAN` of its text."""

HEAD = Struct(">QBQ")
"""Time in epoch microseconds, class, record id (of a line its serial)."""

SPAN = Struct(">QQI")
"""Checksum of a text (`text_spool.checksum`), its offset and its length. The checksum orders texts
with the same head, wherever they are."""

HOST = Struct(">Q")
"""Number of the host (`scan_result.host_number`), in items with the time of their envelope."""

PLACE = Struct(">II")
"""Number of the file range within the sequence, and of the record within the range, from 1."""

TEXT = Struct(">QQIII")
"""A `SPAN` followed by a `PLACE`, whose range number has the flags of `text_spool.py`."""

_SENT = Struct(">QBQQQIII")
"""A whole item with a `SPAN`."""

_EVTX_HEAD_BYTES, _EVTX_CHUNK_BYTES = 4_096, 65_536
_EVTX_COUNT_AT, _EVTX_COUNT_END = 42, 44
"""Layout of EVTX: the head has the number of chunks that follow it. A log that was copied while it
was written may have more."""

_encode = msgspec.json.Encoder().encode


class Sink(Protocol):
    """Receives the items of a file."""

    def take(self, items: list[bytes]) -> None:
        """Items with the time of their event."""

    def take_envelopes(self, items: list[bytes]) -> None:
        """Items with the time of their envelope; a `HOST` precedes their `PLACE`."""

    def host_number(self, host: str) -> int:
        """The number that stands for a host in items."""

    def learn_clock(self, host: str, envelope_us: int, event_us: int) -> None:
        """Adds a sample of a host's clocks."""

    def refuse(self, position: int, reason: str, message: str) -> None:
        """Rejects the record at `position`."""


class FileReader:
    """Reads one file range into a sink. `host` is the host of lines that do not name theirs."""

    def __init__(
        self, number: int, host: str, sink: Sink, spool: Spool, digest: Digest | None = None
    ) -> None:
        self.count = 0
        """Records, audit lines and unreadable pieces so far."""
        self.unknown = 0
        """Records of no known format so far."""
        self._number = number
        self._host = host
        self._sink = sink
        self._spool = spool
        self._digest = digest
        self._envelopes: list[bytes] = []
        """Items of the current block."""

    @property
    def digest(self) -> bytes:
        """SHA-256 of the content that was read; b"" without `digest`."""
        return b"" if self._digest is None else self._digest.value()

    def _note(self, block: bytes) -> None:
        if self._digest is not None:
            self._digest.add(block)

    def read(self, found: FoundFile) -> None:
        """Reads all records. Raises one of `DAMAGE`, or BombError, when the stream is damaged."""
        if found.kind is Kind.EVTX:
            self._read_evtx(found)
        else:
            self._read_text(found)

    # --- text ------------------------------------------------------------------------------

    def _read_text(self, found: FoundFile) -> None:
        for block in _blocks(found, self._note):
            if isinstance(block, _Lines):
                self._take(block.lines, block.offset, IN_PLACE)
            else:
                self._take_pieces(block)

    def _take_pieces(self, pieces: list[bytes]) -> None:
        """Takes texts that are not on disk yet, and spools them if items refer to them."""
        spool = self._spool
        pieces = list(map(without_preamble, pieces))
        if self._take(pieces, spool.size, in_spool(spool.number)):
            spool.write(pieces)

    def _take(self, texts: list[bytes], offset: int, where: int) -> bool:
        """Takes texts that are stored from `offset` on, with a byte between them. Returns whether
        items refer to them there."""
        items: list[bytes] = []
        file, stay = self._number | where, False
        for text in texts:
            self.count += 1
            length = len(text)
            moment_us = event_time_us(text)
            if b"\n" in text:
                items += self._read_piece(text)
            elif moment_us:
                stay = True
                number, span = record_id(text), (checksum(text), offset, length)
                items.append(_SENT.pack(moment_us, AS_SENT, number, *span, file, self.count))
                if moment_us // 1_000 % IMPORT_CLOCK_SAMPLE_RECORDS == 0:
                    self._sample(text)
            elif (seen := envelope(text)) is not None:
                stay = True
                content = SPAN.pack(checksum(text), offset, length)
                self._add_envelope(seen[1], seen[0], AS_SENT, record_id(text), content, where)
            else:
                items += self._read_piece(text)
            offset += length + 1
        self._hand_over(items)
        return stay

    def _hand_over(self, items: list[bytes]) -> None:
        envelopes, self._envelopes = self._envelopes, []
        self._sink.take(items)
        self._sink.take_envelopes(envelopes)

    def _read_piece(self, piece: bytes) -> list[bytes]:
        """Items of a piece whose time cannot be scanned; of a container those of its records."""
        contained = contained_records(piece)
        if contained is not None:
            return [item for one in contained for item in self._read_piece(one)]
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
            event_us = _event_data_time_us(record)
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
        """Items of the audit lines in a shipper's record; None if it is no such record."""
        try:
            obj = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return None
        lines = audit_text_of(obj) if isinstance(obj, dict) else ""
        if not lines:
            return None
        host = (shipper.host_of(obj) or self._host).encode()
        items: list[bytes] = []
        for written in auditd.record_texts(lines):
            line = auditd.parse_line(written)
            if line is not None:
                content = host + b"\0" + written.encode()
                items.append(self._item(line.time_us, AUDIT_LINE, line.serial, content))
        return items

    # --- EVTX ------------------------------------------------------------------------------

    def _read_evtx(self, found: FoundFile) -> None:
        head = found.stream.peek(_EVTX_COUNT_END)[:_EVTX_COUNT_END]
        if found.place is not None and found.place.is_file:
            size = 0
            for block in iter(partial(found.stream.read, EVTX_HASH_READ_BYTES), b""):
                self._note(block)
                size += len(block)
            parser = _parser(str(found.place.path))
        else:
            content = read_all(found.stream)
            self._note(content.getvalue())
            size = content.getbuffer().nbytes
            parser = _parser(content)
        batch: list[bytes] = []
        for text in _evtx_texts(parser, self._damaged):
            batch.append(text)
            if len(batch) == EVTX_SCAN_BATCH:
                self._take_pieces(batch)
                batch = []
        self._take_pieces(batch)
        chunks = int.from_bytes(head[_EVTX_COUNT_AT:], "little")
        there, rest = divmod(max(size - _EVTX_HEAD_BYTES, 0), _EVTX_CHUNK_BYTES)
        if there < chunks:
            raise EOFError(f"the log is cut short: it has {there} of {chunks} chunks")
        if rest:
            raise EOFError(f"the log is cut short: it ends within chunk {there + 1}")

    def _damaged(self, message: str) -> None:
        self.count += 1
        self._refuse("damaged", message)

    # --- items -----------------------------------------------------------------------------

    def _item(self, moment_us: int, kind: int, record_id: int, content: bytes) -> bytes:
        place = PLACE.pack(self._number, self.count)
        return HEAD.pack(moment_us, kind, record_id & 0xFFFFFFFFFFFFFFFF) + content + place

    def _add_envelope(
        self,
        host: str,
        moment_us: int,
        kind: int,
        record_id: int,
        content: bytes,
        where: int = 0,
    ) -> None:
        head = HEAD.pack(moment_us, kind, record_id & 0xFFFFFFFFFFFFFFFF)
        place = PLACE.pack(self._number | where, self.count)
        self._envelopes.append(head + content + HOST.pack(self._sink.host_number(host)) + place)

    def _sample(self, piece: bytes) -> None:
        try:
            records = decode(piece)
        except RecordError:
            return  # the server will reject it with the reason
        for record in records:
            self._sink.learn_clock(record.host, record.time_us, _event_data_time_us(record))

    def _refuse(self, reason: str, message: str) -> None:
        self.unknown += reason in _NO_RECORD
        self._sink.refuse(self.count, reason, message)


_NO_RECORD = frozenset({"unknown_format", "not_json", "not_an_object", "bad_line"})
"""Reasons of rejection that apply to every piece of a file that is not a log."""


class _Lines(NamedTuple):
    """A block of a file on disk whose lines are one JSON object each."""

    offset: int
    """Offset of the first line in the file."""
    lines: list[bytes]
    """Without the newline after each."""


def _blocks(found: FoundFile, read: Callable[[bytes], None]) -> Iterator[list[bytes] | _Lines]:
    """The pieces of a text, block by block; as lines where a large file on disk has one object per
    line. UTF-16 is read into memory: such files are small."""
    if found.stream.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        content = read_all(found.stream).getvalue()
        read(content)
        text = as_utf8(content)
        whole = CsvTable.of(text)
        yield (split_pieces(text) if whole is None else whole.split(text))[0]
        return
    offset = 0 if found.place is None else found.place.begin
    held = b""
    last = False
    table: CsvTable | None = None
    is_first = True
    while not last:
        block, damage = _block(found.stream)
        read(block)
        held += block
        last = len(block) < IMPORT_BLOCK_BYTES
        if is_first:
            table, is_first = CsvTable.of(held), False
        taken = len(held) if last else held.rfind(b"\n") + 1
        is_small = last and not offset
        is_plain = table is None and found.place is not None and not is_small
        lines = object_lines(held[:taken]) if is_plain else None
        if table is not None:
            pieces, taken = table.split(held, last=last)
            yield pieces
        elif lines is not None:
            yield _Lines(offset, lines)
        else:
            pieces, taken = split_pieces(held, last=last)
            yield pieces
        if damage is not None:
            raise damage
        held = held[taken:]
        offset += taken


def _block(stream: Stream) -> tuple[bytes, Exception | None]:
    """Returns the next block, which is shorter only at the end, and the error that ended it early.
    What was read before the error is valid."""
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


def _event_data_time_us(record: Record) -> int:
    text = record.data.get("UtcTime")
    return time_us(text) if isinstance(text, str) else 0


def _parser(source: object) -> evtx.PyEvtxParser:
    """Raises ValueError for a file that is not EVTX after its first bytes."""
    try:
        return evtx.PyEvtxParser(source, number_of_threads=1)
    except (RuntimeError, OSError) as error:
        raise ValueError(f"no EVTX file: {error}") from error


def _evtx_texts(parser: evtx.PyEvtxParser, damaged: Callable[[str], None]) -> Iterator[bytes]:
    """Yields the records as JSON. A damaged chunk loses only its own records."""
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
            damaged(str(error)[:DAMAGE_CHARS_MAX])
