"""Files to import as one sequence of records in the order of their events.

All files under one path (a log, an archive, a directory) form one sequence, since the logs of a
host complement one another. Memory is bounded. The order depends only on the records, not on the
order in the files or of the files.

A chunk of a sequence is identified by the SHA-256 of the content and the number of the chunk: a
file that is compressed differently, or an archive with its members in another order, is the same
sequence.
"""

import hashlib
import heapq
import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from vedette.importer.order.context_first import order_by_context
from vedette.importer.order.external_sort import Sorter
from vedette.importer.readers.path_reader import PathReader, RefusedRecord
from vedette.importer.readers.reader_pool import LaunchReaders
from vedette.importer.scan.record_scanner import AS_SENT, AUDIT_LINE, HEAD, HOST, PLACE, TEXT
from vedette.importer.sources.text_spool import PARTS_MAX
from vedette.ingest.context.host_context import HOUR_US
from vedette.ingest.decode import auditd, decode
from vedette.ingest.decode.auditd import AuditLine
from vedette.ingest.record import RecordError
from vedette.limits import IMPORT_CHUNK_BYTES, IMPORT_CHUNK_RECORDS, IMPORT_ERRORS_MAX

_CLASS_AT = 8
_PART = PARTS_MAX - 1


class Chunk(NamedTuple):
    """The records of one request."""

    source: str
    """`sha256:number`, for the header X-Vedette-Source."""
    records: list[bytes]
    """JSON texts and XML elements, each without line breaks."""
    places: list[tuple[int, int]]
    """File number and position of every record."""
    share: float
    """Fraction of the sequence, 0 to 1, for progress."""


