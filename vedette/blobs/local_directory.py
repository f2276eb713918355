"""Blobs in a directory of this machine.

A blob is written to `drafts/`, synced and renamed to `AREA/ab/abcdef...`, so that a file under its
final name is whole. Files are 0600, folders 0700.
"""

import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from vedette.blobs.blob_store import Area, BlobInfo, BlobKey, Hashing
from vedette.errors import NotFoundError, UnavailableError
from vedette.limits import BLOB_DRAFT_STALE_S, BLOB_PIECE_BYTES


class LocalDirectory:
    """A `BlobStore` below `root`, which is made when the first blob is put."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._drafts = root / "drafts"

    def put(self, key: BlobKey, pieces: Iterable[bytes]) -> int:
        with _translated():
            self._make(self._drafts)
            handle, name = tempfile.mkstemp(prefix=f"{key.sha256}.", dir=self._drafts)  # 0600
        draft = Path(name)
        try:
            return self._store(key, Hashing(key, pieces), handle, draft)
        finally:
            draft.unlink(missing_ok=True)

    def _store(self, key: BlobKey, hashing: Hashing, handle: int, draft: Path) -> int:
        with _translated(), os.fdopen(handle, "wb") as file:
            for piece in hashing:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        with _translated():
            kept = self.path(key)
            self._make(kept.parent)
            draft.replace(kept)
            # A rename is durable once its folder is, and a new folder once those above it are.
            for folder in (kept.parent, kept.parent.parent, self.root):
                sync_folder(folder)
        return hashing.size

    def read(self, key: BlobKey, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        with _translated():
            try:
                file = self.path(key).open("rb")
            except FileNotFoundError:
                raise NotFoundError(f"blob {key} is not stored") from None
            with file:
                file.seek(start)
                left = os.fstat(file.fileno()).st_size - start if length is None else length
                while left > 0 and (piece := file.read(min(left, BLOB_PIECE_BYTES))):
                    left -= len(piece)
                    yield piece

    def size(self, key: BlobKey) -> int | None:
        with _translated():
            try:
                return self.path(key).stat().st_size
            except FileNotFoundError:
                return None

    def delete(self, key: BlobKey) -> None:
        with _translated():
            self.path(key).unlink(missing_ok=True)

    def blobs(self, area: Area) -> Iterator[BlobInfo]:
        return self.listed(area, "??/*")

    def path(self, key: BlobKey) -> Path:
        """Where a blob lies."""
        return self.root / str(key)

    def listed(self, area: Area, pattern: str) -> Iterator[BlobInfo]:
        """The blobs of an area among the files of a pattern."""
        with _translated():
            for path in (self.root / area).glob(pattern):
                try:
                    status, key = path.stat(), BlobKey(area, path.name)
                except (FileNotFoundError, ValueError):  # deleted since, or none of ours
                    continue
                yield BlobInfo(key, status.st_size, status.st_mtime_ns // 1000)

    def _make(self, folder: Path) -> None:
        """Makes a folder below the root, and those between."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for parent in reversed(folder.relative_to(self.root).parents):
            (self.root / parent).mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)

    def delete_stale_drafts(self) -> None:
        """Removes what killed processes left behind."""
        before = time.time() - BLOB_DRAFT_STALE_S
        for path in self._drafts.glob("*"):
            try:
                if path.stat().st_mtime < before:
                    path.unlink()
            except OSError:  # another process was quicker, or it will be tried again
                continue


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable, as those of files that were just moved there."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UnavailableError(f"the blob store fails: {error.strerror}") from error
