"""Finds the files under a path, also in zip, tar, gzip and zstd archives and archives within them.

The type of a file is decided by its first bytes, not its name. Nothing is unpacked to disk: members
are streams. Members whose name leads out of the archive, links, devices and decompression bombs are
rejected, each with its name; the rest is read.
"""

import io
import os
import re
import tarfile
import zipfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from enum import Enum
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple, Self

from vedette.file_tree import regular_files
from vedette.importer.sources.byte_streams import (
    DAMAGE,
    GZIP_MAGIC,
    UNBOUNDED,
    BombError,
    Budget,
    CountedStream,
    FileSlice,
    Gunzip,
    Inner,
    Stream,
    read_all,
)
from vedette.importer.sources.inflate import Unzstd
from vedette.ingest.decode.logs import text_log
from vedette.ingest.framing.csv_table import begins_table
from vedette.limits import DAMAGE_CHARS_MAX, Limit

ARCHIVE_DEPTH_MAX: Limit[int] = 3
"""Archives within archives: a zip of tar.gz of EVTX has depth 2 (tar and gz count as one)."""

FILE_HEAD_BYTES: Limit[int] = 4_096
"""Bytes from the beginning of a file that decide its type. A tar archive has its mark at byte
257."""

FILE_HEAD_LINES: Limit[int] = 20
"""Lines from the beginning of a text that are checked; one of them must look like a line of a
log."""

IMPORT_BUFFER_BYTES: Limit[int] = 1024 * 1024
"""Read buffer of a file or a member of an archive, bytes; reads below it do not reach the file
system."""


class Kind(Enum):
    """Type of a file."""

    EVTX = "evtx"
    TEXT = "text"
    ZIP = "zip"
    TAR = "tar"
    GZIP = "gzip"
    ZSTD = "zstd"
    EMPTY = "empty"
    UNKNOWN = "unknown"


class Refusal(NamedTuple):
    """A file or member that was not read."""

    name: str
    reason: str
    """A stable word: outside, link, bomb, too_deep, too_large, damaged, unknown_kind, ..."""
    message: str


class Extent(NamedTuple):
    """Range of a file on disk with uncompressed content: a whole file, or a member of a tar."""

    path: Path
    begin: int
    end: int

    @property
    def is_file(self) -> bool:
        """Whether it is the whole file; a member of a tar never begins at 0."""
        return not self.begin


class FoundFile(NamedTuple):
    """A file to read. `stream` is valid until the next one is requested."""

    name: str
    """The path, and the names of the members after `!`."""
    kind: Kind
    stream: Stream
    place: Extent | None
    """None for compressed content and pipes."""


Refuse = Callable[[Refusal], None]


def kind_of(head: bytes) -> Kind:
    """The type of a file with these first bytes."""
    if not head:
        return Kind.EMPTY
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head[257:262] == b"ustar":
        return Kind.TAR
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Kind.TEXT
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if b"\0" in head or not (text[:1] in (b"{", b"[", b"<") or _is_log(text) or begins_table(text)):
        return Kind.UNKNOWN
    return Kind.TEXT


_MAGIC: tuple[tuple[bytes, Kind], ...] = (
    (b"ElfFile\0", Kind.EVTX),
    (b"PK\x03\x04", Kind.ZIP),
    (b"PK\x05\x06", Kind.ZIP),
    (GZIP_MAGIC, Kind.GZIP),
    (b"\x28\xb5\x2f\xfd", Kind.ZSTD),
)


_LATE_LOG = re.compile(
    rb"audit\(\d{1,12}\.\d{1,9}:\d{1,20}\)|santad: action=[A-Z]"
    rb'|<Event[^>\n]{0,200}>\s{0,16}<System>|\{"ID":"\d{1,12}\.\d{1,9}:\d{1,20}"'
)
"""A record of a log after other text, which is refused line by line: audit, Santa, XML, laurel.
Searched in the first IMPORT_BUFFER_BYTES of a file whose head is of no known kind."""


