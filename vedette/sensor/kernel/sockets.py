"""Local addresses of connections, from the kernel's socket tables (sock_diag).

An audit record of a connection contains only the remote address. A socket that was closed meanwhile
is found by its remote address while it is in TIME_WAIT.
"""

from __future__ import annotations

import socket
import struct
from ipaddress import IPv6Address
from typing import NamedTuple

from ..limits import SOCKETS_MAX
from .netlink import DUMP, open_socket, request

_NETLINK_SOCK_DIAG = 4
_DIAG_BY_FAMILY = 20
_REQUEST = struct.Struct("=BBBxI")
_ADDRESSES_AT = 4
_INODE_AT = 68
_ID_BYTES = 48
TCP, UDP = 6, 17


class Local(NamedTuple):
    """Local protocol, address and port of a connection."""

    protocol: int
    ip: str
    port: int


class SocketTable:
    """A snapshot of all sockets."""

    def __init__(self, bodies: list[tuple[int, bytes]]) -> None:
        """`bodies` are protocol and `struct inet_diag_msg` of each socket."""
        self._by_inode: dict[int, Local] = {}
        self._by_remote: dict[tuple[str, int], list[Local]] = {}
        for protocol, body in bodies:
            if len(body) >= _INODE_AT + 4:
                self._take(protocol, body)

    def _take(self, protocol: int, body: bytes) -> None:
        local_port, remote_port = struct.unpack_from(">HH", body, _ADDRESSES_AT)
        local = Local(protocol, _ip(body, _ADDRESSES_AT + 4), local_port)
        remote = _ip(body, _ADDRESSES_AT + 20), remote_port
        (inode,) = struct.unpack_from("=I", body, _INODE_AT)
        if inode:
            self._by_inode[inode] = local
        self._by_remote.setdefault(remote, []).append(local)

    def find(self, inode: int, remote_ip: str, remote_port: int) -> Local | None:
        """Looks up by inode, else by remote address if only one socket has it."""
        known = self._by_inode.get(inode)
        if known is not None:
            return known
        found = self._by_remote.get((remote_ip, remote_port), ())
        protocols = {local.protocol for local in found}
        if len(found) == 1:
            return found[0]
        return Local(protocols.pop(), "", 0) if len(protocols) == 1 else None


def _ip(body: bytes, at: int) -> str:
    if body[0] == socket.AF_INET:
        return socket.inet_ntoa(body[at : at + 4])
    whole = IPv6Address(body[at : at + 16])
    return str(whole.ipv4_mapped or whole)


def source_address(ip: str, port: int) -> str:
    """Returns the local address from which this host would reach another; empty if there is none.
    Sends nothing."""
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
            probe.connect((ip, port))
            return str(probe.getsockname()[0])
    except OSError:
        return ""


def read_table() -> SocketTable | None:
    """Reads all TCP and UDP sockets. Returns None if the kernel refuses or there are too many."""
    bodies: list[tuple[int, bytes]] = []
    try:
        with open_socket(_NETLINK_SOCK_DIAG) as found:
            for number, (family, protocol) in enumerate(
                (family, protocol)
                for family in (socket.AF_INET, socket.AF_INET6)
                for protocol in (TCP, UDP)
            ):
                query = _REQUEST.pack(family, protocol, 0, 0xFFFFFFFF) + bytes(_ID_BYTES)
                answers = request(found, _DIAG_BY_FAMILY, DUMP, number + 1, query)
                bodies += [(protocol, body) for body in answers]
                if len(bodies) > SOCKETS_MAX:
                    return None
    except OSError:
        return None
    return SocketTable(bodies)
