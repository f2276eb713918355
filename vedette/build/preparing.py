"""The process that prepares commits: `python -m vedette.build.preparing` with the numbers
of two inherited sockets, and the level and form of its log. Only the server starts it."""

import gc
import signal
import socket
import subprocess
import sys
from typing import cast

from vedette.build.logs import configure_logs
from vedette.pipeline.link import Link
from vedette.pipeline.messages import Answer, Order, Told
from vedette.pipeline.preparation_process import Links
from vedette.pipeline.preparing import Preparing
from vedette.settings.catalogue import LogFormat, LogLevel

END_S = 10
"""How long it may take to see that its server is gone: one commit."""


class Launcher:
    """Starts the process, and waits for its end."""

    def __init__(self, level: LogLevel, form: LogFormat) -> None:
        self._arguments = [level, form]
        self._process: subprocess.Popen[bytes] | None = None

    def launch(self) -> Links:
        """Links to a new process; one that was launched before is ended."""
        self.close()
        (orders, its_orders), (told, its_told) = socket.socketpair(), socket.socketpair()
        with its_orders, its_told:
            numbers = its_orders.fileno(), its_told.fileno()
            command = [sys.executable, "-m", "vedette.build.preparing", *map(str, numbers)]
            self._process = subprocess.Popen(  # noqa: S603 - this very program
                [*command, *self._arguments], stdin=subprocess.DEVNULL, pass_fds=numbers
            )
        return Links(Link(orders, None), Link(told, Told))

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


def main() -> None:
    orders, answers, level, form = sys.argv[1:]
    # The server is told to stop, and it says when there is nothing left to prepare.
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_IGN)
    configure_logs(cast(LogLevel, level), cast(LogFormat, form))
    gc.collect()
    gc.freeze()
    gc.disable()
    Preparing(Link(_inherited(orders), Order), Link(_inherited(answers), Answer)).run()


def _inherited(number: str) -> socket.socket:
    return socket.socket(fileno=int(number))


if __name__ == "__main__":
    main()
