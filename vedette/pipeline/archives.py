"""Finds the files under a path, also in zip, tar, gzip and zstd, and one in another.

What a file is, its first bytes say, not its name. Nothing is ever unpacked to disk: members are
streams. A member whose name leads out of the archive, a link and a device is refused, and so is
what inflates beyond all proportion; each refusal names the member and does not stop the rest.
"""

import io
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from enum import Enum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeAlias

import zstandard

from vedette.limits import (
    ARCHIVE_DEPTH_MAX,
    ARCHIVE_INFLATED_BYTES_MIN,
    ARCHIVE_MEMBERS_MAX,
    ARCHIVE_RATIO_MAX,
    MEMBER_MEMORY_BYTES_MAX,
    ZSTD_WINDOW_BYTES_MAX,
)

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    Stream: TypeAlias = io.BufferedReader[Any]
else:
    Stream = io.BufferedReader

HEAD_BYTES = 4_096
"""How much of a file is looked at to tell what it is."""

_GZIP_WBITS = 31
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_BYTES = 128 * 1024
_BUFFER_BYTES = 1024 * 1024
_WHOLE_BYTES = 8 * 1024 * 1024
"""Read at a time of what is wanted whole: room for all that it might be costs more."""

DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    zstandard.ZstdError,
    EOFError,
    OSError,
    RuntimeError,  # an encrypted member, or a method of compression that is not known
    ValueError,
)


class Kind(Enum):
    """What a file is by its first bytes."""

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


class Found(NamedTuple):
    """A file to read: `stream` is good until the next one is asked for."""

    name: str
    """The path, and the names of the members after `!`."""
    kind: Kind
    stream: Stream
    path: Path | None
    """Where it is on disk; None for a member of an archive."""


class BombError(Exception):
    """An archive inflates beyond its budget."""


Refuse = Callable[[Refusal], None]


def kind_of(head: bytes) -> Kind:
    """What a file is that begins so."""
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
    (_GZIP_MAGIC, Kind.GZIP),
    (b"\x28\xb5\x2f\xfd", Kind.ZSTD),
)


def _is_log(text: bytes) -> bool:
    """Whether some of the first lines hold an audit line, a Santa line, XML or JSON."""
    marks = (b"audit(", b"santad: action=", b"<Event", b': {"', b"@cee:")
    return any(mark in line for line in text.splitlines()[:20] for mark in marks)


