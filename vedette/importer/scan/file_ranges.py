"""Reads one part of a file, in this process or in another (`importer/readers/reader_pool.py`)."""

import io
import os
from pathlib import Path
from typing import Final

from msgspec import Struct

from vedette.importer.order.text_spool import Spool
from vedette.importer.scan.record_scanner import FileReader
from vedette.importer.scan.scan_result import Gathered
from vedette.importer.sources.archives import Found, Kind, Place
from vedette.importer.sources.byte_streams import DAMAGE, BombError, Slice, Stream
from vedette.limits import IMPORT_PART_BYTES

_EDGE_WITHIN: Final = 1024 * 1024
"""How far an object's end is looked for; a file without any there is not divided."""


class Part(Struct):
    """What is to be read: an EVTX log, or a part of a text on disk."""

    number: int
    kind: Kind
    host: str
    """For records that do not name theirs."""
    path: str = ""
    """Where it is on disk, from `begin` to `end`."""
    begin: int = 0
    end: int = 0
    content: bytes = b""
    """Of a log that is on disk only compressed."""
    is_whole: bool = True
    """Whether it is all of its file. Of one that is divided somebody else makes the digest."""


def read_part(part: Part, into: Gathered, spool: Spool) -> Gathered:
    """Reads what processes may share."""
    if part.content:
        stream: Stream = io.BufferedReader(io.BytesIO(part.content))
        return read(Found("", part.kind, stream, None), part, into, spool)
    place = Place(Path(part.path), part.begin, part.end)
    try:
        file = place.path.open("rb", buffering=0)
    except OSError as error:
        into.damage = error.strerror or str(error)
        return into
    with file:
        stream = io.BufferedReader(Slice(file.fileno(), place.begin, place.end))
        return read(Found("", part.kind, stream, place), part, into, spool)


def read(found: Found, part: Part, into: Gathered, spool: Spool) -> Gathered:
    """Reads a file that was found. Raises BombError; then too `into` has what came before it."""
    reader = FileReader(part.number, part.host, into, spool, digests=part.is_whole)
    try:
        reader.read(found)
    except BombError:
        raise
    except DAMAGE as error:
        into.damage = str(error)[:200] or type(error).__name__
    finally:
        into.count, into.unknown, into.digest = reader.count, reader.unknown, reader.digest
    return into


def edges(place: Place) -> list[int]:
    """Where to divide a text: between a line that ends an object and one that begins another,
    which in JSON can only be between two records. Begin and end of it are among them."""
    found = [place.begin]
    if place.end - place.begin < 2 * IMPORT_PART_BYTES:
        return [*found, place.end]
    with place.path.open("rb", buffering=0) as file:
        last = place.end - IMPORT_PART_BYTES
        for wanted in range(place.begin + IMPORT_PART_BYTES, last, IMPORT_PART_BYTES):
            within = min(_EDGE_WITHIN, place.end - wanted)
            around = os.pread(file.fileno(), within, wanted)
            at = around.find(b"}\n{")
            if at < 0:
                break
            found.append(wanted + at + 2)
    return [*found, place.end]
