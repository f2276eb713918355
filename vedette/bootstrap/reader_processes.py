"""Reader processes of an import: `python -m vedette.bootstrap.reader_processes` with the
descriptors of an inherited socket and of the spool's file, and the spool's number. Only an import
starts them."""

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from vedette.bootstrap.memory.malloc_tuning import retain_freed_memory
from vedette.bootstrap.signals import signals_blocked
from vedette.importer.readers.reader_pool import Reader, read_ranges
from vedette.importer.scan.file_ranges import FileRange
from vedette.importer.scan.scan_result import ScanResult
from vedette.importer.sources.digest import Hasher
from vedette.importer.sources.text_spool import Spool
from vedette.limits import Limit
from vedette.pipeline.workers.socket_channel import SocketChannel

IMPORT_READERS_MAX: Limit[int] = 4
"""Reader processes of an import, one per core up to this number. Reading took 3 of 17 seconds of an
import with one reader (ADR 8); four readers are faster than the rest of the import can use."""

IMPORT_READER_END_S: Limit[int] = 10
"""Time (s) for reader processes to end after their channel was closed; then they are killed."""


class ReaderLauncher:
    """Starts reader processes, and waits for their end."""

    def __init__(self) -> None:
        """Call while no other thread loads the engine, which temporarily changes the working
        directory of the process."""
        self._folder = Path.cwd()
        self._processes: list[subprocess.Popen[bytes]] = []

    def launch(self) -> list[Reader]:
        """Starts one reader per core; none on a single core."""
        count = min(len(os.sched_getaffinity(0)), IMPORT_READERS_MAX)
        return [self._launch(number) for number in range(1, count + 1)] if count > 1 else []

    def close(self) -> None:
        """Waits up to IMPORT_READER_END_S for readers whose channels are closed, then kills
        them."""
        for process in self._processes:
            try:
                process.wait(IMPORT_READER_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()

    def _launch(self, number: int) -> Reader:
        ours, its = socket.socketpair()
        file = tempfile.TemporaryFile("w+b", prefix="vedette-import-")  # noqa: SIM115
        numbers = its.fileno(), file.fileno()
        command = [
            sys.executable,
            "-m",
            "vedette.bootstrap.reader_processes",
            *map(str, (*numbers, number)),
        ]
        with signals_blocked():
            process = subprocess.Popen(  # noqa: S603 - this very program
                command, stdin=subprocess.DEVNULL, pass_fds=numbers, cwd=self._folder
            )
        its.close()
        self._processes.append(process)
        return Reader(SocketChannel(ours, ScanResult), Spool(number, file))


def main() -> None:
    retain_freed_memory()
    its, file, number = map(int, sys.argv[1:])
    with os.fdopen(file, "w+b") as spooled:
        channel: SocketChannel[FileRange] = SocketChannel(socket.socket(fileno=its), FileRange)
        read_ranges(channel, Spool(number, spooled), Hasher())


if __name__ == "__main__":
    main()