def _is_log(text: bytes) -> bool:
    """Whether one of the first lines has an audit line, a Santa line, XML or JSON, or is of a text
    log."""
    marks = (b"audit(", b"santad: action=", b"<Event", b': {"', b"@cee:")
    lines = text.splitlines()[:FILE_HEAD_LINES]
    if any(mark in line for line in lines for mark in marks):
        return True
    return any(text_log.begins_line(line.decode("utf-8", "replace")) for line in lines)


def walk(
    path: Path, refuse: Refuse, count: Callable[[], None] = lambda: None
) -> Generator[FoundFile, None, None]:
    """Yields all files under a path, a file or a directory, in the order of their names. `count` is
    called for each file on disk, read or not. What cannot be listed or opened is rejected.

    When reading a stream raises BombError, throw it into the generator: the rest of the archive is
    then rejected.
    """

    def unlisted(error: OSError) -> None:
        name = str(error.filename or path)
        refuse(Refusal(name, "unreadable", error.strerror or str(error)))

    def link(inner: Path) -> None:
        count()
        refuse(Refusal(str(inner), "link", "links and devices are not followed"))

    for file in regular_files(path, unlisted, link):
        count()
        yield from _walk_file(file, refuse)


def _walk_file(path: Path, refuse: Refuse) -> Iterator[FoundFile]:
    try:
        file = path.open("rb", buffering=0)
    except OSError as error:
        refuse(Refusal(str(path), "unreadable", error.strerror or str(error)))
        return
    with file:
        stream: Stream = io.BufferedReader(file, IMPORT_BUFFER_BYTES)
        size = os.fstat(file.fileno()).st_size
        place = Extent(path, 0, size) if size else None  # none of a pipe
        walker = _Walker(Budget(size), refuse)
        yield from walker.look(str(path), stream, place, 0)
        if not walker.is_accounted:
            refuse(Refusal(str(path), "no_records", "the archive has no files"))


_UNKNOWN = f"no kind of log that is known, and no record in the first {IMPORT_BUFFER_BYTES:,} bytes"


