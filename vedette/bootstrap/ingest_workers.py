"""Worker processes for commit processing: `python -m vedette.bootstrap.ingest_workers` with the
numbers of inherited file descriptors, and level and format of the log. Only the server starts it.

The process imports everything once and then forks into one process per socket, so that the workers
share the memory of the code.
"""

import gc
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Final, cast

if __name__ == "__main__":
    from vedette.pipeline.workers.loading import hide_unused

    hide_unused()

from vedette.bootstrap.logs import configure_logs
from vedette.bootstrap.memory.start_memory import release_start_memory
from vedette.bootstrap.signals import signals_blocked
from vedette.ingest.decode import decode
from vedette.limits import Limit
from vedette.pipeline.batch.decoded_batch import Decode
from vedette.pipeline.workers.progress import ProgressMemory, create_progress_fd
from vedette.pipeline.workers.protocol import FromServer, FromWorker
from vedette.pipeline.workers.socket_channel import SocketChannel
from vedette.pipeline.workers.worker_handle import WorkerHandle
from vedette.pipeline.workers.worker_main import WorkerProcess
from vedette.settings.catalogue import LogFormat, LogLevel

INGEST_WORKER_END_S: Limit[int] = 10
"""Time (s) for workers to end after their channel was closed: one commit."""

INGEST_WORKERS_MAX: Limit[int] = 4
"""Default maximum of workers on machines with more cores; one server process cannot keep more of
them busy."""


PROGRAM: Final = "vedette.bootstrap.ingest_workers"


def worker_count() -> int:
    """Returns the default number of workers for this machine."""
    return min(len(os.sched_getaffinity(0)), INGEST_WORKERS_MAX)


class WorkerLauncher:
    """Starts the workers in their own process group, so that all of them can be killed. `program`
    is the module to run. Thread-safe."""

    def __init__(self, level: LogLevel, form: LogFormat, program: str = PROGRAM) -> None:
        self._arguments = [level, form]
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def launch(self, count: int) -> list[WorkerHandle]:
        """Starts new workers, after the previously launched ones, whose channels are closed, have
        ended."""
        self.close()
        pairs = [socket.socketpair() for _ in range(count)]
        progress_fd = create_progress_fd(count)
        sockets = [theirs.fileno() for _, theirs in pairs]
        command = [sys.executable, "-m", self._program, ",".join(map(str, sockets))]
        with signals_blocked():
            process = subprocess.Popen(  # noqa: S603 - this very program
                [*command, str(progress_fd), *self._arguments],
                stdin=subprocess.DEVNULL,
                pass_fds=[*sockets, progress_fd],
                process_group=0,
            )
        with self._lock:
            self._process = process
        for _, theirs in pairs:
            theirs.close()
        memory = ProgressMemory(progress_fd, count)
        os.close(progress_fd)
        return [
            WorkerHandle(SocketChannel(ours, FromWorker), memory.slot(number))
            for number, (ours, _) in enumerate(pairs)
        ]

    def kill(self) -> None:
        """Sends SIGKILL to all workers, which also ends stopped ones. Does not wait."""
        with self._lock:
            if self._process is not None:  # not reaped yet, so the process group is ours
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Waits up to INGEST_WORKER_END_S for workers whose channels are closed, then kills
        them."""
        process = self._process
        if process is None:
            return
        try:
            # Does not reap it, since `kill` needs the process group.
            _wait_until_ended(process.pid)
        finally:
            self.kill()
            with self._lock:
                self._process = None
            process.wait()


def _wait_until_ended(pid: int) -> None:
    """Returns when a child process has ended, or after INGEST_WORKER_END_S. Does not reap it."""
    descriptor = os.pidfd_open(pid)
    try:
        select.select([descriptor], [], [], INGEST_WORKER_END_S)
    finally:
        os.close(descriptor)


def _fork_workers(sockets: list[socket.socket]) -> tuple[int, list[int]]:
    """Forks the workers. Returns the number of the worker that this process became, and the ids of
    the processes it forked."""
    number, forked = 0, list[int]()
    for other in range(1, len(sockets)):
        pid = os.fork()
        if not pid:
            number, forked = other, []
            break
        forked.append(pid)
    for one in sockets:
        if one is not sockets[number]:
            one.close()  # otherwise the end of other workers would go unnoticed
    return number, forked


def main(decode_record: Decode = decode) -> None:
    """Runs the workers until the server closes their channels."""
    numbers, progress_fd, level, form = sys.argv[1:]
    configure_logs(cast(LogLevel, level), cast(LogFormat, form))
    gc.collect()
    gc.freeze()
    gc.disable()
    release_start_memory()
    sockets = [socket.socket(fileno=int(number)) for number in numbers.split(",")]
    progress = ProgressMemory(int(progress_fd), len(sockets))
    number, forked = _fork_workers(sockets)
    channel: SocketChannel[FromServer] = SocketChannel(sockets[number], FromServer)
    WorkerProcess(channel, progress.slot(number), decode_record).run()
    for pid in forked:
        os.waitpid(pid, 0)
    os._exit(0)  # saves half a second of freeing caches


if __name__ == "__main__":
    main()
