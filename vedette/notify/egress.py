"""Guard of outgoing connections to addresses that users entered: webhooks, feeds.

A name is resolved once, the resulting addresses are checked, and the connection goes to a checked
address, so DNS rebinding has no effect. Loopback, link-local and multicast addresses and the
metadata services of clouds are refused, also when embedded in an IPv6 address. Private networks are
permitted, since most receivers are there. The setting `egress_allow` names exceptions. The caller
follows redirects and must check each new address here.
"""

import socket
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final

from vedette.errors import VedetteError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_METADATA: Final[tuple[Network, ...]] = tuple(
    ip_network(text)
    for text in (
        "169.254.0.0/16",  # also AWS, Azure, Google, Oracle
        "100.100.100.200/32",  # Alibaba
        "168.63.129.16/32",  # Azure's wire server
        "192.0.0.192/32",  # Oracle
        "fd00:ec2::/32",  # AWS
        "fd20:ce::/32",  # Google
    )
)
_NAT64: Final = ip_network("64:ff9b::/96")
_COMPATIBLE: Final = ip_network("::/96")


class EgressError(VedetteError):
    """The server does not connect to this address."""

    reason = "egress_refused"


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """Addresses that are permitted in addition to the default."""

    allowed: tuple[Network, ...] = ()

    @classmethod
    def of(cls, texts: Iterable[str]) -> "EgressPolicy":
        """Parses addresses and networks. Raises ValueError that names the invalid one."""
        return cls(tuple(ip_network(text.strip(), strict=False) for text in texts))

    def refusal(self, address: Address) -> str:
        """Returns the reason for refusing an address; "" if it is permitted."""
        for one in (address, *_wrapped(address)):
            if any(one.version == net.version and one in net for net in self.allowed):
                return ""
            if kind := _forbidden_kind(one):
                return kind
        return ""


def resolve(host: str, port: int, policy: EgressPolicy) -> list[tuple[int, str]]:
    """Returns the permitted (family, address) pairs of a host, in the resolver's order.

    Raises EgressError if all its addresses are forbidden, OSError if it cannot be resolved.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise OSError(f"{host[:100]!r} is not a host name") from None
    refusals = []
    good: list[tuple[int, str]] = []
    for family, _, _, _, place in found:
        text = str(place[0])
        if refusal := policy.refusal(ip_address(text.partition("%")[0])):
            refusals.append(f"{text} is {refusal}")
        else:
            good.append((family, text))
    if not good:
        raise EgressError(
            f"{host}: {'; '.join(refusals) or 'no address'}; allow exceptions with egress_allow"
        )
    return good


def connect(host: str, port: int, timeout_s: float, policy: EgressPolicy) -> socket.socket:
    """Connects to the first address of a host that answers, within `timeout_s` in total.

    Raises EgressError, OSError.
    """
    deadline = time.monotonic() + timeout_s
    return _first(resolve(host, port, policy), port, deadline)


def _first(addresses: Sequence[tuple[int, str]], port: int, deadline: float) -> socket.socket:
    failure: OSError = TimeoutError("timed out")
    for family, address in addresses:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.settimeout(left)
            connection.connect((address, port))
        except OSError as error:
            connection.close()
            failure = error
        else:
            return connection
    raise failure


def _wrapped(address: Address) -> tuple[Address, ...]:
    """Returns the IPv4 addresses that an IPv6 address embeds."""
    if isinstance(address, IPv4Address):
        return ()
    found: list[Address | None] = [address.ipv4_mapped, address.sixtofour]
    if address.teredo:
        found += address.teredo
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):
        found.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return tuple(one for one in found if one is not None)


def _forbidden_kind(address: Address) -> str:
    if any(address.version == net.version and address in net for net in _METADATA):
        return "a metadata service or link-local"
    kinds = (
        (address.is_loopback, "loopback"),
        (address.is_link_local, "link-local"),
        (address.is_unspecified, "unspecified"),
        (address.is_multicast, "multicast"),
        (str(address) == "255.255.255.255", "broadcast"),
        (isinstance(address, IPv4Address) and int(address) >> 24 == 0, "this network"),
    )
    return next((name for holds, name in kinds if holds), "")