def walk(path: Path, refuse: Refuse) -> Generator[Found, None, None]:
    """All files under a path, a file or a directory, in the order of their names.

    Throw BombError in where a stream that is read raised it: the rest of its archive is refused.
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


def _walk_file(path: Path, refuse: Refuse) -> Iterator[Found]:
    try:
        file = path.open("rb", buffering=0)
    except OSError as error:
        refuse(Refusal(str(path), "unreadable", error.strerror or str(error)))
        return
    with file:
        stream: Stream = io.BufferedReader(file, _BUFFER_BYTES)
        walker = _Walker(_Budget(path.stat().st_size), refuse)
        yield from walker.look(str(path), stream, path, 0)


class _Budget:
    """How much an archive may still inflate to."""

    def __init__(self, archive_bytes: int) -> None:
        self._left = max(ARCHIVE_INFLATED_BYTES_MIN, ARCHIVE_RATIO_MAX * archive_bytes)
        self._members = ARCHIVE_MEMBERS_MAX

    def spend(self, byte_count: int) -> None:
        self._left -= byte_count
        if self._left < 0:
            raise BombError(f"it inflates to over {ARCHIVE_RATIO_MAX} times its size")

    def spend_member(self) -> None:
        self._members -= 1
        if self._members < 0:
            raise BombError(f"it has more than {ARCHIVE_MEMBERS_MAX} members")


_Inner: TypeAlias = IO[bytes] | io.RawIOBase


class _Inflating(io.RawIOBase):
    """A stream that is counted while it inflates."""

    def __init__(self, inner: _Inner, budget: _Budget) -> None:
        self._inner = inner
        self._budget = budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        data = self._inner.read(len(view)) or b""
        view[: len(data)] = data
        self._budget.spend(len(data))
        return len(data)


class _Walker:
    """Looks into one file of the disk."""

    def __init__(self, budget: _Budget, refuse: Refuse) -> None:
        self._budget = budget
        self._refuse = refuse

    def look(self, name: str, stream: Stream, path: Path | None, depth: int) -> Iterator[Found]:
        """The file itself, or the files in it."""
        try:
            kind = kind_of(stream.peek(HEAD_BYTES)[:HEAD_BYTES])
            match kind:
                case Kind.EVTX | Kind.TEXT:
                    yield Found(name, kind, stream, path)
                case Kind.ZIP | Kind.TAR | Kind.GZIP | Kind.ZSTD:
                    yield from self._open(kind, name, stream, path, depth)
                case Kind.EMPTY:
                    pass
                case _:
                    self._refuse(Refusal(name, "unknown_kind", "no kind of log that is known"))
        except BombError as error:
            if depth:
                raise
            self._refuse(Refusal(name, "bomb", f"the rest of the archive is refused: {error}"))
        except DAMAGE as error:
            self._refuse(Refusal(name, "damaged", str(error)[:200] or type(error).__name__))

    def _open(
        self, kind: Kind, name: str, stream: Stream, path: Path | None, depth: int
    ) -> Iterator[Found]:
        if depth >= ARCHIVE_DEPTH_MAX:
            message = f"archives within archives are read to a depth of {ARCHIVE_DEPTH_MAX}"
            self._refuse(Refusal(name, "too_deep", message))
            return
        if kind is Kind.ZIP:
            yield from self._zip(name, stream, path, depth)
        elif kind is Kind.TAR:
            yield from self._tar(name, stream, path, depth)
        else:
            opened = _Gunzip(stream) if kind is Kind.GZIP else _unzstd(stream)
            inner = self._counted(opened)
            # A tar in a gzip is one archive, not two.
            is_tar = kind_of(inner.peek(HEAD_BYTES)[:HEAD_BYTES]) is Kind.TAR
            yield from self.look(name, inner, None, depth if is_tar else depth + 1)

    def _counted(self, inner: _Inner) -> Stream:
        return io.BufferedReader(_Inflating(inner, self._budget), _BUFFER_BYTES)

    def _zip(self, name: str, stream: Stream, path: Path | None, depth: int) -> Iterator[Found]:
        seekable: BinaryIO = stream if path else whole(stream)
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
                    self._refuse(Refusal(inner, "damaged", str(error)[:200]))

    def _tar(self, name: str, stream: Stream, path: Path | None, depth: int) -> Iterator[Found]:
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
                    member: io.RawIOBase = Slice(stream.fileno(), info.offset_data, info.size)
                else:
                    member = _Inflating(_content(archive, info), _UNBOUNDED)
                reader: Stream = io.BufferedReader(member, _BUFFER_BYTES)
                yield from self.look(inner, reader, None, depth + 1)

    def _is_allowed(self, inner: str, member: str) -> bool:
        """Refuses names that lead out of the archive. They could do no harm here, but whoever
        made them meant some."""
        parts = member.replace("\\", "/").split("/")
        if ".." in parts or member.startswith(("/", "\\")) or member[1:2] == ":":
            self._refuse(Refusal(inner, "outside", "the name leads out of the archive"))
            return False
        return True


def _open_tar(stream: Stream, path: Path | None) -> tarfile.TarFile:
    """A tar on disk is read from member to member, any other as it comes."""
    if path is not None:
        return tarfile.open(path, mode="r:")
    return tarfile.open(fileobj=stream, mode="r|")


def _content(archive: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    content = archive.extractfile(info)
    assert content is not None, "it is a file"
    return content


class _Unbounded(_Budget):
    """Of a tar, whose members are as large as they are in it."""

    def spend(self, byte_count: int) -> None:
        pass


_UNBOUNDED = _Unbounded(0)


class Slice(io.RawIOBase):
    """A part of a file on disk. Raises EOFError where the file ends before it."""

    def __init__(self, descriptor: int, offset: int, size: int) -> None:
        self._descriptor = descriptor
        self._offset = offset
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)[: self._left]
        count = os.preadv(self._descriptor, [view], self._offset) if view else 0
        if view and not count:
            raise EOFError("the file is cut short")
        self._offset += count
        self._left -= count
        return count


class _Gunzip(io.RawIOBase):
    """A gzip stream, of any number of members. What follows the last one and is none is ignored,
    as gzip(1) does: some archives of public data end so. Raises EOFError when it is cut short."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner
        self._inflater = zlib.decompressobj(_GZIP_WBITS)
        self._held = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        data = self._inflate(len(view))
        view[: len(data)] = data
        return len(data)

    def _inflate(self, size: int) -> bytes:
        while True:
            if self._inflater.eof and not self._next_member():
                return b""
            held = self._held or self._inner.read(_GZIP_BYTES)
            if not held:
                raise EOFError("the gzip stream is cut short")
            data = self._inflater.decompress(held, size)
            self._held = self._inflater.unconsumed_tail
            if self._inflater.eof:
                self._held = self._inflater.unused_data
            if data:
                return data

    def _next_member(self) -> bool:
        while len(self._held) < len(_GZIP_MAGIC):
            more = self._inner.read(_GZIP_BYTES)
            if not more:
                return False
            self._held += more
        if not self._held.startswith(_GZIP_MAGIC):
            return False
        self._inflater = zlib.decompressobj(_GZIP_WBITS)
        return True


def _unzstd(stream: IO[bytes]) -> IO[bytes]:
    inflater = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES_MAX)
    return inflater.stream_reader(stream, read_across_frames=True)


def whole(stream: BinaryIO) -> io.BytesIO:
    """A stream in memory. Raises ValueError when it is too large for that."""
    parts: list[bytes] = []
    left = MEMBER_MEMORY_BYTES_MAX
    while part := stream.read(min(_WHOLE_BYTES, left + 1)):
        parts.append(part)
        left -= len(part)
        if left < 0:
            raise ValueError(
                f"a member of over {MEMBER_MEMORY_BYTES_MAX} bytes has to be unpacked first"
            )
    return io.BytesIO(parts[0] if len(parts) == 1 else b"".join(parts))
