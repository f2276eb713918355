"""Ends the leases of the previous process of the data directory, and this process's own leases at
shutdown.

A leased job of a killed server would wait until the lease expires, about a minute. A server locks a
directory below its data directory, and the kernel releases the lock when the process ends, however
it ends. So a process that gets the lock can end the leases of the previous holder, whose name is in
a file there.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import structlog

from vedette.errors import VedetteError
from vedette.state.db.database import Database
from vedette.state.jobs.leases import end_holder
from vedette.store.engine.directory_lock import directory_lock

log = structlog.get_logger(__name__)

_FOLDER: Final = "leases"
_HOLDER: Final = "holder"


@contextmanager
def owned_leases(database: Database, data: Path) -> Iterator[None]:
    """Within the block this process is the only one that takes leases for its data directory.
    Raises StartError if another process has the directory."""
    folder = data / _FOLDER
    with directory_lock(folder):
        file = folder / _HOLDER
        end_holder(database, file.read_text(errors="replace") if file.exists() else "")
        file.write_text(database.name)
        try:
            yield
        finally:
            try:
                end_holder(database, database.name)
            except VedetteError as error:
                log.warning("cannot release leases; they expire later", reason=error.message)
