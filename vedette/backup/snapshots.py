"""Snapshots of a running server: its data directory at one moment, as hard links and small copies.

State and telemetry are consistent: the state is read first, then the telemetry is frozen, both
while no commit is open. State without its telemetry is harmless, as after a crash; the other way
round alerts would be missed, or hosts have no name. Snapshots take no space at first; as partitions
are merged and deleted, they keep the old files. So each snapshot must be removed, and expires after
a day.
"""

import os
import re
import secrets
import shutil
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vedette.errors import BadRequestError, ConflictError, NotFoundError, UnavailableError
from vedette.file_tree import matching, walk
from vedette.limits import Limit
from vedette.pipeline.ingest_queue import IngestQueue
from vedette.state.accounts import audit_trail
from vedette.state.db.audit_log import Entry
from vedette.state.db.database import Database
from vedette.state.db.snapshot import StateSnapshot, open_snapshot
from vedette.store.engine.client import Engine
from vedette.store.partitions.freeze import forget, freeze

SNAPSHOTS_MAX: Limit[int] = 4
"""Snapshots of a data directory at once: each keeps files that are merged or deleted meanwhile."""

SNAPSHOT_KEPT_S: Limit[int] = 24 * 3600
"""Time after which an abandoned snapshot is removed: the process that took it was killed."""


FOLDER: Final = "snapshots"
STATE_FILE: Final = "state.db"
TELEMETRY: Final = Path("telemetry") / "clickhouse"

DRAFT: Final = ".draft"
"""Suffix of the name of a snapshot that is being taken, or was when the server was killed."""

_ID: Final = re.compile(r"[0-9a-f]{16}")

LEFT_OUT: Final = frozenset(
    {FOLDER, "telemetry", "server.json", "server.log", "state.db", "state.db-wal", "state.db-shm"}
)
"""Names in a data directory that are not linked directly."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot and its path."""

    id: str
    path: Path


class Snapshots:
    """The snapshots of one data directory."""

    def __init__(
        self, data: Path, engine: Engine, database: Database, ingest_queue: IngestQueue
    ) -> None:
        self._data = data
        self._folder = data / FOLDER
        self._engine = engine
        self._database = database
        self._ingest_queue = ingest_queue
        self._taking: set[str] = set()

    def take(self, snapshot_id: str = "") -> Snapshot:
        """Takes a snapshot. Ingest waits while links are created; seconds for millions of files.
        The caller may choose the id, to be able to remove the snapshot even if a process is killed
        meanwhile.

        Raises ConflictError above `SNAPSHOTS_MAX`, for an id that exists, and for engines that are
        not embedded; BadRequestError for an invalid id.
        """
        made_id = snapshot_id or secrets.token_hex(8)
        if not _ID.fullmatch(made_id):
            raise BadRequestError("id: must be 16 hex digits")
        known = self._known()
        if made_id in known or made_id in self._taking:
            raise ConflictError(f"snapshot {made_id} already exists")
        if len(known | self._taking) >= SNAPSHOTS_MAX:
            raise ConflictError(f"there are {SNAPSHOTS_MAX} snapshots already: remove one")
        self._taking.add(made_id)
        try:
            self._remove_dead_drafts()
            # Before the snapshot, so that its copy of the log has the entry, too.
            audit_trail.record(self._database, Entry("create", "snapshot", made_id))
            return self._take(made_id)
        finally:
            self._taking.discard(made_id)

    def _take(self, made_id: str) -> Snapshot:
        draft = self._folder / f"{made_id}{DRAFT}"
        try:
            draft.mkdir(mode=0o700, parents=True)
            self._copy_engines(draft, made_id)
            (draft / STATE_FILE).chmod(0o600)
            self._link_files(draft)
            done = self._folder / made_id
            draft.rename(done)
        except OSError as error:
            raise UnavailableError(f"no snapshot could be taken: {error.strerror}") from error
        finally:
            self._discard(draft)
        return Snapshot(made_id, done)

    def remove(self, snapshot_id: str) -> None:
        """Removes a snapshot, or the leftovers of one during which the server was killed. Raises
        NotFoundError, and ConflictError for one that is being taken."""
        path = self._folder / snapshot_id
        draft = path.with_name(f"{snapshot_id}{DRAFT}")
        if not _ID.fullmatch(snapshot_id) or not (path.is_dir() or draft.is_dir()):
            raise NotFoundError(f"snapshot {snapshot_id[:40]!r} not found")
        if snapshot_id in self._taking:
            raise ConflictError(f"snapshot {snapshot_id} is being taken")
        self._note_removed(snapshot_id)
        shutil.rmtree(path, ignore_errors=True)
        self._discard(draft)

    def remove_stale(self) -> None:
        """Removes abandoned snapshots, and leftovers of interrupted ones. Decides by age: call it
        from a job that checks the clock guard."""
        before = time.time() - SNAPSHOT_KEPT_S
        for path in matching(self._folder, "*"):
            if path.stat().st_mtime >= before or _id_of(path) in self._taking:
                continue
            if path.is_dir():
                self._note_removed(_id_of(path))
                self._discard(path)
            else:  # a marker file of a command
                path.unlink(missing_ok=True)

    def _remove_dead_drafts(self) -> None:
        """Removes drafts of a killed server: no other server uses the directory."""
        for draft in matching(self._folder, f"*{DRAFT}"):
            if _id_of(draft) not in self._taking:
                self._note_removed(_id_of(draft))
                self._discard(draft)

    def _note_removed(self, snapshot_id: str) -> None:
        audit_trail.record(self._database, Entry("delete", "snapshot", snapshot_id))

    def _discard(self, path: Path) -> None:
        """Removes a snapshot or a draft, with the engine's part of it."""
        shutil.rmtree(path, ignore_errors=True)
        forget(self._data / TELEMETRY, _id_of(path))

    def _known(self) -> set[str]:
        return {path.name for path in matching(self._folder, "*") if _ID.fullmatch(path.name)}

    def _copy_engines(self, draft: Path, name: str) -> None:
        """Copies both engines as of one moment; ingest continues before the state is written
        out."""
        with ExitStack() as held:
            opened: list[StateSnapshot] = []

            def between_commits() -> None:
                opened.append(held.enter_context(open_snapshot(self._database)))
                freeze(self._engine, self._data / TELEMETRY, draft / TELEMETRY, name)

            self._ingest_queue.between_commits(between_commits)
            opened[0].copy(draft / STATE_FILE)

    def _link_files(self, draft: Path) -> None:
        """Links all other files: copies of programs, certificates, keys."""
        for path, folders, files in walk(self._data):
            here = path.relative_to(self._data)
            if here == Path():
                folders[:] = [name for name in folders if name not in LEFT_OUT]
                files = [name for name in files if name not in LEFT_OUT]
            (draft / here).mkdir(mode=0o700, exist_ok=True)
            # A link to a folder is copied as a link; readers of the snapshot decide how to treat
            # it.
            linked = [name for name in folders if (Path(path) / name).is_symlink()]
            for name in (*files, *linked):
                try:
                    os.link(path / name, draft / here / name, follow_symlinks=False)
                except FileNotFoundError:  # evicted or renamed since
                    continue


def _id_of(path: Path) -> str:
    return path.name.partition(".")[0]
