"""Reads one part of a file, in this process or in one that helps (`readers.py`)."""

import io
import os
from pathlib import Path
from typing import Final

from msgspec import Struct

from vedette.limits import IMPORT_PART_BYTES
from vedette.pipeline.archives import DAMAGE, BombError, Found, Kind, Slice, Stream
from vedette.pipeline.gathered import Gathered
from vedette.pipeline.records import FileReader
from vedette.pipeline.texts import Spool

_EDGE_WITHIN: Final = 1024 * 1024
"""How far an object's end is looked for; a file without any there is not divided."""


class Part(Struct):
    """What is to be read: an EVTX log, or a part of a text on disk."""

    number: int
    host: str
    """For records that do not name theirs."""
    path: str
    """On disk; "" for an EVTX log out of an archive."""
    content: bytes
    """Of an EVTX log out of an archive."""
    begin: int = 0
    end: int = 0
    """Of a text; 0 and 0 for an EVTX log."""


def read_part(part: Part, into: Gathered, spool: Spool) -> Gathered:
    """Reads what processes may share."""
    if part.content:
        stream: Stream = io.BufferedReader(io.BytesIO(part.content))
        return read(Found("", Kind.EVTX, stream, None), part, into, spool)
    path = Path(part.path)
    try:
        file = path.open("rb", buffering=0)
    except OSError as error:
        into.damage = error.strerror or str(error)
        return into
    with file:
        if not part.end:
            return read(Found("", Kind.EVTX, io.BufferedReader(file), path), part, into, spool)
        stream = io.BufferedReader(Slice(file.fileno(), part.begin, part.end - part.begin))
        return read(Found("", Kind.TEXT, stream, path), part, into, spool)


def read(found: Found, part: Part, into: Gathered, spool: Spool) -> Gathered:
    """Reads a file that was found. Raises BombError; then too `into` has what came before it."""
    reader = FileReader(part.number, part.host, into, spool)
    try:
        reader.read(found, part.begin)
    except BombError:
        raise
    except DAMAGE as error:
        into.damage = str(error)[:200] or type(error).__name__
    finally:
        into.count, into.unknown, into.digest = reader.count, reader.unknown, reader.digest
    return into


def edges(path: Path, size: int) -> list[int]:
    """Where to divide a text: between a line that ends an object and one that begins another,
    which in JSON can only be between two records. Begin and end of the file are among them."""
    found = [0]
    with path.open("rb", buffering=0) as file:
        for wanted in range(IMPORT_PART_BYTES, size - IMPORT_PART_BYTES, IMPORT_PART_BYTES):
            around = os.pread(file.fileno(), _EDGE_WITHIN, wanted)
            at = around.find(b"}\n{")
            if at < 0:
                break
            found.append(wanted + at + 2)
    return [*found, size]
