"""Limits connections that are being closed: TLS reads and ignores client data until the client has
closed its side, which the event loop limits only by time. This module limits it by bytes."""

import asyncio
import socket
import struct
from typing import Final

from vedette import limits
from vedette.limits import Limit

CLOSING_CHECK_S: Limit[float] = 0.02
"""Interval (s) for counting the bytes of a closing connection while none arrive."""


_RECEIVED_AT: Final = 128
"""Offset of `tcpi_bytes_received` in Linux's `struct tcp_info`."""

_RECEIVED: Final = struct.Struct("=Q")


class ClosingWatch:
    """Aborts a connection whose client keeps sending after the server has closed it. Checks in each
    iteration of the event loop while bytes arrive, else every `CLOSING_CHECK_S`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport) -> None:
        self._loop = loop
        self._transport = transport
        self._began_s = loop.time()
        self._first_bytes = self._last_bytes = received_bytes(transport)
        self._timer: asyncio.Handle = loop.call_soon(self._look)

    def cancel(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        count = received_bytes(self._transport)
        elapsed_s = self._loop.time() - self._began_s
        if (
            count - self._first_bytes > limits.IGNORED_AFTER_ANSWER_BYTES_MAX
            or elapsed_s > limits.IGNORED_DEADLINE_S
        ):
            self._transport.abort()
        elif count > self._last_bytes:
            self._last_bytes = count
            self._timer = self._loop.call_soon(self._look)
        else:
            self._timer = self._loop.call_later(CLOSING_CHECK_S, self._look)


def received_bytes(transport: asyncio.Transport) -> int:
    """Returns the kernel's count of received bytes, including TLS overhead; 0 if the kernel does
    not count them or the connection is gone."""
    connection = transport.get_extra_info("socket")
    if connection is None:
        return 0
    try:
        info = connection.getsockopt(
            socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED_AT + _RECEIVED.size
        )
    except OSError:
        return 0
    return int(_RECEIVED.unpack_from(info, _RECEIVED_AT)[0]) if len(info) > _RECEIVED_AT else 0
