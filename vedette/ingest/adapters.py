"""Network adapters of a host, as shippers report them. Format (docs/api-objects.md#sensor):
`address,hardware address|` for each adapter."""

import re
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from vedette.limits import ADAPTER_TEXTS_CACHED, SENSOR_ADAPTERS_MAX

NO_MAC = "0" * 12

_TEXT = re.compile(r"(?:[0-9a-f.:]{2,39},[0-9a-f]{12}\|){0,64}")


def adapters_of(host: str, names: tuple[Any, ...], addresses: Any, macs: Any) -> str:
    """Returns the adapters of the machine that the shipper runs on. `names` are the names of that
    machine. Returns "" if none of them is `host`: then the shipper is a collector and reports its
    own adapters."""
    label = host.partition(".")[0]
    if not any(isinstance(one, str) and one.lower() in (host, label) for one in names if one):
        return ""
    return _text(_texts(addresses), _texts(macs))


def checked_adapters(text: str) -> str:
    """Returns the text if it has that format, else ""."""
    return text if len(text) <= SENSOR_ADAPTERS_MAX * 53 and _TEXT.fullmatch(text) else ""


def _texts(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list | tuple) else (value,)
    return tuple(one for one in values[: 4 * SENSOR_ADAPTERS_MAX] if isinstance(one, str))


@lru_cache(ADAPTER_TEXTS_CACHED)
def _text(addresses: tuple[str, ...], macs: tuple[str, ...]) -> str:
    """Joins addresses and hardware addresses. Beats lists them separately, both in the order of the
    cards. They are paired if there is one card, or if there are as many cards as IPv4 addresses."""
    known = [address for text in addresses if (address := _address(text))][:SENSOR_ADAPTERS_MAX]
    cards = [mac for text in macs if (mac := _mac(text))]
    of_ipv4 = [address for address in known if ":" not in address]
    if len(cards) == 1:
        found = dict.fromkeys(known, cards[0])
    elif len(cards) == len(of_ipv4):
        found = dict.fromkeys(known, NO_MAC) | dict(zip(of_ipv4, cards, strict=True))
    else:
        found = dict.fromkeys(known, NO_MAC)
    return "".join(f"{address},{mac}|" for address, mac in found.items())


def _address(text: str) -> str:
    try:
        address = ip_address(text)
    except ValueError:
        return ""
    if address.is_loopback or address.is_link_local or address.is_unspecified or "%" in text:
        return ""
    return str(address)


def _mac(text: str) -> str:
    digits = text[:32].lower().replace("-", "").replace(":", "")
    is_mac = len(digits) == len(NO_MAC) and not digits.strip("0123456789abcdef")
    return digits if is_mac and digits != NO_MAC else ""
