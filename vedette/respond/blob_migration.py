"""Moves files from their former locations into the blob store, a few per round.

Each file is stored before it is deleted at its old location, and storing is idempotent: a process
that is killed in between moves it again. Damaged files stay in place and are logged.
"""

import time

import structlog

from vedette.blobs.blob_store import (
    AREAS,
    BlobKey,
    DamagedBlobError,
    OlderStore,
    hash_of,
    open_verified,
    pieces_of,
)
from vedette.blobs.fallback_store import FallbackStore
from vedette.blobs.older_directories import OlderDirectories
from vedette.errors import NotFoundError, UnavailableError
from vedette.limits import Limit
from vedette.state.db.database import Database
from vedette.state.files import stored_files

BLOBS_MOVE_PAUSE_S: Limit[int] = 300
"""Pause (s) after the store refused a file: its timeout is too long to retry every round."""

BLOBS_MOVED_A_ROUND: Limit[int] = 64
"""Files that one round of the background job moves; other jobs wait for it."""

BLOBS_MOVED_BYTES_A_ROUND: Limit[int] = 64 * 1024 * 1024
"""Bytes after which a round ends; a disk writes them in about a second."""


log = structlog.get_logger(__name__)


class BlobMigration:
    """Moves the files of one server. For use by one thread."""

    def __init__(self, blobs: FallbackStore, database: Database) -> None:
        self._blobs = blobs
        self._database = database
        self._damaged: set[BlobKey] = set()
        self._is_done = False
        self._paused_until_s = 0.0

    def move_some(self) -> bool:
        """Moves files up to the budget. Returns whether nothing is left to move. A refusal by the
        store ends the round and pauses later rounds."""
        if self._is_done or time.monotonic() < self._paused_until_s:
            return self._is_done
        budget = _Budget()
        try:
            self._is_done = all(self._move_from(store, budget) for store in self._blobs.older)
        except UnavailableError as error:
            log.warning("cannot move files to the blob store", reason=error.message)
            self._paused_until_s = time.monotonic() + BLOBS_MOVE_PAUSE_S
        if budget.files:
            log.info("moved files to the blob store", files=budget.files, bytes=budget.bytes)
        return self._is_done

    def _move_from(self, store: OlderStore, budget: "_Budget") -> bool:
        """Moves files from one location. Returns whether the budget sufficed."""
        for area in AREAS:
            for found in store.blobs(area):
                if found.key in self._damaged:
                    continue
                if budget.is_used_up:
                    return False
                self._move(store, found.key)
                budget.use(found.size)
        if isinstance(store, OlderDirectories):
            return self._move_beginnings(store, budget)
        return True

    def _move(self, store: OlderStore, key: BlobKey) -> None:
        try:
            with open_verified(store, key) as file:
                self._blobs.current.put(key, pieces_of(file))
        except NotFoundError:  # another server moved it first
            return
        except DamagedBlobError:
            self._damaged.add(key)
            log.error("a file is damaged and was not moved", blob=str(key))
            return
        store.delete(key)

    def _move_beginnings(self, store: OlderDirectories, budget: "_Budget") -> bool:
        """Moves beginnings of large files. Their names are not the hash of their bytes, so the hash
        is recorded in their rows."""
        for path, sha256, sensor_id in store.beginnings():
            if budget.is_used_up:
                return False
            with path.open("rb") as file:
                key = BlobKey("binaries", hash_of(file))
                size = self._blobs.current.put(key, pieces_of(file))
            stored_files.note_content(self._database, sha256, sensor_id, key.sha256)
            path.unlink()
            budget.use(size)
        return True


class _Budget:
    """Remaining budget of a round."""

    def __init__(self) -> None:
        self.files = 0
        self.bytes = 0

    def use(self, size: int) -> None:
        self.files += 1
        self.bytes += size

    @property
    def is_used_up(self) -> bool:
        return self.files >= BLOBS_MOVED_A_ROUND or self.bytes >= BLOBS_MOVED_BYTES_A_ROUND
