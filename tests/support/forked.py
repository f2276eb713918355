"""Servers that are forked from a process that has imported the program, which is half of a start.

All else is as users have it: a process of its own that runs the command `vedette serve` with its
words, its environment and its log; but for passwords, which are hashed cheaply. Tests of starts and
ends launch the program itself.
"""

import gc
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "vedette.cli.main",
        "vedette.bootstrap.serving",
        "uvloop",
        "alembic.command",
        "tests.support.warm",
    ]
)


class Forked:
    """A running command, or another `program` that is given its words and environment; as much of a
    `subprocess.Popen` as tests need."""

    def __init__(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        program: Callable[[list[str], Mapping[str, str]], None] | None = None,
    ) -> None:
        arguments = (list(words), dict(environment), log, program or run_program)
        self._process = FORKS.Process(target=_run, args=arguments)
        self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid
        self.terminate = self._process.terminate
        self.kill = self._process.kill

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("vedette", timeout or 0)
        return self._process.exitcode


def _run(
    words: list[str],
    environment: dict[str, str],
    log: Path,
    program: Callable[[list[str], Mapping[str, str]], None],
) -> None:
    with log.open("ab") as output:
        os.dup2(output.fileno(), sys.stdout.fileno())
        os.dup2(output.fileno(), sys.stderr.fileno())
    program(words, environment)


def run_program(words: list[str], environment: Mapping[str, str]) -> None:
    """The command `vedette` with these words; ends by SystemExit."""
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["vedette", *words]
    gc.freeze()  # what was imported is shared with all servers as long as nobody traverses it
    from tests.support.passwords import hash_cheaply
    from vedette.cli.main import app

    hash_cheaply()
    app(words)
