"""Reads one range of a file, in this process or a reader process (`readers/reader_pool.py`)."""

import io
import os
from pathlib import Path

from msgspec import Struct

from vedette.importer.scan.record_scanner import FileReader
from vedette.importer.scan.scan_result import ScanResult
from vedette.importer.sources.archives import Extent, FoundFile, Kind
from vedette.importer.sources.byte_streams import DAMAGE, BombError, FileSlice, Stream
from vedette.importer.sources.digest import Hasher
from vedette.importer.sources.text_spool import Spool
from vedette.ingest.framing.csv_table import begins_table
from vedette.limits import CSV_HEADER_BYTES_MAX, DAMAGE_CHARS_MAX, Limit

IMPORT_PART_BYTES: Limit[int] = 16 * 1024 * 1024
"""Bytes of a part of a text. Texts of at least twice this size are read in parts of about this
size, by several processes."""

IMPORT_RANGE_EDGE_BYTES: Limit[int] = 1024 * 1024
"""Bytes that are searched for the end of an object when a text is split. The file is not split
further if none is found."""


class FileRange(Struct):
    """Input of a reader: an EVTX log, or a range of a text file on disk."""

    number: int
    kind: Kind
    host: str
    """Host of records that do not name theirs."""
    path: str = ""
    """File on disk; the range is `begin` to `end`, bytes."""
    begin: int = 0
    end: int = 0
    content: bytes = b""
    """Content of a log that is compressed on disk."""
    is_whole: bool = True
    """Whether it is the whole file, so that reading it gives the file's digest."""


def read_range(part: FileRange, into: ScanResult, spool: Spool, hasher: Hasher) -> ScanResult:
    """Reads a range into a result. Damage, and a file that cannot be opened, are noted in the
    result; it raises nothing."""
    if part.content:
        stream: Stream = io.BufferedReader(io.BytesIO(part.content))
        return read_found(FoundFile("", part.kind, stream, None), part, into, spool, hasher)
    place = Extent(Path(part.path), part.begin, part.end)
    try:
        file = place.path.open("rb", buffering=0)
    except OSError as error:
        into.unread = error.strerror or str(error)
        return into
    with file:
        stream = io.BufferedReader(FileSlice(file.fileno(), place.begin, place.end))
        return read_found(FoundFile("", part.kind, stream, place), part, into, spool, hasher)


def read_found(
    found: FoundFile, part: FileRange, into: ScanResult, spool: Spool, hasher: Hasher
) -> ScanResult:
    """Reads a file. Raises BombError; `into` then has what was read before it."""
    digest = hasher.digest() if part.is_whole else None
    reader = FileReader(part.number, part.host, into, spool, digest)
    try:
        reader.read(found)
    except BombError:
        raise
    except DAMAGE as error:
        into.damage = str(error)[:DAMAGE_CHARS_MAX] or type(error).__name__
    finally:
        into.count, into.unknown, into.digest = reader.count, reader.unknown, reader.digest
    return into


def split_offsets(place: Extent) -> list[int]:
    """Returns the offsets at which to split a text, with its beginning and end. A text is split
    between a line that ends an object and a line that begins another, which in JSON can only be
    between two records. A CSV table is not split, because only its first line names its columns."""
    found = [place.begin]
    if place.end - place.begin < 2 * IMPORT_PART_BYTES:
        return [*found, place.end]
    with place.path.open("rb", buffering=0) as file:
        if begins_table(os.pread(file.fileno(), CSV_HEADER_BYTES_MAX, place.begin)):
            return [*found, place.end]
        last = place.end - IMPORT_PART_BYTES
        for wanted in range(place.begin + IMPORT_PART_BYTES, last, IMPORT_PART_BYTES):
            within = min(IMPORT_RANGE_EDGE_BYTES, place.end - wanted)
            around = os.pread(file.fileno(), within, wanted)
            at = around.find(b"}\n{")
            if at < 0:
                break
            found.append(wanted + at + 2)
    return [*found, place.end]
