"""File descriptors of the server process: how many it may have, and what they are used for.

Half of them is for sockets of clients. The rest is for the engine (files of data parts, three for
each of its threads), SQLite, workers and logs.
"""

import resource
from dataclasses import dataclass
from typing import Final, Self

import structlog

from vedette import limits

log = structlog.get_logger(__name__)

_USUAL: Final = 65_536
"""What is taken for the limit where there is none: nothing here needs more."""


@dataclass(frozen=True, slots=True)
class SocketLimits:
    """How many sockets of clients may be open, by their state."""

    connections: int
    reserved: int
    """Connections above `connections` that serve health checks and check-ins only."""
    handshakes: int

    @classmethod
    def of(cls, descriptors: int) -> Self:
        """The limits under a limit of file descriptors."""
        sockets = descriptors // 2
        reserved = max(1, min(limits.RESERVED_CONNECTIONS_MAX, sockets // 8))
        handshakes = max(1, min(limits.HANDSHAKES_MAX, sockets // 4))
        connections = max(1, min(limits.CONNECTIONS_MAX, sockets - reserved - handshakes))
        return cls(connections, reserved, handshakes)


def socket_limits() -> SocketLimits:
    """The limits of this process."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return SocketLimits.of(_USUAL if descriptors < 0 else descriptors)


def raise_descriptor_limit() -> None:
    """Raise the soft limit of file descriptors to the hard one, where that is more.

    Shells and service managers set 1,024 for programs that use select(2), which this one does not.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _USUAL if hard < 0 else min(hard, _USUAL)
    if 0 <= soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    log.info(
        "file descriptors", limit=max(soft, wanted), connections_max=socket_limits().connections
    )
