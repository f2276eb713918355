"""The process that prepares commits: `python -m vedette.build.preparing` with the number of an
inherited socket, and the level and form of its log. Only the server starts it."""

import gc
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from vedette.build.logs import configure_logs
from vedette.pipeline.link import Link
from vedette.pipeline.messages import FromPreparer, FromServer
from vedette.pipeline.preparation_process import PreparerLink
from vedette.pipeline.preparing import Preparing
from vedette.settings.catalogue import LogFormat, LogLevel

END_S = 10
"""How long it may take to see that its server is gone: one commit."""


class Launcher:
    """Starts the process, and waits for its end."""

    def __init__(self, level: LogLevel, form: LogFormat) -> None:
        self._arguments = [level, form]
        self._process: subprocess.Popen[bytes] | None = None

    def launch(self) -> PreparerLink:
        """A link to a new process; one that was launched before is ended."""
        self.close()
        ours, its = socket.socketpair()
        with its:
            number = its.fileno()
            command = [sys.executable, "-m", "vedette.build.preparing", str(number)]
            with _deaf_children():
                self._process = subprocess.Popen(  # noqa: S603 - this very program
                    [*command, *self._arguments], stdin=subprocess.DEVNULL, pass_fds=[number]
                )
        return Link(ours, FromPreparer)

    def close(self) -> None:
        """Waits for the end of a process whose link is closed."""
        if self._process is None:
            return
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes started within never see a signal to stop, from their first moment: the server is
    told, and it says when there is nothing left to prepare."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def main() -> None:
    number, level, form = sys.argv[1:]
    configure_logs(cast(LogLevel, level), cast(LogFormat, form))
    gc.collect()
    gc.freeze()
    gc.disable()
    Preparing(Link(socket.socket(fileno=int(number)), FromServer)).run()


if __name__ == "__main__":
    main()
