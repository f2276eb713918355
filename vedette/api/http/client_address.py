"""The network address of a caller: of the connection, or what trusted proxies say of it. Where a
proxy gives it before TLS begins, it is that of the connection (`bootstrap/acceptor.py`).

A header alone is never believed. `X-Forwarded-For` is read from its end, where each proxy adds the
address it was called from, and only as far as the addresses are those of proxies that the settings
name: the first other one is the caller.
"""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from fastapi import Request

from vedette.limits import PROXY_LISTS_CACHED_MAX

_Network = IPv4Network | IPv6Network


def client_address(request: Request, trusted_proxies: tuple[str, ...]) -> str:
    """The caller's address, IPv4 without the form mapped into IPv6; "" where it is not known."""
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
    """Whether a caller's address is a loopback one, or that at which this server was called."""
    called = request.scope.get("server")
    own = plain_address(str(called[0])) if called else ""
    return bool(address) and (ip_address(address).is_loopback or address == own)


def plain_address(text: str) -> str:
    """An address in its one form, "" for what is none."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return ""
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def is_proxy(address: str, trusted_proxies: tuple[str, ...]) -> bool:
    """Whether a connection from an address is one of a trusted proxy."""
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
