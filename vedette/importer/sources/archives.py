"""Finds the files under a path, also in zip, tar, gzip and zstd archives and archives within them.

The type of a file is decided by its first bytes, not its name. Nothing is unpacked to disk: members
are streams. Members whose name leads out of the archive, links, devices and decompression bombs are
rejected, each with its name; the rest is read.
"""

import io
import os
import tarfile
import zipfile
from collections.abc import Callable, Generator, Iterator
from enum import Enum
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple

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
    unzstd,
)
from vedette.limits import (
    ARCHIVE_DEPTH_MAX,
    DAMAGE_CHARS_MAX,
    FILE_HEAD_BYTES,
    FILE_HEAD_LINES,
    IMPORT_BUFFER_BYTES,
)


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
    if b"\0" in head or not (text[:1] in (b"{", b"[", b"<") or _is_log(text)):
        return Kind.UNKNOWN
    return Kind.TEXT


_MAGIC: tuple[tuple[bytes, Kind], ...] = (
    (b"ElfFile\0", Kind.EVTX),
    (b"PK\x03\x04", Kind.ZIP),
    (b"PK\x05\x06", Kind.ZIP),
    (GZIP_MAGIC, Kind.GZIP),
    (b"\x28\xb5\x2f\xfd", Kind.ZSTD),
)


def _is_log(text: bytes) -> bool:
    """Whether one of the first lines has an audit line, a Santa line, XML or JSON."""
    marks = (b"audit(", b"santad: action=", b"<Event", b': {"', b"@cee:")
    return any(mark in line for line in text.splitlines()[:FILE_HEAD_LINES] for mark in marks)


def walk(path: Path, refuse: Refuse) -> Generator[FoundFile, None, None]:
    """All files under a path, a file or a directory, in the order of their names.

    Throw BombError into the generator when reading a stream raises it: the rest of its archive is
    rejected.
    """
    if path.is_dir():
        for folder, folders, names in os.walk(path):
            folders.sort()
            for name in sorted(names):
                inner = Path(folder, name)
                if inner.is_symlink() or not inner.is_file():
                    refuse(Refusal(str(inner), "link", "links and devices are not followed"))
                else:
                    yield from _walk_file(inner, refuse)
    else:
        yield from _walk_file(path, refuse)


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


class _Walker:
    """Finds the files in one file on disk."""

    def __init__(self, budget: Budget, refuse: Refuse) -> None:
        self._budget = budget
        self._refuse = refuse

    def look(
        self, name: str, stream: Stream, place: Extent | None, depth: int
    ) -> Iterator[FoundFile]:
        """The file itself, or the files in it if it is an archive."""
        try:
            kind = kind_of(stream.peek(FILE_HEAD_BYTES)[:FILE_HEAD_BYTES])
            match kind:
                case Kind.EVTX | Kind.TEXT:
                    yield FoundFile(name, kind, stream, place)
                case Kind.ZIP | Kind.TAR | Kind.GZIP | Kind.ZSTD:
                    yield from self._open(kind, name, stream, place, depth)
                case Kind.EMPTY:
                    pass
                case _:
                    self._refuse(Refusal(name, "unknown_kind", "no kind of log that is known"))
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
            opened = Gunzip(stream) if kind is Kind.GZIP else unzstd(stream)
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
        with _open_tar(stream, path) as archive:
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

    def _is_allowed(self, inner: str, member: str) -> bool:
        """Rejects names that lead out of the archive: harmless here, but made to do harm."""
        parts = member.replace("\\", "/").split("/")
        if ".." in parts or member.startswith(("/", "\\")) or member[1:2] == ":":
            self._refuse(Refusal(inner, "outside", "the name leads out of the archive"))
            return False
        return True


def _open_tar(stream: Stream, path: Path | None) -> tarfile.TarFile:
    """A tar on disk is read with seeks, any other as a stream."""
    if path is not None:
        return tarfile.open(path, mode="r:")
    return tarfile.open(fileobj=stream, mode="r|")


def _content(archive: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    content = archive.extractfile(info)
    assert content is not None, "it is a file"
    return content
