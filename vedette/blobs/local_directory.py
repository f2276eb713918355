"""Blobs in a directory of this machine.

A blob is written to `drafts/`, synced and renamed to `AREA/ab/abcdef...`, so that a file under its
final name is complete. Files have mode 0600, folders 0700. Links below the root are not followed
(`open_folder.py`): the directory may hold a backup that another account can write to.
"""

import os
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from vedette.blobs.blob_store import Area, BlobInfo, BlobKey, Hashing
from vedette.blobs.open_folder import OpenFolder
from vedette.errors import NotFoundError, UnavailableError
from vedette.file_tree import matching
from vedette.limits import BLOB_PIECE_BYTES, Limit

BLOB_DRAFT_STALE_S: Limit[int] = 24 * 3600
"""Age at which a draft is considered abandoned by a killed process."""


_DRAFTS: Final = "drafts"


class LocalDirectory:
    """A `BlobStore` below `root`, which is created when the first blob is stored."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._drafts = root / _DRAFTS

    def put(self, key: BlobKey, pieces: Iterable[bytes]) -> int:
        draft = f"{key.sha256}.{secrets.token_hex(8)}"
        with _translated():
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            opened = OpenFolder.root(self.root)
        with opened as root:
            try:
                return self._store(root, key, Hashing(key, pieces), draft)
            finally:
                with suppress(OSError), root.below((_DRAFTS,)) as folder:
                    folder.remove(draft)

    def _store(self, root: OpenFolder, key: BlobKey, hashing: Hashing, draft: str) -> int:
        with _translated(), root.below((_DRAFTS,), mode=0o700) as folder:
            file = folder.create_file(draft, 0o600)
        with _translated(), file:
            for piece in hashing:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        *folders, name = self._parts(key)
        with (
            _translated(),
            root.below((_DRAFTS,)) as source,
            root.below(tuple(folders), mode=0o700) as kept,
        ):
            source.move(draft, kept, name)
            kept.sync()
            # A rename is durable once its folder is, and a new folder once its parents are.
            for depth in range(len(folders)):
                with root.below(tuple(folders[:depth])) as parent:
                    parent.sync()
        return hashing.size

    def read(self, key: BlobKey, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        *folders, name = self._parts(key)
        with _translated():
            try:
                with OpenFolder.root(self.root) as root, root.below(tuple(folders)) as folder:
                    file = folder.open_file(name)
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
                return self.path(key).lstat().st_size
            except FileNotFoundError:
                return None

    def delete(self, key: BlobKey) -> None:
        *folders, name = self._parts(key)
        with (
            _translated(),
            suppress(FileNotFoundError),
            OpenFolder.root(self.root) as root,
            root.below(tuple(folders)) as folder,
        ):
            folder.remove(name)

    def blobs(self, area: Area) -> Iterator[BlobInfo]:
        return self.listed(area, "??/*")

    def path(self, key: BlobKey) -> Path:
        """Returns the path of a blob."""
        return self.root / str(key)

    def listed(self, area: Area, pattern: str) -> Iterator[BlobInfo]:
        """Yields the blobs of an area among the files of a pattern."""
        with _translated():
            for path in matching(self.root / area, pattern):
                try:
                    status, key = path.lstat(), BlobKey(area, path.name)
                except (FileNotFoundError, ValueError):  # deleted since, or not a blob
                    continue
                yield BlobInfo(key, status.st_size, status.st_mtime_ns // 1000)

    def _parts(self, key: BlobKey) -> tuple[str, ...]:
        return self.path(key).relative_to(self.root).parts

    def delete_stale_drafts(self) -> None:
        """Deletes drafts that killed processes left."""
        before = time.time() - BLOB_DRAFT_STALE_S
        for path in matching(self._drafts, "*"):
            try:
                if path.lstat().st_mtime < before:
                    path.unlink()
            except OSError:  # another process was faster, or the next run tries again
                continue


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable, such as those of files that were just moved there."""
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
