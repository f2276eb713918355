"""Snapshots of a running server: its data directory at one moment, as hard links and small copies.

State and telemetry agree: the state is read first, then the telemetry is frozen, both while no
commit is under way. What is in the state but not in the telemetry yet is harmless, as after a
crash; the other way round alerts would be missed, or hosts be nameless. Snapshots cost no room at
first; as partitions are merged and deleted, they keep the old files. So each has to be removed, and
is after a day.
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

from vedette.errors import ConflictError, NotFoundError, UnavailableError
from vedette.limits import SNAPSHOT_KEPT_S, SNAPSHOTS_MAX
from vedette.pipeline.ingest_queue import IngestQueue
from vedette.state.db.database import Database
from vedette.state.db.snapshot import StateSnapshot, open_snapshot
from vedette.store.engine.client import Engine
from vedette.store.partitions.freeze import forget, freeze

FOLDER: Final = "snapshots"
STATE_FILE: Final = "state.db"
TELEMETRY: Final = Path("telemetry") / "clickhouse"

_ID: Final = re.compile(r"[0-9a-f]{16}")

LEFT_OUT: Final = frozenset(
    {FOLDER, "telemetry", "server.json", "server.log", "state.db", "state.db-wal", "state.db-shm"}
)
"""Names in a data directory that are not linked as they are."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot, and where it lies."""

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

    def take(self) -> Snapshot:
        """Ingest waits for the moment that links need; seconds for millions of files.

        Raises ConflictError above `SNAPSHOTS_MAX`, and for engines that are not embedded.
        """
        if len(self._known()) >= SNAPSHOTS_MAX:
            raise ConflictError(f"there are {SNAPSHOTS_MAX} snapshots already: remove one")
        made = Snapshot(secrets.token_hex(8), self._folder)
        draft = self._folder / f"{made.id}.draft"
        try:
            draft.mkdir(mode=0o700, parents=True)
            self._copy_engines(draft, made.id)
            (draft / STATE_FILE).chmod(0o600)
            self._link_files(draft)
            done = self._folder / made.id
            draft.rename(done)
        except OSError as error:
            raise UnavailableError(f"no snapshot could be taken: {error.strerror}") from error
        finally:
            shutil.rmtree(draft, ignore_errors=True)
            forget(self._data / TELEMETRY, made.id)
        return Snapshot(made.id, done)

    def remove(self, snapshot_id: str) -> None:
        """Raises NotFoundError."""
        path = self._folder / snapshot_id
        if not _ID.fullmatch(snapshot_id) or not path.is_dir():
            raise NotFoundError(f"there is no snapshot {snapshot_id[:40]!r}")
        shutil.rmtree(path, ignore_errors=True)

    def remove_stale(self) -> None:
        """Removes snapshots that were forgotten, and what interrupted ones left. By age: a
        job does, which asks the clock guard."""
        before = time.time() - SNAPSHOT_KEPT_S
        for path in self._folder.glob("*"):
            if path.stat().st_mtime < before:
                shutil.rmtree(path, ignore_errors=True)
                forget(self._data / TELEMETRY, path.name.partition(".")[0])

    def _known(self) -> list[Path]:
        return [path for path in self._folder.glob("*") if _ID.fullmatch(path.name)]

    def _copy_engines(self, draft: Path, name: str) -> None:
        """Both at one moment; the state is written out when ingest goes on already."""
        with ExitStack() as held:
            opened: list[StateSnapshot] = []

            def between_commits() -> None:
                opened.append(held.enter_context(open_snapshot(self._database)))
                freeze(self._engine, self._data / TELEMETRY, draft / TELEMETRY, name)

            self._ingest_queue.between_commits(between_commits)
            opened[0].copy(draft / STATE_FILE)

    def _link_files(self, draft: Path) -> None:
        """Links all other files: copies of programs, certificates, keys."""
        for path, folders, files in os.walk(self._data):
            here = Path(path).relative_to(self._data)
            if here == Path():
                folders[:] = [name for name in folders if name not in LEFT_OUT]
                files = [name for name in files if name not in LEFT_OUT]
            (draft / here).mkdir(mode=0o700, exist_ok=True)
            for name in files:
                try:
                    os.link(Path(path) / name, draft / here / name, follow_symlinks=False)
                except FileNotFoundError:  # evicted or renamed since
                    continue
