"""Folders in memory for what tests write and never need again."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

_FREE_BYTES_MIN = 8 << 30
_PREFIX = "vedette-tests-"


@contextmanager
def in_memory(otherwise: Path) -> Iterator[Path]:
    """A directory in memory where the machine has it to spare: what these tests ask of an engine
    does not depend on the disk, and making and deleting its many small files takes less."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or shutil.disk_usage(memory).free < _FREE_BYTES_MIN:
        yield otherwise
        return
    _remove_abandoned(memory)
    with TemporaryDirectory(dir=memory, prefix=f"{_PREFIX}{os.getpid()}-") as name:
        yield Path(name)


def _remove_abandoned(memory: Path) -> None:
    """Deletes the folders of killed test runs, which take up to gigabytes of memory each."""
    for folder in memory.glob(f"{_PREFIX}*-*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if not Path("/proc", pid).exists():
            shutil.rmtree(folder, ignore_errors=True)
