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
        self._accepting: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._listener.setblocking(False)
        self._keep_spares()
        self._accepting = asyncio.get_running_loop().create_task(self._accept_all())

    async def close(self) -> None:
        """Close the listening socket and connections that are not set up yet. Idempotent."""
        tasks = [task for task in (self._accepting, *self._handshakes) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._listener.close()
        while self._spares:
            os.close(self._spares.pop())

    async def _accept_all(self) -> None:
        loop = asyncio.get_running_loop()
        on_spare = False
        while True:
            try:
                client, _ = await loop.sock_accept(self._listener)
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    continue  # the client has gone
                if self._spares:
                    os.close(self._spares.pop())
                    on_spare = True
                else:
                    await asyncio.sleep(limits.SPARE_DESCRIPTORS_RETRY_S)
                    self._keep_spares()
                continue
            self._set_up(client, on_spare)
            on_spare = False
            self._keep_spares()

    def _set_up(self, client: socket.socket, on_spare: bool) -> None:
        if len(self._handshakes) >= self._allowed.handshakes:
            oldest = next(iter(self._handshakes))
            del self._handshakes[oldest]
            oldest.cancel()
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
