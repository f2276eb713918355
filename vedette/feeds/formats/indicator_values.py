"""Normal forms of indicator values, and the reasons why a text is not an indicator."""

import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

from vedette.errors import QueryError
from vedette.limits import Limit
from vedette.model.binary_fields import BINARY
from vedette.model.fields import PROCESS
from vedette.model.threat.feed import IOC_TYPES, IndexType, IocType
from vedette.query import check, parse_stored
from vedette.query.check.coverage import matches_all

IOC_QUERY_CHARS_MAX: Limit[int] = 100_000
"""Characters of a query indicator."""

NETWORK_BITS_MIN_IPV4: Limit[int] = 8
"""Shortest prefix of an IPv4 network as indicator; a shorter prefix matches a large share of all
connections."""

NETWORK_BITS_MIN_IPV6: Limit[int] = 16
"""Like `NETWORK_BITS_MIN_IPV4`, for IPv6."""

DNS_NAME_CHARS_MAX: Limit[int] = 253
"""Characters of a DNS name, according to the protocol."""


_HEX: Final = re.compile(r"[0-9a-f]+")
_DIGITS: Final = {"md5": 32, "ja3": 32, "ja3s": 32, "sha256": 64}
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")

_TRIED_AT: Final = 1_700_000_000_000_000
"""Epoch microseconds from which relative times of a query count while it is only validated."""


class UnreadableError(ValueError):
    """A part of a report is unreadable; the text gives the reason."""


def normal_value(kind: str, value: object) -> tuple[IocType, str]:
    """Returns type and normal form of a value indicator. Raises UnreadableError."""
    known = next((one for one in IOC_TYPES if one == kind), None)
    if known is None:
        raise UnreadableError(f"unknown indicator type {str(kind)[:40]!r}")
    if not isinstance(value, str):
        raise UnreadableError(f"{kind}: must be a string")
    text = value.strip().lower()
    match known:
        case "ipv4" | "ipv6":
            return known, _network(known, text)
        case "dns":
            return known, _name(text)
        case "query":
            raise UnreadableError("query: needs its index_type")
    if len(text) != _DIGITS[known] or not _HEX.fullmatch(text):
        raise UnreadableError(f"{kind}: {value[:80]!r} is not {_DIGITS[known]} hexadecimal digits")
    return known, text


def normal_query(index_type: object, text: object) -> tuple[IndexType, str]:
    """Validates a query over `events` or `modules`. Raises UnreadableError."""
    if index_type not in ("events", "modules"):
        raise UnreadableError(f"query: unknown index_type {str(index_type)[:40]!r}")
    if not isinstance(text, str) or not text.strip():
        raise UnreadableError("query: must be a string")
    if len(text) > IOC_QUERY_CHARS_MAX:
        raise UnreadableError(f"query: has more than {IOC_QUERY_CHARS_MAX:,} characters")
    catalogue = BINARY if index_type == "modules" else PROCESS
    try:
        checked = check(parse_stored(text, catalogue), catalogue, now_us=_TRIED_AT)
    except QueryError as problem:
        raise UnreadableError(f"query: {problem.message}") from None
    if matches_all(checked, catalogue.always):
        raise UnreadableError("query: matches everything")
    return ("modules" if index_type == "modules" else "events"), text.strip()


def recognised(text: str) -> tuple[IocType, str]:
    """Returns the indicator that a word of a list represents; reads `[.]` as a dot. Raises
    UnreadableError.

    32 digits count as MD5; TLS fingerprints look the same, so lists of them must name their column.
    """
    word = text.strip().strip("\"'").replace("[.]", ".").replace("(.)", ".").lower()
    if "://" in word:
        raise UnreadableError(f"{text[:80]!r} is a URL: only its host could be matched")
    for kind, digits in (("md5", 32), ("sha256", 64)):
        if len(word) == digits and _HEX.fullmatch(word):
            return normal_value(kind, word)
    for kind in ("ipv4", "ipv6", "dns"):
        try:
            return normal_value(kind, word)
        except UnreadableError:
            continue
    raise UnreadableError(f"{text[:80]!r} is not a hash, address, or name")


def _network(kind: str, text: str) -> str:
    try:
        found = ip_network(text, strict=False)
    except ValueError:
        raise UnreadableError(f"{kind}: {text[:80]!r} is not an address") from None
    if isinstance(found, IPv6Network) and kind == "ipv6":
        least = NETWORK_BITS_MIN_IPV6
    elif isinstance(found, IPv4Network) and kind == "ipv4":
        least = NETWORK_BITS_MIN_IPV4
    else:
        raise UnreadableError(f"{kind}: {text[:80]!r} is of the other version")
    if found.prefixlen < least:
        raise UnreadableError(f"{kind}: {text[:80]!r} is too large a network, at least /{least}")
    if found.prefixlen < found.max_prefixlen:
        return str(found)
    return str(found.network_address)


def _name(text: str) -> str:
    name = text.rstrip(".")
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii")
        except UnicodeError:
            raise UnreadableError(f"dns: {text[:80]!r} is not a name") from None
    labels = name.split(".")
    if len(name) > DNS_NAME_CHARS_MAX or len(labels) < 2 or not all(map(_LABEL.fullmatch, labels)):
        raise UnreadableError(f"dns: {text[:80]!r} is not a name of two labels or more")
    if labels[-1].isdecimal():
        raise UnreadableError(f"dns: {text[:80]!r} is not a name")
    return name
