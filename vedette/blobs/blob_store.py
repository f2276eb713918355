"""The contract of blob stores: files by the SHA-256 of their content.

A blob's name is its hash, so every reader can verify it. Bytes are verified on write
(`BlobStore.put`) and on read (`open_verified`), and no other code may hand out the bytes of a blob.
The state database determines which blobs should exist, who owns them and how much space they may
take.
"""

import hashlib
import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Final, Literal, Protocol, get_args

from vedette.errors import BadRequestError, UnavailableError
from vedette.limits import BLOB_PIECE_BYTES, Limit

BLOB_IN_MEMORY_BYTES: Limit[int] = 1024 * 1024
"""Bytes of a blob up to which it is verified in memory; a larger blob is in a temporary file
meanwhile."""


Area = Literal["binaries", "icons", "installers", "packages", "backups", "backup_lists"]
"""Uses of blobs: copies of programs, icons in them, packages that installers contain, updates of
sensors; files and file lists of backups, in a separate store."""

AREAS: Final[tuple[Area, ...]] = get_args(Area)

_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class DamagedBlobError(UnavailableError):
    """The stored bytes do not match their hash; an operator must restore them."""

    reason = "damaged_blob"


@dataclass(frozen=True, slots=True)
class BlobKey:
    """Names a blob. Raises ValueError for anything that is not a hash, because keys become
    paths."""

    area: Area
    sha256: str
    """SHA-256 of the content, 64 digits in lower case."""

    def __post_init__(self) -> None:
        if self.area not in AREAS or not _SHA256.fullmatch(self.sha256):
            raise ValueError(f"no key of a blob: {self.area!r} {self.sha256!r}")

    def __str__(self) -> str:
        """Returns the path below the root of a store, the same in every implementation."""
        return f"{self.area}/{self.sha256[:2]}/{self.sha256}"


@dataclass(frozen=True, slots=True)
class BlobInfo:
    """A stored blob, as listed."""

    key: BlobKey
    size: int
    """Size in bytes."""
    stored_us: int
    """Time of the write, epoch microseconds of the store's clock."""


class OlderStore(Protocol):
    """A store from which blobs are read and deleted, without writes.

    Safe to share between threads, processes and, with a bucket, servers. Every method raises
    UnavailableError (503) if the store refuses or misses its deadline.
    """

    def read(self, key: BlobKey, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Yields `length` bytes, or all, from `start` on in pieces; fewer at the end.

        Not verified: use `open_verified`. Raises NotFoundError, at the latest with the first piece.
        """
        ...

    def size(self, key: BlobKey) -> int | None:
        """Returns the size in bytes; None if the blob is not stored."""
        ...

    def delete(self, key: BlobKey) -> None:
        """Deletes a blob, if it exists."""
        ...

    def blobs(self, area: Area) -> Iterator[BlobInfo]:
        """Yields every blob of an area, unordered, for eviction."""
        ...


class BlobStore(OlderStore, Protocol):
    """A store of blobs."""

    def put(self, key: BlobKey, pieces: Iterable[bytes]) -> int:
        """Stores the pieces durably, all or nothing; returns their size in bytes. Idempotent.

        Raises BadRequestError `hash_mismatch` if they are not the content of the key.
        """
        ...


def open_verified(store: OlderStore, key: BlobKey) -> IO[bytes]:
    """Returns the whole blob as an open file at its start, verified before the first byte is
    returned.

    Small blobs are in memory, others in an unnamed temporary file. Raises NotFoundError,
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
    """Returns the SHA-256 of an open file, and rewinds it."""
    digest = hashlib.sha256()
    for piece in pieces_of(file):
        digest.update(piece)
    file.seek(0)
    return digest.hexdigest()


def pieces_of(file: IO[bytes]) -> Iterator[bytes]:
    """Yields the rest of an open file in pieces."""
    while piece := file.read(BLOB_PIECE_BYTES):
        yield piece


class Hashing:
    """Passes pieces on, and raises at the end if they were not the content of the key. So a writer
    that reads it to the end has verified the bytes it wrote."""

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
