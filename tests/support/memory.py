"""Folders in memory for what tests write and never need again."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

_FREE_BYTES_MIN = 8 << 30


@contextmanager
def in_memory(otherwise: Path) -> Iterator[Path]:
    """A directory in memory where the machine has it to spare: what these tests ask of an engine
    does not depend on the disk, and making and deleting its many small files takes less."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or shutil.disk_usage(memory).free < _FREE_BYTES_MIN:
        yield otherwise
        return
    with TemporaryDirectory(dir=memory, prefix="vedette-tests-") as name:
        yield Path(name)
