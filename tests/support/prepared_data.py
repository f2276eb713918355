"""Data directories in which the tables of both databases are made: as a server leaves them that was
ended in its first start before it had an identity and an administrator.

Making them is a quarter of what a first start costs; a copy takes a few hundredths of a second.
"""

import atexit
import os
import shutil
import sys
import traceback
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from tests.support.forked import FORKS


def prepare(data: Path, flags: Sequence[str]) -> None:
    """Puts the tables into a new data directory, unless a server with these flags has its databases
    elsewhere."""
    is_new = not any((data / name).exists() for name in ("telemetry", "state.db"))
    if is_new and not any("dsn" in one for one in (*flags, *_configured(data))):
        shutil.copytree(_made(), data, symlinks=True, dirs_exist_ok=True)


def _configured(data: Path) -> list[str]:
    file = data / "vedette.toml"
    return file.read_text().splitlines() if file.exists() else []


@cache
def _made() -> Path:
    """Made by another process: one process can have one store open."""
    data = Path(mkdtemp(prefix="vedette-prepared-"))
    atexit.register(shutil.rmtree, data, ignore_errors=True)
    process = FORKS.Process(target=_run, args=(data,))
    process.start()
    process.join()
    assert process.exitcode == 0
    return data


def _run(data: Path) -> None:
    """The engine's threads end with the process, not before."""
    try:
        _make(data)
    except BaseException:  # noqa: BLE001 - told by the exit code
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def _make(data: Path) -> None:
    from vedette.state.db.database import open_database
    from vedette.state.start import migrate
    from vedette.store.engine.open import open_engine
    from vedette.store.schema.create import create_tables

    engine = open_engine(data / "telemetry")
    create_tables(engine)
    engine.close()
    state = open_database("", data)
    migrate(state)
    state.close()
