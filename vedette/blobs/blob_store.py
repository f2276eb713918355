"""The contract of blob stores: files by the SHA-256 of their content.

A blob's name is its hash, so whoever reads one can tell whether it is the right one. Bytes are
verified on the way in (`BlobStore.put`) and on the way out (`open_verified`), and nothing else may
hand out the bytes of a blob. Which blobs there should be, whose they are and how much room they may
take, the state database says.
"""

import hashlib
import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Final, Literal, Protocol, get_args

from vedette.errors import BadRequestError, UnavailableError
from vedette.limits import BLOB_IN_MEMORY_BYTES, BLOB_PIECE_BYTES

Area = Literal["binaries", "icons", "installers", "packages", "backups", "backup_lists"]
"""What blobs are for: copies of programs, icons in them, packages that installers carry, updates of
sensors; files and lists of files of backups, in a store of their own."""

AREAS: Final[tuple[Area, ...]] = get_args(Area)

_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class DamagedBlobError(UnavailableError):
    """The stored bytes are not those of their hash; somebody has to restore them."""

    reason = "damaged_blob"


@dataclass(frozen=True, slots=True)
class BlobKey:
    """Names a blob. Raises ValueError for anything that is not a hash: keys become paths."""

    area: Area
    sha256: str
    """Of the content, 64 digits in lower case."""

    def __post_init__(self) -> None:
        if self.area not in AREAS or not _SHA256.fullmatch(self.sha256):
            raise ValueError(f"no key of a blob: {self.area!r} {self.sha256!r}")

    def __str__(self) -> str:
        """The path below the root of a store, the same in every implementation."""
        return f"{self.area}/{self.sha256[:2]}/{self.sha256}"


@dataclass(frozen=True, slots=True)
class BlobInfo:
    """A stored blob, as listed."""

    key: BlobKey
    size: int
    """Bytes."""
    stored_us: int
    """When it was put, epoch microseconds of the store's clock."""


class OlderStore(Protocol):
    """Where blobs are read and taken away, and none are put any more.

    Safe to share between threads, processes and, in a bucket, servers. Every method raises
    UnavailableError (503) when the store refuses or misses its deadline.
    """

    def read(self, key: BlobKey, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """The bytes from `start` on, `length` of them or all, in pieces; fewer at the end.

        Not verified: `open_verified` is. Raises NotFoundError, at the latest with the first piece.
        """
        ...

    def size(self, key: BlobKey) -> int | None:
        """Bytes; None where it is not stored."""
        ...

    def delete(self, key: BlobKey) -> None:
        """Removes a blob, if it is there."""
        ...

    def blobs(self, area: Area) -> Iterator[BlobInfo]:
        """Every blob of an area, in no order, for eviction."""
        ...


class BlobStore(OlderStore, Protocol):
    """Where blobs lie."""

    def put(self, key: BlobKey, pieces: Iterable[bytes]) -> int:
        """Stores the pieces durably, all or nothing; returns their bytes. Idempotent.

        Raises BadRequestError `hash_mismatch` when they are not the content of the key.
        """
        ...


def open_verified(store: OlderStore, key: BlobKey) -> IO[bytes]:
    """The whole blob as an open file at its beginning, verified before the first byte is given.

    Small ones are in memory, others in an unnamed temporary file. Raises NotFoundError,
    DamagedBlobError, UnavailableError.
    """
    file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=BLOB_IN_MEMORY_BYTES)  # noqa: SIM115
    try:
        digest = hashlib.sha256()
        for piece in store.read(key):
            digest.update(piece)
            file.write(piece)
        if digest.hexdigest() != key.sha256:
            raise DamagedBlobError(f"the stored bytes of {key} are damaged: restore them")
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def hash_of(file: IO[bytes]) -> str:
    """The SHA-256 of an open file, which is left at its beginning."""
    digest = hashlib.sha256()
    for piece in pieces_of(file):
        digest.update(piece)
    file.seek(0)
    return digest.hexdigest()


def pieces_of(file: IO[bytes]) -> Iterator[bytes]:
    """What is left of an open file, in pieces."""
    while piece := file.read(BLOB_PIECE_BYTES):
        yield piece


class Hashing:
    """Passes pieces on, and refuses to end when they were not the content of the key, so that a
    writer that reads it to the end has verified what it wrote."""

    def __init__(self, key: BlobKey, pieces: Iterable[bytes]) -> None:
        self._key = key
        self._pieces = pieces
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        digest = hashlib.sha256()
        for piece in self._pieces:
            digest.update(piece)
            self.size += len(piece)
            yield piece
        if digest.hexdigest() != self._key.sha256:
            raise BadRequestError(
                f"the bytes are not those of SHA-256 {self._key.sha256}", reason="hash_mismatch"
            )
