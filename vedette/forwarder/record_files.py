"""Puts records into files. A file is closed when it is full, or when the time of its folder is
over."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from vedette.forwarder.delivery import Content, FileBody
from vedette.forwarder.json_text import json_of
from vedette.forwarder.parquet_file import ParquetBody
from vedette.forwarder.path_template import hour_of
from vedette.limits import Limit
from vedette.state.jobs.forwarders import FileFormat

FORWARD_FILE_RECORDS_MAX: Limit[int] = 50_000
"""Records of one file or request."""

FORWARD_FILE_BYTES_MAX: Limit[int] = 16 << 20
"""Bytes of one file or request before compression. A forwarder holds this much in memory."""


_GZIP: Final = 31
"""Window bits with which zlib writes gzip."""
_FAST: Final = 1

JSON_LINES: Final = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class Forwarded:
    """A record to send. `position` is the position of its stream after it was sent. Several records
    may have the same position and then belong together. `time_us` is the time at which the server
    made the record."""

    position: int
    time_us: int
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RecordFile:
    """A file of records. `position` is the position of its last record. `is_whole` says whether no
    records with the same position are left."""

    content: Content
    records: int
    position: int
    folder: str
    is_whole: bool


def record_files(
    records: Iterable[Forwarded],
    folder_of: Callable[[int], str],
    file_format: FileFormat = "jsonl",
) -> Iterator[RecordFile]:
    """Puts the records, in their order, into files of gzipped JSON lines or Parquet. `folder_of`
    returns the folder for a time. Records of different folders are put into different files."""
    file: _OpenFile | None = None
    for record in records:
        if file is not None and file.is_closed_for(record):
            yield file.close(record)
            file = None
        if file is None:
            body = _LinesBody() if file_format == "jsonl" else ParquetBody()
            file = _OpenFile(record, folder_of, body)
        file.add(record)
    if file is not None:
        yield file.close(None)


class _LinesBody:
    """The `FileBody` for JSON lines, which are compressed as they are added."""

    def __init__(self) -> None:
        self._deflater = zlib.compressobj(_FAST, zlib.DEFLATED, _GZIP)
        self._pieces: list[bytes] = []

    def add(self, record: dict[str, Any]) -> int:
        line = json_of(record) + b"\n"
        self._pieces.append(self._deflater.compress(line))
        return len(line)

    def close(self) -> Content:
        self._pieces.append(self._deflater.flush())
        return Content(b"".join(self._pieces), JSON_LINES, ".jsonl.gz", "gzip")


class _OpenFile:
    """A file that records are added to."""

    def __init__(self, first: Forwarded, folder_of: Callable[[int], str], body: FileBody) -> None:
        self._folder_of = folder_of
        self._folder = folder_of(first.time_us)
        self._hour = hour_of(first.time_us)
        self._last = first
        self._body = body
        self._records = 0
        self._bytes = 0

    def is_closed_for(self, record: Forwarded) -> bool:
        """Whether the file is full or the record belongs into another folder. Records of one
        position stay together unless the file is full."""
        if self._records >= FORWARD_FILE_RECORDS_MAX or self._bytes >= FORWARD_FILE_BYTES_MAX:
            return True
        if record.position == self._last.position:
            return False
        hour = hour_of(record.time_us)
        if hour == self._hour:
            return False
        self._hour = hour
        return self._folder_of(record.time_us) != self._folder

    def add(self, record: Forwarded) -> None:
        self._bytes += self._body.add(record.body)
        self._records += 1
        self._last = record

    def close(self, following: Forwarded | None) -> RecordFile:
        position = self._last.position
        return RecordFile(
            self._body.close(),
            self._records,
            position,
            self._folder,
            following is None or following.position != position,
        )
