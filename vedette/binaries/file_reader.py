"""Reads files in a process that may be lost: a file that crashes, hangs or fills it costs that
file's facts alone, and another process reads the next one."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Final

import msgspec

from vedette.binaries.file_facts import FileFacts
from vedette.binaries.reader_messages import ReadRequest, Setup, read_message, write_message
from vedette.binaries.trust_store import TrustStore
from vedette.errors import UnavailableError
from vedette.limits import BLOB_PIECE_BYTES, FILE_READ_S, FILE_READER_FILES_MAX, FILE_READER_START_S

_PROGRAM: Final = "vedette.binaries.reader_main"
_ENVIRONMENT: Final = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG")
"""What the process gets of the server's environment: no secrets."""

LOST: Final = "file: reading it took too much time or memory, or crashed the reader"


class FileReader:
    """One reading process, started when it is needed. Thread-safe: one file at a time."""

    def __init__(
        self, trust: TrustStore, *, file_s: float = FILE_READ_S, program: str = _PROGRAM
    ) -> None:
        """`file_s` is how long one file may take; `program` is the module to run."""
        self.trust = trust
        self._file_s = file_s
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._files = 0
        self._lock = threading.Lock()

    def read(self, file: IO[bytes], size: int, *, is_whole: bool = True) -> FileFacts:
        """The facts of `size` bytes of an open file. Raises UnavailableError when no process can
        be started; whatever the file does is a problem among its facts."""
        with self._lock:
            if self._files >= FILE_READER_FILES_MAX:
                self._end()
            process = self._process or self._start()
            self._files += 1
            answer = _within(self._file_s, process, lambda: _ask(process, file, size, is_whole))
            if answer:
                return msgspec.msgpack.decode(answer, type=FileFacts)
            self._end()
            return FileFacts(problems=[LOST])

    @property
    def pid(self) -> int:
        """Of the process; 0 while there is none."""
        return self._process.pid if self._process else 0

    def close(self) -> None:
        """Ends the process."""
        with self._lock:
            self._end()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-m", self._program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        )
        setup = Setup(self.trust.roots, self.trust.distrusted)
        if not _within(FILE_READER_START_S, process, lambda: _begin(process, setup)):
            _kill(process)
            raise UnavailableError("the process that reads files does not start")
        self._process, self._files = process, 0
        return process

    def _end(self) -> None:
        if self._process is not None:
            _kill(self._process)
            self._process = None


def _within(seconds: float, process: subprocess.Popen[bytes], work: Callable[[], bytes]) -> bytes:
    """What the work returns; empty when the process ended or was killed at the deadline."""
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        return work()
    except OSError:
        return b""
    finally:
        timer.cancel()


def _begin(process: subprocess.Popen[bytes], setup: Setup) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    write_message(process.stdin, setup)
    return read_message(process.stdout)


def _ask(process: subprocess.Popen[bytes], file: IO[bytes], size: int, is_whole: bool) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    write_message(process.stdin, ReadRequest(size, is_whole))
    left = size
    while left and (piece := file.read(min(left, BLOB_PIECE_BYTES))):
        process.stdin.write(piece)
        left -= len(piece)
    process.stdin.flush()
    return read_message(process.stdout)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends it for good and gives back its pipes."""
    process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):  # a buffer that could not be written
                stream.close()
    process.wait()
