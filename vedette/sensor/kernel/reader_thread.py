"""A thread that drains one of the kernel's netlink sockets."""

from __future__ import annotations

import errno
import select
import socket
import threading
from collections.abc import Callable

from ..limits import DATAGRAM_BYTES_MAX, READER_BATCH, READER_WAIT_S, TICK_S
from .observations import Observation


class Reader(threading.Thread):
    """Passes each datagram to a parser, and its observations to `put`."""

    def __init__(
        self,
        name: str,
        found: socket.socket,
        feed: Callable[[bytes], list[Observation]],
        put: Callable[[list[Observation]], None],
        *,
        is_prompt: bool,
    ) -> None:
        """If `is_prompt`, reads every datagram at once, because it refers to short-lived objects.
        Otherwise reads batches every `TICK_S`, at a fraction of the cost."""
        super().__init__(name=name, daemon=True)
        self._socket, self._feed, self._put = found, feed, put
        self._is_prompt = is_prompt
        self._stopping = threading.Event()
        self.overflows = 0
        """Number of overflows of the kernel's queue, which lose datagrams."""

    def run(self) -> None:
        self._socket.setblocking(False)
        while not self._stopping.is_set():
            if self._is_prompt:
                select.select([self._socket], [], [], READER_WAIT_S)
            else:
                self._stopping.wait(TICK_S)
            while self._drain():
                pass
        self._drain()

    def _drain(self) -> bool:
        """Reads up to a batch. Returns True if there may be more."""
        observed: list[Observation] = []
        receive, feed = self._socket.recv, self._feed
        more = True
        try:
            for _ in range(READER_BATCH):
                found = feed(receive(DATAGRAM_BYTES_MAX))
                if found:
                    observed += found
        except BlockingIOError:
            more = False
        except OSError as error:
            if error.errno == errno.ENOBUFS:
                self.overflows += 1
            else:
                more = False
                self._stopping.set()
        self._put(observed)
        return more

    def stop(self) -> None:
        """Drains the socket, then ends. The caller closes the socket."""
        self._stopping.set()
        if self is not threading.current_thread() and self.is_alive():
            self.join(2 * READER_WAIT_S + 5)
