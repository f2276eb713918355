"""A server process that a test may do violence to."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.served import launch


@contextmanager
def launched(data: Path, *flags: str, descriptors: int = 0) -> Iterator[subprocess.Popen[bytes]]:
    """`vedette serve`, killed at the end of the block if it has not ended by then."""
    process = launch(data, *flags, descriptors=descriptors)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
