"""The processes that prepare commits: `python -m vedette.bootstrap.ingest_workers` with the numbers
of
inherited sockets, and the level and form of their log. Only the server starts it.

It is as many processes as there are sockets: what all of them need is loaded once, and then each
goes its own way with a copy of it.
"""

import gc
import os
import socket
import subprocess
import sys
from typing import cast

from vedette.bootstrap.logs import configure_logs
from vedette.bootstrap.signals import signals_blocked
from vedette.pipeline.workers.message_channel import SocketChannel
from vedette.pipeline.workers.protocol import FromServer, FromWorker
from vedette.pipeline.workers.worker_handle import WorkerChannel
from vedette.pipeline.workers.worker_main import WorkerProcess
from vedette.settings.catalogue import LogFormat, LogLevel

END_S = 10
"""How long they may take to see that their server is gone: one commit."""

PROCESSES_MAX = 4
"""By themselves; a single server process could not keep more of them busy."""


def worker_count() -> int:
    """As many as this machine has a use for."""
    return min(len(os.sched_getaffinity(0)), PROCESSES_MAX)


class WorkerLauncher:
    """Starts the processes, and waits for their end."""

    def __init__(self, level: LogLevel, form: LogFormat) -> None:
        self._arguments = [level, form]
        self._process: subprocess.Popen[bytes] | None = None

    def launch(self, count: int) -> list[WorkerChannel]:
        """Links to new processes; those that were launched before are ended."""
        self.close()
        pairs = [socket.socketpair() for _ in range(count)]
        numbers = [its.fileno() for _, its in pairs]
        command = [
            sys.executable,
            "-m",
            "vedette.bootstrap.ingest_workers",
            ",".join(map(str, numbers)),
        ]
        with signals_blocked():
            self._process = subprocess.Popen(  # noqa: S603 - this very program
                [*command, *self._arguments], stdin=subprocess.DEVNULL, pass_fds=numbers
            )
        for _, its in pairs:
            its.close()
        return [SocketChannel(ours, FromWorker) for ours, _ in pairs]

    def close(self) -> None:
        """Waits for the end of processes whose links are closed."""
        if self._process is None:
            return
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


def _one_process_each(sockets: list[socket.socket]) -> tuple[socket.socket, list[int]]:
    """The socket of this process, and the ids of those that it started for the others."""
    mine, *others = sockets
    started: list[int] = []
    for other in others:
        pid = os.fork()
        if not pid:
            mine = other
            started.clear()
            break
        started.append(pid)
    for one in sockets:
        if one is not mine:
            one.close()  # or the end of another process would go unnoticed
    return mine, started


def main() -> None:
    numbers, level, form = sys.argv[1:]
    configure_logs(cast(LogLevel, level), cast(LogFormat, form))
    gc.collect()
    gc.freeze()
    gc.disable()
    sockets = [socket.socket(fileno=int(number)) for number in numbers.split(",")]
    mine, started = _one_process_each(sockets)
    WorkerProcess(SocketChannel(mine, FromServer)).run()
    for pid in started:
        os.waitpid(pid, 0)
    os._exit(0)  # to take apart all that it remembered takes half a second


if __name__ == "__main__":
    main()
