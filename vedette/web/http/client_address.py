"""The caller's network address: of the connection, or from a header that trusted proxies set. If a
proxy sends the address before TLS begins, the connection already has it (`bootstrap/acceptor.py`).

The server never trusts a header on its own. It reads `X-Forwarded-For` from the end, where each
proxy appends the address of its client, and stops at the first address that is not a configured
proxy: that address is the caller.
"""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from fastapi import Request

from vedette.limits import Limit

PROXY_LISTS_CACHED_MAX: Limit[int] = 8
"""Cached lists of parsed proxy networks: the settings have a single list, tests have a few."""


_Network = IPv4Network | IPv6Network


def client_address(request: Request, trusted_proxies: tuple[str, ...]) -> str:
    """Returns the caller's address, with IPv4-mapped IPv6 converted to IPv4; "" if unavailable."""
    connected = plain_address(request.client.host if request.client else "")
    networks = _networks(trusted_proxies)
    if not networks or not _is_within(connected, networks):
        return connected
    forwarded = ",".join(request.headers.getlist("x-forwarded-for"))
    found = connected
    for text in reversed(forwarded.split(",")):
        address = plain_address(text.strip())
        if not address:
            break
        found = address
        if not _is_within(address, networks):
            break
    return found


def is_of_this_machine(request: Request, address: str) -> bool:
    """Returns whether an address is a loopback address or the address on which the server received
    the request."""
    called = request.scope.get("server")
    own = plain_address(str(called[0])) if called else ""
    return bool(address) and (ip_address(address).is_loopback or address == own)


def plain_address(text: str) -> str:
    """Returns the canonical form of an address, "" for an invalid address."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return ""
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def is_proxy(address: str, trusted_proxies: tuple[str, ...]) -> bool:
    """Returns whether an address belongs to a trusted proxy."""
    networks = _networks(trusted_proxies)
    return bool(networks) and _is_within(plain_address(address), networks)


@lru_cache(maxsize=PROXY_LISTS_CACHED_MAX)
def _networks(texts: tuple[str, ...]) -> tuple[_Network, ...]:
    return tuple(ip_network(text, strict=False) for text in texts)


def _is_within(address: str, networks: Iterable[_Network]) -> bool:
    if not address:
        return False
    parsed = ip_address(address)
    return any(parsed in network for network in networks)
