"""Time zone of a host, as shippers report it: minutes ahead of UTC in the form of the column
`host_clock` (`model/host.py`).

ECS has `event.timezone`, which `add_locale` of Beats and Elastic Agent sets; older Beats have
`beat.timezone`. Only offsets are read (`+02:00`, `-0500`, `Z`, `UTC`): a zone name or abbreviation
has different offsets during a year or in different countries.
"""

import re
from functools import lru_cache
from typing import Any, Final

from vedette.limits import ADAPTER_TEXTS_CACHED, Limit
from vedette.model.host import UTC_CLOCK

UTC_OFFSET_MINUTES_MAX: Limit[int] = 14 * 60
"""Maximum offset from UTC (minutes) that a shipper may report: the largest in use."""


_OFFSET: Final = re.compile(r"([+-])([0-9]{1,2}):?([0-9]{2})?")
_UTC: Final = frozenset({"z", "utc", "gmt", "etc/utc"})


def clock_of(host: str, names: tuple[Any, ...], zones: tuple[Any, ...]) -> int:
    """Returns the clock for the first of `zones` that is an offset. Returns 0 if there is none, and
    if none of `names` (of the shipper's machine) is `host`: a collector reports its own zone."""
    found = next((clock for zone in zones if (clock := _clock(zone))), 0)
    if not found:
        return 0
    label = host.partition(".")[0]
    is_own = any(isinstance(one, str) and one.lower() in (host, label) for one in names if one)
    return found if is_own else 0


def clock_of_document(host: str, document: dict[str, Any]) -> int:
    """Returns the clock in an ECS document of a shipper; 0 for none."""
    event, sender, agent, beat = (
        one if isinstance(one, dict) else {}
        for one in map(document.get, ("event", "host", "agent", "beat"))
    )
    zones = (event.get("timezone"), sender.get("timezone"), beat.get("timezone"))
    names = (sender.get("name"), sender.get("hostname"), agent.get("hostname"))
    return clock_of(host, (*names, beat.get("hostname")), zones)


def checked_clock(clock: int) -> int:
    """Returns the clock if it is within 14 hours of UTC, else 0."""
    return clock if abs(clock - UTC_CLOCK) <= UTC_OFFSET_MINUTES_MAX else 0


def _clock(zone: object) -> int:
    return _parsed(zone) if isinstance(zone, str) and zone and len(zone) <= 16 else 0


@lru_cache(ADAPTER_TEXTS_CACHED)
def _parsed(zone: str) -> int:
    text = zone.strip().lower()
    if text in _UTC:
        return UTC_CLOCK
    found = _OFFSET.fullmatch(text)
    if found is None:
        return 0
    minutes = 60 * int(found[2]) + int(found[3] or 0)
    return checked_clock(UTC_CLOCK + (minutes if found[1] == "+" else -minutes))
