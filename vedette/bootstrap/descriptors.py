"""File descriptors of the server process: their limit and their use.

Half of them are for client sockets. The rest is for the engine (files of data parts, three per
thread), SQLite, workers and logs.
"""

import resource
from dataclasses import dataclass
from typing import Final, Self

import structlog

from vedette.limits import Limit

CONNECTIONS_MAX: Limit[int] = 4_096
"""Concurrent client connections; fewer if the process may have few file descriptors
(`bootstrap/descriptors.py`). Above it, a new connection replaces an idle one, or only serves health
checks and check-ins."""

RESERVED_CONNECTIONS_MAX: Limit[int] = 64
"""Connections above `CONNECTIONS_MAX` for health checks and check-ins, one request each."""

HANDSHAKES_MAX: Limit[int] = 2_048
"""Connections with an incomplete TLS handshake; above it, the oldest connection of the address with
the most is closed. A handshake takes a second or two under load, in which that many arrive."""


log = structlog.get_logger(__name__)

_USUAL: Final = 65_536
"""Limit to assume if there is none; the server needs no more."""


@dataclass(frozen=True, slots=True)
class SocketLimits:
    """Maximum client sockets by state."""

    connections: int
    reserved: int
    """Connections above `connections` that only serve health checks and check-ins."""
    handshakes: int

    @classmethod
    def of(cls, descriptors: int) -> Self:
        """Computes the limits for a limit of file descriptors."""
        sockets = descriptors // 2
        reserved = max(1, min(RESERVED_CONNECTIONS_MAX, sockets // 8))
        handshakes = max(1, min(HANDSHAKES_MAX, sockets // 4))
        connections = max(1, min(CONNECTIONS_MAX, sockets - reserved - handshakes))
        return cls(connections, reserved, handshakes)


def socket_limits() -> SocketLimits:
    """Returns the limits of this process."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return SocketLimits.of(_USUAL if descriptors < 0 else descriptors)


def raise_descriptor_limit() -> None:
    """Raises the soft limit of file descriptors to the hard limit.

    Shells and service managers set 1,024 for programs that use select(2), which this one does not.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _USUAL if hard < 0 else min(hard, _USUAL)
    if 0 <= soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    log.info(
        "file descriptors", limit=max(soft, wanted), connections_max=socket_limits().connections
    )
