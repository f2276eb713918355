"""Accepts connections in place of the event loop's own server, which neither counts TLS handshakes
nor handles the lack of file descriptors.

- Connections whose handshake is not complete have a deadline and a limit of their own; above it the
  oldest is closed, so that clients which never complete theirs keep nobody out.
- A few descriptors are kept open as spares. Where the process has no other left, a spare is closed
  to accept one more connection, which serves health checks and check-ins only. Where the spares are
  used up, connections wait in the kernel's backlog.
"""

import asyncio
import errno
import os
import socket
import ssl
from collections.abc import Callable
from typing import Final

import structlog

from vedette import limits
from vedette.bootstrap.descriptors import SocketLimits
from vedette.bootstrap.http_protocol import BoundedHttpProtocol

log = structlog.get_logger(__name__)

_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

_ACCEPTS_AT_ONCE: Final = 256
"""Before the event loop does other work."""


class Acceptor:
    """Accepts on one listening socket, from `start` until `close`."""

    def __init__(
        self,
        listener: socket.socket,
        tls: ssl.SSLContext | None,
        new_protocol: Callable[[], BoundedHttpProtocol],
        allowed: SocketLimits,
    ) -> None:
        self._listener = listener
        self._tls = tls
        self._new_protocol = new_protocol
        self._allowed = allowed
        self._handshakes: dict[asyncio.Task[None], None] = {}
        """Connections being set up, the oldest first."""
        self._spares: list[int] = []
        self._retry: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._listener.setblocking(False)
        self._keep_spares()
        self._resume()

    async def close(self) -> None:
        """Close the listening socket and connections that are not set up yet. Idempotent."""
        if self._listener.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._listener)
        if self._retry is not None:
            self._retry.cancel()
        tasks = list(self._handshakes)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._listener.close()
        while self._spares:
            os.close(self._spares.pop())

    def _resume(self) -> None:
        self._keep_spares()
        asyncio.get_running_loop().add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        """Accept what waits, up to a bound: a client whose connection does not fit the backlog
        tries again only after seconds."""
        on_spare = False
        for _ in range(_ACCEPTS_AT_ONCE):
            try:
                client, _address = self._listener.accept()
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    continue  # the client has gone
                if not self._spares:
                    self._pause()
                    return
                os.close(self._spares.pop())
                on_spare = True
                continue
            self._set_up(client, on_spare)
            on_spare = False
        self._keep_spares()

    def _pause(self) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._listener)
        self._retry = loop.call_later(limits.SPARE_DESCRIPTORS_RETRY_S, self._resume)

    def _set_up(self, client: socket.socket, on_spare: bool) -> None:
        if len(self._handshakes) >= self._allowed.handshakes:
            oldest = next(iter(self._handshakes))
            del self._handshakes[oldest]
            oldest.cancel()
        client.setblocking(False)
        protocol = self._new_protocol()
        protocol.is_reserved = on_spare
        task = asyncio.get_running_loop().create_task(self._connect(client, protocol))
        self._handshakes[task] = None
        task.add_done_callback(lambda done: self._handshakes.pop(done, None))

    async def _connect(self, client: socket.socket, protocol: BoundedHttpProtocol) -> None:
        loop = asyncio.get_running_loop()
        try:
            if self._tls is None:
                await loop.connect_accepted_socket(lambda: protocol, client)
                return
            await loop.connect_accepted_socket(
                lambda: protocol,
                client,
                ssl=self._tls,
                ssl_handshake_timeout=limits.HANDSHAKE_DEADLINE_S,
            )
        except OSError as error:
            log.debug("handshake failed", error=str(error))

    def _keep_spares(self) -> None:
        try:
            while len(self._spares) < limits.SPARE_DESCRIPTORS:
                self._spares.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            return  # none is free: it is tried again with the next connection
