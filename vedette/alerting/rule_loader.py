"""Loads files of Sigma rules in a disposable process (`rule_parser.py`).

A file that exceeds the process's memory or time is rejected as `too_costly`, and a new process
continues with the rest.
"""

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from typing import IO, Final
from uuid import NAMESPACE_URL, uuid5

import msgspec

from vedette import limits
from vedette.alerting.rule_messages import LENGTH_BYTES, RuleFile, write_message
from vedette.detect.rule_codec import CODEC_VERSION
from vedette.errors import BadRequestError
from vedette.limits import Limit
from vedette.state.policy.sigma_rule import NewSigmaRule

SIGMA_FILE_S: Limit[float] = 60.0
"""Time limit (s) per file, including the start of the process."""

SIGMA_PARSERS_LOST_MAX: Limit[int] = 10
"""Too costly files in one import after which it fails."""

SIGMA_ANSWER_BYTES_MAX: Limit[int] = 256 * 1024 * 1024
"""Bytes of the parsed documents of one file."""


_PROGRAM: Final = "vedette.alerting.rule_parser"


class RuleLoader:
    """Manages the parser process; use as a context manager. Not thread-safe."""

    def __init__(self, file_s: float = SIGMA_FILE_S) -> None:
        """`file_s` is the time limit per file, including the start of the process."""
        self._file_s = file_s
        self._process: subprocess.Popen[bytes] | None = None
        self._lost = 0

    def __enter__(self) -> "RuleLoader":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def load(self, files: Iterable[RuleFile]) -> Iterator[list[NewSigmaRule]]:
        """Yields the documents of each file, in order. Raises BadRequestError if many files are too
        costly, a sign of an attack."""
        for file in files:
            yield self._load(file)

    def _load(self, file: RuleFile) -> list[NewSigmaRule]:
        if len(file.text) <= limits.SIGMA_FILE_CHARS_MAX:
            answer = self._ask(msgspec.msgpack.encode(file))
            if answer is not None:
                return msgspec.msgpack.decode(answer, type=list[NewSigmaRule])
            self._end()
            self._lost += 1
            if self._lost > SIGMA_PARSERS_LOST_MAX:
                raise BadRequestError(
                    f"more than {SIGMA_PARSERS_LOST_MAX} files take too much time or memory"
                )
            reason, message = "too_costly", "takes too much time or memory to read"
        else:
            reason = "too_large"
            message = f"longer than {limits.SIGMA_FILE_CHARS_MAX} characters"
        return [_refused(file, reason, message)]

    def _ask(self, message: bytes) -> bytes | None:
        """Returns the response to a message; None if the process ended or took too long."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            write_message(process.stdin, message)  # type: ignore[arg-type]
        except OSError:
            return None
        deadline_s = time.monotonic() + self._file_s
        head = _read(process.stdout, LENGTH_BYTES, deadline_s)
        if head is None:
            return None
        return _read(process.stdout, int.from_bytes(head, "big"), deadline_s)

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-m", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        self._process = process
        return process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def _read(stream: IO[bytes], count: int, deadline_s: float) -> bytes | None:
    """Reads `count` bytes before the deadline; None if that fails."""
    if count > SIGMA_ANSWER_BYTES_MAX:
        return None
    data = bytearray()
    while len(data) < count:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0 or not select.select([stream], [], [], left_s)[0]:
            return None
        piece = os.read(stream.fileno(), count - len(data))
        if not piece:
            return None
        data += piece
    return bytes(data)


def _refused(file: RuleFile, reason: str, message: str) -> NewSigmaRule:
    return NewSigmaRule(
        id=str(uuid5(NAMESPACE_URL, file.name + file.text[: limits.SIGMA_FILE_CHARS_MAX])),
        kind="rule",
        text=file.text if reason != "too_large" else "",
        title="",
        level="medium",
        status="",
        version="",
        origin=file.origin or file.name,
        compiled="",
        codec=CODEC_VERSION,
        problem_reason=reason,
        problem_message=message,
    )
