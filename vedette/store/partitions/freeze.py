"""A copy of the embedded telemetry as hard links, taken at one moment.

Data parts are immutable, so `FREEZE` links the active parts of a table under `shadow/`. The
engine's other files (definitions, detached partitions, links) are linked or copied. The result has
the layout of the engine's own directory and can be opened as one.
"""

import os
import re
import shutil
from pathlib import Path
from typing import Final

from vedette.errors import ConflictError
from vedette.file_tree import matching, walk
from vedette.store.engine.client import Engine

_NAME: Final = re.compile(r"[a-z0-9]{1,40}")
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DETACHED: Final = "detached"


def freeze(engine: Engine, source: Path, target: Path, name: str) -> None:
    """Links the store in directory `source` (the engine's own) into the new directory `target` on
    the same file system. Call it while no partition is changing; inserts into one table may
    continue.

    Raises ConflictError for a store that is not embedded, UnavailableError if the engine refuses.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(name)
    if engine.capabilities.cluster or not source.is_dir():
        raise ConflictError("the telemetry store is a cluster: back it up with its own tools")
    tables = engine.query(
        "SELECT name FROM system.tables "
        "WHERE database = {database:String} AND engine LIKE '%MergeTree'",
        {"database": engine.database},
    )
    _discard_unwritten_counter(source)
    for (table,) in tables.rows:
        # Names of snapshots cannot be bound; checked above.
        engine.command(f"ALTER TABLE `{table}` FREEZE WITH NAME '{name}'")
    _link_definitions(source, target)
    shadow = source / "shadow" / name
    _move_parts(shadow / "store", target / "store")
    shutil.rmtree(shadow)


def _discard_unwritten_counter(source: Path) -> None:
    """Removes the engine's counter file of `FREEZE` if a kill left it empty: the engine would
    refuse every further `FREEZE`, and starts a new counter without the file. Snapshot names do not
    depend on it."""
    counter = source / "shadow" / "increment.txt"
    if counter.is_file() and not counter.read_bytes().strip():
        counter.unlink()


def forget(source: Path, name: str) -> None:
    """Removes the leftovers of an interrupted `freeze`."""
    if _NAME.fullmatch(name):
        shutil.rmtree(source / "shadow" / name, ignore_errors=True)


def _link_definitions(source: Path, target: Path) -> None:
    """Links everything except active parts and files that the engine recreates."""
    for folder in ("metadata", "data", "store"):
        for path, folders, files in walk(source / folder):
            here = target / path.relative_to(source)
            here.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _UUID.fullmatch(path.name):
                folders[:] = [one for one in folders if one == _DETACHED]
            for name in (*folders, *files):
                found = path / name
                if found.is_symlink():
                    (here / name).symlink_to(found.readlink())
            folders[:] = [one for one in folders if not (path / one).is_symlink()]
            for name in files:
                _copy_or_link(path / name, here / name)


def _copy_or_link(found: Path, copy: Path) -> None:
    if found.is_symlink():
        return
    if f"/{_DETACHED}/" in str(found):
        os.link(found, copy)
    else:
        shutil.copy2(found, copy)  # a definition may be rewritten in place


def _move_parts(frozen: Path, target: Path) -> None:
    for table in matching(frozen, "*/*"):
        place = target / table.relative_to(frozen)
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        for part in table.iterdir():
            part.rename(place / part.name)
