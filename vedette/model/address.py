"""IP addresses as the store keeps them: 16 bytes, IPv4 mapped into IPv6 (::ffff:a.b.c.d)."""

from functools import lru_cache
from ipaddress import ip_address
from socket import AF_INET6, inet_ntop

from vedette.limits import ADDRESS_TEXTS_CACHED_MAX
from vedette.model.event import UNKNOWN_IP
from vedette.model.memoize import memoize

_MAPPED = bytes(10) + b"\xff\xff"


@memoize(65_536)
def pack_address(text: str) -> bytes:
    """16 bytes of a textual address; `UNKNOWN_IP` for text that is none."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return UNKNOWN_IP
    return _MAPPED + address.packed if address.version == 4 else address.packed


def is_ipv4(packed: bytes) -> bool:
    return packed[:12] == _MAPPED


@lru_cache(maxsize=ADDRESS_TEXTS_CACHED_MAX)
def address_text(packed: bytes) -> str:
    """Dotted quad for IPv4, RFC 5952 text for IPv6, "" when unknown."""
    if packed == UNKNOWN_IP:
        return ""
    if is_ipv4(packed):
        return ".".join(map(str, packed[12:]))
    return inet_ntop(AF_INET6, packed)


def signed_int32(packed: bytes) -> int:
    """An IPv4 address as the signed big-endian number of docs/clients.md#addresses-as-numbers; 0
    for any other."""
    return int.from_bytes(packed[12:], "big", signed=True) if is_ipv4(packed) else 0
