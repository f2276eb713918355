"""Checks address values (docs/query-ranges.md#addresses).

An unknown address is 16 zero bytes and never matches. IPv4 and IPv6 share a column, so a range is
clipped to its own family.
"""

import re
from ipaddress import ip_address, ip_network

from vedette.model.field import Field
from vedette.query.check.glob import is_any, is_wild
from vedette.query.nodes import Exact, Range, Text, Value
from vedette.query.parse.escape import unescape
from vedette.query.typed import AddressTest, Test

_V4_LOW = 0xFFFF_0000_0000
_V4_HIGH = 0xFFFF_FFFF_FFFF
_LAST = 2**128 - 1
_V4 = ((_V4_LOW, _V4_HIGH),)
_V6 = ((1, _V4_LOW - 1), (_V4_HIGH + 1, _LAST))
_FAMILIES = {"ipv4": _V4, "ipv6": _V6, "address": ((1, _LAST),)}
_OCTETS = re.compile(r"(?:\d{1,3}\.){0,3}\*|(?:\d{1,3}\.){1,3}\*(?:\.\*){1,2}", re.ASCII)

_HEXADECIMAL = re.compile(r"[:a-fA-F]")
_GROUPS = re.compile(r"((?:[0-9a-f]{1,4}:){0,7})([0-9a-f]{0,4})\*")

Bounds = tuple[int, int]


def address(field: Field, value: Value) -> tuple[Test, ...]:
    """Returns the tests of the field's columns. Raises ValueError for an invalid value."""
    return tuple(
        AddressTest(column, low.to_bytes(16, "big"), high.to_bytes(16, "big"))
        for column in field.sources
        for low, high in _bounds(_FAMILIES[field.type], value)
    )


def _bounds(family: tuple[Bounds, ...], value: Value) -> list[Bounds]:
    match value:
        case Range(low, high):
            return _range_bounds(family, value, low, high)
        case Text(source):
            text = unescape(source).strip()
        case Exact(text):
            pass
    if is_any(text):
        return list(family)
    if is_wild(text):
        return _groups(text.lower()) if _HEXADECIMAL.search(text) else [_octets(text)]
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        raise ValueError(f"{text!r} is not an address") from None
    first, last = _number(str(network[0])), _number(str(network[-1]))
    return _cut(first, last, _family_of(first))


def _range_bounds(family: tuple[Bounds, ...], value: Range, low: str, high: str) -> list[Bounds]:
    lowest = None if low == "*" else _number(low)
    highest = None if high == "*" else _number(high)
    if lowest is not None:
        family = _family_of(lowest)
    elif highest is not None:
        family = _family_of(highest)
    first = family[0][0] if lowest is None else lowest + value.excludes_low
    last = family[-1][1] if highest is None else highest - value.excludes_high
    return _cut(first, last, family)


def _family_of(number: int) -> tuple[Bounds, ...]:
    """Returns the bounds of the number's family. The value decides the family, whatever the
    field."""
    return _V4 if _V4_LOW <= number <= _V4_HIGH else _V6


def _cut(low: int, high: int, family: tuple[Bounds, ...]) -> list[Bounds]:
    pieces = [(max(low, first), min(high, last)) for first, last in family]
    return [(first, last) for first, last in pieces if first <= last]


def _number(text: str) -> int:
    try:
        found = ip_address(text.strip())
    except ValueError:
        raise ValueError(f"{text!r} is not an address") from None
    return int(found) + (_V4_LOW if found.version == 4 else 0)


def _groups(text: str) -> list[Bounds]:
    """Returns the bounds of an IPv6 prefix such as `fe8*`. Groups are compared without leading
    zeros."""
    found = _GROUPS.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r}: a wildcard can only replace the last parts of an address")
    known, begun = [int(part, 16) for part in found[1].split(":") if part], found[2]
    base = 0
    for group in known:
        base = base << 16 | group
    free = 16 * (8 - len(known))
    bounds: list[Bounds] = []
    for low, high in _groups_beginning(begun):
        first = base << free | low << (free - 16)
        last = base << free | high << (free - 16) | (1 << (free - 16)) - 1
        bounds.extend(_cut(first, last, _V6))
    return bounds


def _groups_beginning(begun: str) -> list[Bounds]:
    """Returns the ranges of 16-bit groups whose shortest hexadecimal text starts with `begun`."""
    if not begun:
        return [(0, 0xFFFF)]
    number = int(begun, 16)
    if begun[0] == "0":
        return [(0, 0)] if begun == "0" else []
    widths = range(0, 4 * (5 - len(begun)), 4)
    return [(number << width, (number + 1 << width) - 1) for width in widths]


def _octets(text: str) -> Bounds:
    """Returns the bounds of a dotted IPv4 prefix such as `10.0.*`."""
    if not _OCTETS.fullmatch(text):
        raise ValueError(f"{text!r}: a wildcard can only replace the last parts of an address")
    known = [int(part) for part in text.split(".") if part != "*"]
    if any(part > 255 for part in known):
        raise ValueError(f"{text!r} is not an address")
    missing = 4 - len(known)
    low = int.from_bytes(bytes([*known, *[0] * missing]), "big")
    high = int.from_bytes(bytes([*known, *[255] * missing]), "big")
    return _V4_LOW + low, _V4_LOW + high
