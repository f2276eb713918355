"""Commands of `vedette` as users type them, each in a process of its own that is forked from one
that has imported the program: importing it takes longer than most commands do.

Tests of how a program begins, of signals and of kills launch it by `python -m vedette`.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.forked import FORKS, run_program

TIMEOUT_S = 300.0

Ended = subprocess.CompletedProcess[str]


def vedette(*words: str | Path, given: str = "", timeout_s: float = TIMEOUT_S) -> Ended:
    """Runs a command to its end; what it printed and its exit code. `given` is its standard input.

    Raises subprocess.TimeoutExpired; the command is killed then.
    """
    return _ended(_run_command, [str(word) for word in words], given, timeout_s)


def done(*words: str | Path, given: str = "") -> str:
    """Standard output of a command that succeeds."""
    ended = vedette(*words, given=given)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def program(source: str, *arguments: str | Path) -> str:
    """Standard output of a Python program that succeeds, such as one that opens a store: a process
    can have one open."""
    ended = _ended(_run_source, [source, *map(str, arguments)], "", TIMEOUT_S)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


_Work = Callable[[list[str], Mapping[str, str], Path], None]


def _ended(work: _Work, words: list[str], given: str, timeout_s: float) -> Ended:
    with TemporaryDirectory(prefix="command-") as name:
        folder = Path(name)
        (folder / "given").write_text(given)
        process = FORKS.Process(target=work, args=(words, _environment(), folder))
        process.start()
        process.join(timeout_s)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(words, timeout_s)
        printed, errors = ((folder / one).read_text() for one in ("printed", "errors"))
        return subprocess.CompletedProcess(words, process.exitcode, printed, errors)


def _environment() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if not name.startswith("VEDETTE_")}


def _run_command(words: list[str], environment: Mapping[str, str], folder: Path) -> None:
    _redirect(folder)
    run_program(words, environment)


def _run_source(words: list[str], environment: Mapping[str, str], folder: Path) -> None:
    _redirect(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["-c", *words[1:]]
    exec(words[0], {"__name__": "__main__"})


def _redirect(folder: Path) -> None:
    """Standard input and output of this process are files of the folder."""
    writing = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    streams = (("given", os.O_RDONLY), ("printed", writing), ("errors", writing))
    for stream, (name, flags) in enumerate(streams):
        descriptor = os.open(folder / name, flags, 0o600)
        os.dup2(descriptor, stream)
        os.close(descriptor)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