class Sequence:
    """One path, read and sorted. Closing it deletes its temporary files."""

    def __init__(self, path: Path, host: str = "", launch: LaunchReaders = list) -> None:
        """Reads everything under a path. `host` is the host for logs that do not name theirs; by
        default it is the name of the log's file without its extension. `launch` starts the
        reader processes."""
        self.path = path
        read = self._read = PathReader(path, host, launch)
        self.files = read.files
        """Names of the files that were read."""
        self.refusals = read.refusals
        """Files and members that were not read."""
        self.on_disk = read.on_disk
        """Files on disk under the path, read or not."""
        self.refused = read.refused
        """Records that cannot be read, up to IMPORT_ERRORS_MAX."""
        self.reasons = read.reasons
        """Number of rejected records by reason."""
        self.duplicates: Counter[tuple[str, int]] = Counter()
        """Records without a number that occurred in a second copy of a file, by channel and
        event id. Complete once all chunks were read."""

    @property
    def count(self) -> int:
        """Number of records and audit lines that will be sent."""
        return self._read.items.count + self._read.envelopes.count

    @property
    def key(self) -> str:
        """SHA-256 of the only file, or of the sorted digests of all files, in hex."""
        digests = self._read.digests
        if len(digests) == 1:
            return digests[0].hex()
        return hashlib.sha256(b"".join(sorted(digests))).hexdigest()

    def __enter__(self) -> "Sequence":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        self._read.close()

    def chunks(self) -> Iterator[Chunk]:
        """Yields all records in the order of their events, with the exceptions that
        `context_first.py` describes."""
        key, total = self.key, max(self.count, 1)
        records: list[bytes] = []
        places: list[tuple[int, int]] = []
        byte_count = number = 0
        for record, place in order_by_context(self._records()):
            records.append(record)
            places.append(place)
            byte_count += len(record)
            if len(records) >= IMPORT_CHUNK_RECORDS or byte_count >= IMPORT_CHUNK_BYTES:
                yield Chunk(f"{key}:{number}", records, places, len(records) / total)
                records, places, byte_count, number = [], [], 0, number + 1
        if records:
            yield Chunk(f"{key}:{number}", records, places, len(records) / total)

    def _records(self) -> Iterator[tuple[bytes, tuple[int, int]]]:
        """Yields the records, each with its file and position; the lines of an audit event are
        merged into one record."""
        copies, place_of, text_of = self._read.copies, self._read.place, self._read.texts.read
        lines: list[bytes] = []
        for item in self._items():
            kind = item[_CLASS_AT]
            if lines and item[: HEAD.size] != lines[0][: HEAD.size]:
                yield from self._assembled(lines)
                lines = []
            if kind == AUDIT_LINE:
                lines.append(item)
                continue
            if kind == AS_SENT:
                checked, offset, length, part, position = TEXT.unpack_from(item, HEAD.size)
                record = text_of(part, checked, offset, length)
            else:
                part, position = PLACE.unpack_from(item, len(item) - PLACE.size)
                record = item[HEAD.size : -PLACE.size]
            place = place_of(part & _PART, position)
            if not copies or place[0] not in copies or not self._is_copy(record):
                yield record, place
        if lines:
            yield from self._assembled(lines)

    def _items(self) -> Iterator[bytes]:
        sorter, envelopes = self._read.items, self._read.envelopes
        if not envelopes.count:
            return iter(sorter)
        offsets = self._offsets()
        streams = [
            _shifted(envelopes, hours, {n for n, some in offsets.items() if some == hours})
            for hours in sorted(set(offsets.values()))
        ]
        if sorter.is_in_memory and envelopes.is_in_memory:
            # These are sorted runs, which sorting merges quickly.
            return iter(sorted(itertools.chain(sorter, *streams)))
        return heapq.merge(sorter, *streams)

    def _offsets(self) -> dict[int, int]:
        """Returns how many hours the envelope clock of each host is ahead, by host number. Hosts
        without a sample of their own get the most frequent offset of the sequence."""
        votes = self._read.votes
        all_votes = sum(votes.values(), Counter[int]())
        return {
            number: _most(votes.get(host) or all_votes) for number, host in self._read.hosts.items()
        }

    def _assembled(self, items: list[bytes]) -> Iterator[tuple[bytes, tuple[int, int]]]:
        """Assembles audit events from lines with the same time and serial number, which can come
        from several hosts."""
        events: dict[tuple[str, str], list[AuditLine]] = {}
        places: dict[tuple[str, str], tuple[int, int]] = {}
        for item in items:
            host, _, text = item[HEAD.size : -PLACE.size].partition(b"\0")
            line = auditd.parse_line(text.decode("utf-8", "replace"))
            assert line is not None, "only audit lines are of this class"
            key = (host.decode("utf-8", "replace"), line.node)
            events.setdefault(key, []).append(line)
            place = self._read.place(*PLACE.unpack_from(item, len(item) - PLACE.size))
            places[key] = min(places.get(key, place), place)
        for key in sorted(events):
            try:
                record = auditd.assemble(events[key], key[0])
            except RecordError as error:
                file, position = places[key]
                self.reasons[error.reason] += 1
                if len(self.refused) < IMPORT_ERRORS_MAX:
                    self.refused.append(RefusedRecord(file, position, error.reason, error.message))
            else:
                yield msgspec.json.encode(record), places[key]

    def _is_copy(self, text: bytes) -> bool:
        """Whether to drop a record of a second copy of a file: those with a number are left to the
        server's deduplication."""
        try:
            records = decode(text)
        except RecordError:
            return False
        if any(record.record_id for record in records):
            return False
        self.duplicates.update((record.channel, record.event_id) for record in records)
        return True


def _shifted(envelopes: Sorter, hours: int, hosts: set[int]) -> Iterator[bytes]:
    """Yields the items of some hosts, with `hours` subtracted from their times, still in order."""
    tail = HOST.size + PLACE.size
    for item in envelopes:
        (host,) = HOST.unpack_from(item, len(item) - tail)
        if host not in hosts:
            continue
        if not hours:
            yield item[:-tail] + item[-PLACE.size :]
        else:
            time_us, kind, record_id = HEAD.unpack_from(item)
            head = HEAD.pack(max(time_us - hours * HOUR_US, 0), kind, record_id)
            yield head + item[HEAD.size : -tail] + item[-PLACE.size :]


def _most(votes: Counter[int]) -> int:
    return max(votes, key=lambda hours: (votes[hours], -abs(hours), hours), default=0)
