"""Facts that an osquery host reports about itself: adapters, SID of the computer, osquery version.

They come from scheduled snapshot queries, so each result replaces the previous one. They update the
host's sensor and are not telemetry. Malformed rows are ignored.
"""

from collections.abc import Callable, Iterable
from ipaddress import ip_address
from typing import Any, Final

import orjson

from vedette import limits
from vedette.ingest.normalise.values import domain_sid
from vedette.limits import Limit
from vedette.state.sensors.checkins import OsqueryFacts

OSQUERY_VERSION_CHARS_MAX: Limit[int] = 100
"""Characters of a version that an osquery host reports; longer text is ignored."""


ADAPTERS: Final = "vedette_adapters"
COMPUTER_SID: Final = "vedette_computer_sid"
VERSION: Final = "vedette_version"

HOST_QUERIES: Final[dict[str, str]] = {
    ADAPTERS: (
        "SELECT a.address, d.mac FROM interface_addresses a "
        "JOIN interface_details d ON d.interface = a.interface"
    ),
    VERSION: "SELECT version FROM osquery_info",
}
"""Queries by name, for every operating system."""

WINDOWS_QUERIES: Final[dict[str, str]] = {
    COMPUTER_SID: "SELECT uuid FROM users WHERE uid = '500' AND type = 'local'",
}
"""The SID of the built-in administrator is the computer's SID followed by 500."""

_NAMES: Final = frozenset(HOST_QUERIES) | frozenset(WINDOWS_QUERIES)
_MARK: Final = '"vedette_'
_NO_MAC: Final = "0" * 12


def split_results(results: Iterable[Any]) -> tuple[OsqueryFacts, list[Any]]:
    """Splits the results of a log into facts about the host, and all other results unchanged."""
    facts: dict[str, str] = {}
    others: list[Any] = []
    for result in results:
        found = _host_result(result)
        if found is None:
            others.append(result)
        else:
            facts |= _facts(*found)
    return OsqueryFacts(**facts), others


def _host_result(result: Any) -> tuple[str, list[Any]] | None:
    """Returns name and rows of a result of the queries above; None for any other. Some versions of
    osquery send results as text."""
    if isinstance(result, str) and _MARK in result:
        try:
            result = orjson.loads(result)
        except orjson.JSONDecodeError:
            return None
    name = result.get("name") if isinstance(result, dict) else None
    if not isinstance(name, str) or name not in _NAMES:
        return None
    rows = result.get("snapshot")
    return name, rows if isinstance(rows, list) else []


def _facts(name: str, rows: list[Any]) -> dict[str, str]:
    """Returns members of OsqueryFacts; {} if no row is valid. Ignores rows beyond
    `SENSOR_LIST_MAX`, since this runs on the event loop."""
    known = [row for row in rows[: limits.SENSOR_LIST_MAX] if isinstance(row, dict)]
    match name:
        case "vedette_adapters":
            return _adapters(known)
        case "vedette_computer_sid":
            return _first("computer_sid", domain_sid, (row.get("uuid") for row in known))
        case _:
            return _first("sensor_version", _version, (row.get("version") for row in known))


def _adapters(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Returns the first `SENSOR_ADAPTERS_MAX` addresses except loopback, with hardware addresses,
    in the format of docs/api-objects.md#sensor."""
    found: dict[str, str] = {}
    for row in rows:
        address = _address(row.get("address"))
        if address and len(found) < limits.SENSOR_ADAPTERS_MAX:
            found.setdefault(address, _mac(row.get("mac")))
    if not found:
        return {}
    return {
        "addresses": "|".join(found),
        "network_adapters": "".join(f"{address},{mac}|" for address, mac in found.items()),
    }


def _address(value: Any) -> str:
    """Returns the canonical form of an address without zone; "" for loopback and invalid text."""
    try:
        address = ip_address(value.partition("%")[0]) if isinstance(value, str) else None
    except ValueError:
        return ""
    return "" if address is None or address.is_loopback else str(address)


def _mac(value: Any) -> str:
    text = value[:32].lower() if isinstance(value, str) else ""
    digits = text.replace(":", "").replace("-", "")
    is_mac = len(digits) == len(_NO_MAC) and not digits.strip("0123456789abcdef")
    return digits if is_mac else _NO_MAC


def _version(text: str) -> str:
    return text if len(text) <= OSQUERY_VERSION_CHARS_MAX and text.isprintable() else ""


def _first(member: str, read: Callable[[str], str], values: Iterable[Any]) -> dict[str, str]:
    """Returns the first valid value, keyed by its member of OsqueryFacts."""
    found = (read(value) for value in values if isinstance(value, str))
    return next(({member: text} for text in found if text), {})
