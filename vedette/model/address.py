"""IP addresses in the store's format: 16 bytes, IPv4 mapped into IPv6 (::ffff:a.b.c.d)."""

from functools import lru_cache
from ipaddress import ip_address
from socket import AF_INET6, inet_ntop

from vedette.limits import Limit
from vedette.model.event import UNKNOWN_IP
from vedette.model.memoize import memoize

ADDRESS_TEXTS_CACHED_MAX: Limit[int] = 65_536
"""Maximum addresses whose text is cached. Most telemetry contains a few thousand addresses."""


_MAPPED = bytes(10) + b"\xff\xff"


@memoize(65_536)
def pack_address(text: str) -> bytes:
    """Returns the 16-byte form of a textual address, or `UNKNOWN_IP` if `text` is not an
    address."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return UNKNOWN_IP
    return _MAPPED + address.packed if address.version == 4 else address.packed


def is_ipv4(packed: bytes) -> bool:
    return packed[:12] == _MAPPED


@lru_cache(maxsize=ADDRESS_TEXTS_CACHED_MAX)
def address_text(packed: bytes) -> str:
    """Returns dotted-quad text for IPv4, RFC 5952 text for IPv6, "" for `UNKNOWN_IP`."""
    if packed == UNKNOWN_IP:
        return ""
    if is_ipv4(packed):
        return ".".join(map(str, packed[12:]))
    return inet_ntop(AF_INET6, packed)


def signed_int32(packed: bytes) -> int:
    """Returns an IPv4 address as a signed big-endian 32-bit number
    (docs/clients.md#addresses-as-numbers), or 0 for any other address."""
    return int.from_bytes(packed[12:], "big", signed=True) if is_ipv4(packed) else 0
