"""A server process that a test may do violence to."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support import served
from tests.support.forked import Forked
from tests.support.served import launch


@contextmanager
def launched(data: Path, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """`vedette serve`, killed at the end of the block if it has not ended by then. For tests of the
    program's own start and end."""
    process = launch(data, *flags)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def forked(data: Path, *flags: str, descriptors: int = 0) -> Iterator[Forked]:
    """The same in half the time, from a process that has imported the program. `descriptors` as in
    `served.forked`."""
    process = served.forked(data, *flags, descriptors=descriptors)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