class _Walker:
    """Finds the files in one file on disk."""

    def __init__(self, budget: Budget, refuse: Refuse) -> None:
        self._budget = budget
        self._report = refuse
        self.is_accounted = False
        """Whether a file was yielded or rejected."""

    def _refuse(self, refusal: Refusal) -> None:
        self.is_accounted = True
        self._report(refusal)

    def look(
        self, name: str, stream: Stream, place: Extent | None, depth: int
    ) -> Iterator[FoundFile]:
        """The file itself, or the files in it if it is an archive."""
        try:
            kind = kind_of(stream.peek(FILE_HEAD_BYTES)[:FILE_HEAD_BYTES])
            if kind is Kind.UNKNOWN and _LATE_LOG.search(stream.peek(IMPORT_BUFFER_BYTES)):
                kind = Kind.TEXT
            match kind:
                case Kind.EVTX | Kind.TEXT:
                    self.is_accounted = True
                    yield FoundFile(name, kind, stream, place)
                case Kind.ZIP | Kind.TAR | Kind.GZIP | Kind.ZSTD:
                    yield from self._open(kind, name, stream, place, depth)
                case Kind.EMPTY:
                    self._refuse(Refusal(name, "empty", "the file is empty"))
                case _:
                    self._refuse(Refusal(name, "unknown_kind", _UNKNOWN))
        except BombError as error:
            if depth:
                raise
            self._refuse(Refusal(name, "bomb", f"the rest of the archive is refused: {error}"))
        except DAMAGE as error:
            self._refuse(
                Refusal(name, "damaged", str(error)[:DAMAGE_CHARS_MAX] or type(error).__name__)
            )

    def _open(
        self, kind: Kind, name: str, stream: Stream, place: Extent | None, depth: int
    ) -> Iterator[FoundFile]:
        if depth >= ARCHIVE_DEPTH_MAX:
            message = f"archives within archives are read to a depth of {ARCHIVE_DEPTH_MAX}"
            self._refuse(Refusal(name, "too_deep", message))
            return
        path = place.path if place is not None and place.is_file else None
        if kind is Kind.ZIP:
            yield from self._zip(name, stream, path, depth)
        elif kind is Kind.TAR:
            yield from self._tar(name, stream, path, depth)
        else:
            opened: Inner = Gunzip(stream) if kind is Kind.GZIP else Unzstd(stream)
            inner = self._counted(opened)
            # A tar in a gzip is one archive, not two.
            is_tar = kind_of(inner.peek(FILE_HEAD_BYTES)[:FILE_HEAD_BYTES]) is Kind.TAR
            yield from self.look(name, inner, None, depth if is_tar else depth + 1)

    def _counted(self, inner: Inner) -> Stream:
        return io.BufferedReader(CountedStream(inner, self._budget), IMPORT_BUFFER_BYTES)

    def _zip(self, name: str, stream: Stream, path: Path | None, depth: int) -> Iterator[FoundFile]:
        seekable: BinaryIO = stream if path else read_all(stream)
        with zipfile.ZipFile(seekable) as archive:
            for info in sorted(archive.infolist(), key=lambda info: info.filename):
                inner = f"{name}!{info.filename}"
                self._budget.spend_member()
                if info.is_dir() or not self._is_allowed(inner, info.filename):
                    continue
                if info.external_attr >> 16 & 0o170000 == 0o120000:
                    self._refuse(Refusal(inner, "link", "links are not followed"))
                    continue
                try:
                    with archive.open(info) as member:
                        yield from self.look(inner, self._counted(member), None, depth + 1)
                except DAMAGE as error:
                    self._refuse(Refusal(inner, "damaged", str(error)[:DAMAGE_CHARS_MAX]))

    def _tar(self, name: str, stream: Stream, path: Path | None, depth: int) -> Iterator[FoundFile]:
        with _open_tar(stream, path) as (archive, heads):
            for info in archive:
                inner = f"{name}!{info.name}"
                self._budget.spend_member()
                if info.isdir() or not self._is_allowed(inner, info.name):
                    continue
                if not info.isfile() or info.issparse():
                    message = "links, devices and sparse files are not read"
                    self._refuse(Refusal(inner, "link", message))
                    continue
                if path is not None:
                    place = Extent(path, info.offset_data, info.offset_data + info.size)
                    member: io.RawIOBase = FileSlice(stream.fileno(), place.begin, place.end)
                else:
                    place = None
                    member = CountedStream(_content(archive, info), UNBOUNDED)
                reader: Stream = io.BufferedReader(member, IMPORT_BUFFER_BYTES)
                yield from self.look(inner, reader, place, depth + 1)
            if heads.last != bytes(tarfile.BLOCKSIZE):
                self._refuse(Refusal(name, "damaged", "the tar has no end: it is cut short"))

    def _is_allowed(self, inner: str, member: str) -> bool:
        """Rejects names that lead out of the archive: harmless here, but meant to do harm."""
        parts = member.replace("\\", "/").split("/")
        if ".." in parts or member.startswith(("/", "\\")) or member[1:2] == ":":
            self._refuse(Refusal(inner, "outside", "the name leads out of the archive"))
            return False
        return True


class _Heads:
    """Remembers the last header of a member. `tarfile` treats the end of the file, a partial header
    and a damaged header as the end of the archive; a complete archive ends with a block of
    zeros."""

    last = b""

    def member_type(self) -> type[tarfile.TarInfo]:
        """The class of members for `tarfile.open`."""
        heads = self

        class Member(tarfile.TarInfo):
            @classmethod
            def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
                heads.last = bytes(buf)
                return super().frombuf(buf, encoding, errors)

        return Member


@contextmanager
def _open_tar(stream: Stream, path: Path | None) -> Iterator[tuple[tarfile.TarFile, _Heads]]:
    """A tar on disk is read with seeks, any other as a stream."""
    heads = _Heads()
    member = heads.member_type()
    if path is not None:
        opened = partial(tarfile.open, path, mode="r:")
    else:
        opened = partial(tarfile.open, fileobj=stream, mode="r|")
    with opened(tarinfo=member) as archive:
        yield archive, heads


def _content(archive: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    content = archive.extractfile(info)
    assert content is not None, "it is a file"
    return content
