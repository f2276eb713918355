"""Reads files in an expendable process: a file that crashes it, hangs or exhausts its memory loses
only its own facts, and another process reads the next file."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Final

import msgspec

from vedette.binaries.file_facts import FileFacts
from vedette.binaries.reader_messages import (
    ReadRequest,
    Scanned,
    Setup,
    read_message,
    write_message,
)
from vedette.binaries.trust_store import TrustStore
from vedette.binaries.yara_result import YaraResult, YaraText
from vedette.errors import UnavailableError
from vedette.limits import BLOB_PIECE_BYTES, FILE_READ_S, YARA_FILE_S, Limit

FILE_READER_START_S: Limit[int] = 30
"""Seconds until a reading process is ready: it imports its libraries, on a busy machine."""

FILE_READER_FILES_MAX: Limit[int] = 2_000
"""Files after which a reading process is replaced, which bounds leaks in libraries."""

YARA_START_S: Limit[int] = 180
"""Additional seconds until a reading process with rules is ready."""


_PROGRAM: Final = "vedette.binaries.reader_main"
_ENVIRONMENT: Final = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG")
"""Environment variables passed to the process: no secrets."""

LOST: Final = "file: reading it took too much time or memory, or crashed the reader"


class RulesRefusedError(UnavailableError):
    """A reading process starts only without the YARA rules: they take too much time or memory."""


class FileReader:
    """One reading process, started on demand. Thread-safe: one file at a time."""

    def __init__(
        self, trust: TrustStore, *, file_s: float = FILE_READ_S, program: str = _PROGRAM
    ) -> None:
        """`file_s` is the time limit for one file; `program` is the module to run."""
        self.trust = trust
        self._rules: tuple[YaraText, ...] = ()
        self._file_s = file_s
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._files = 0
        self._lock = threading.Lock()

    def read(self, file: IO[bytes], size: int, *, is_whole: bool = True) -> FileFacts:
        """Returns the facts of `size` bytes of an open, seekable file. Raises UnavailableError if
        no process can be started, RulesRefusedError if the rules are the cause. Failures caused by
        the file become problems among its facts."""
        with self._lock:
            if self._files >= FILE_READER_FILES_MAX:
                self._end()
            facts, found = self._ask(file, ReadRequest(size, is_whole))
            if found is None:  # the rules together ended the process: find out which of them
                file.seek(0)
                _, found = self._ask(file, ReadRequest(size, is_whole, is_apart=True))
            return msgspec.structs.replace(facts, yara=found or YaraResult())

    def _ask(self, file: IO[bytes], request: ReadRequest) -> tuple[FileFacts, YaraResult | None]:
        """Returns (facts, result of the rules); the result is None if the rules ended the process
        and it is unknown which rule did."""
        process = self._process or self._start()
        self._files += 1
        answer = _within(self._file_s, process, lambda: _send(process, file, request))
        if not answer:
            self._end()
            return FileFacts(problems=[LOST]), YaraResult()
        facts = msgspec.msgpack.decode(answer, type=FileFacts)
        if not (self._rules and request.is_whole):
            return facts, YaraResult()
        asked: list[str] = []
        answer = _within(YARA_FILE_S, process, lambda: _scanned(process, asked))
        if answer:
            return facts, msgspec.msgpack.decode(answer, type=Scanned).result
        self._end()
        return facts, YaraResult(stopped=asked[-1:]) if asked else None

    def use_rules(self, rules: Sequence[YaraText]) -> None:
        """Sets the YARA rules for the files that follow."""
        with self._lock:
            self._rules = tuple(rules)
            self._end()

    @property
    def pid(self) -> int:
        """Process id; 0 while there is no process."""
        return self._process.pid if self._process else 0

    def close(self) -> None:
        """Ends the reading process, if there is one."""
        with self._lock:
            self._end()

    def _start(self) -> subprocess.Popen[bytes]:
        process = self._started(self._rules)
        if process is None and self._rules and (without := self._started(())):
            _kill(without)
            raise RulesRefusedError("the process that reads files does not start with these rules")
        if process is None:
            raise UnavailableError("the process that reads files does not start")
        self._process, self._files = process, 0
        return process

    def _started(self, rules: tuple[YaraText, ...]) -> subprocess.Popen[bytes] | None:
        """Returns a ready process; None if it did not become ready."""
        process = subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-m", self._program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        )
        setup = Setup(self.trust.roots, self.trust.distrusted, rules)
        seconds = FILE_READER_START_S + (YARA_START_S if rules else 0)
        if _within(seconds, process, lambda: _begin(process, setup)):
            return process
        _kill(process)
        return None

    def _end(self) -> None:
        if self._process is not None:
            _kill(self._process)
            self._process = None


def _within(seconds: float, process: subprocess.Popen[bytes], work: Callable[[], bytes]) -> bytes:
    """Returns the result of `work`; empty if the process ended or was killed at the deadline."""
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


def _send(process: subprocess.Popen[bytes], file: IO[bytes], request: ReadRequest) -> bytes:
    """Sends a file; returns the message with its facts."""
    assert process.stdin is not None
    assert process.stdout is not None
    write_message(process.stdin, request)
    left = request.size
    while left and (piece := file.read(min(left, BLOB_PIECE_BYTES))):
        process.stdin.write(piece)
        left -= len(piece)
    process.stdin.flush()
    return read_message(process.stdout)


def _scanned(process: subprocess.Popen[bytes], asked: list[str]) -> bytes:
    """Returns the message with the result of the rules; adds the texts that were scanned separately
    to `asked`."""
    assert process.stdout is not None
    while answer := read_message(process.stdout):
        step = msgspec.msgpack.decode(answer, type=Scanned)
        if step.result is not None:
            break
        asked.append(step.asking)
    return answer


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kills the process and closes its pipes."""
    process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):  # a buffer that could not be written
                stream.close()
    process.wait()
