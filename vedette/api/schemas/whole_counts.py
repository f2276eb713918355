"""Counts over all hosts in records that belong to no sensor group, for callers who do not see all
hosts: they would reveal what hidden hosts do, as `filtered` of a search would."""

from collections.abc import Mapping
from typing import Any, Final

from vedette.limits import FILTER_DROPPED_HOURS
from vedette.model.scope import Scope

_HOURS: Final = (0,) * FILTER_DROPPED_HOURS

_NOTHING: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("events", "hits", "verify_us", "cost_ms"), 0),
    **dict.fromkeys(("block_count", "last_hit_count", "actual_sensor_count"), 0),
    **dict.fromkeys(("total_hits", "total_tags", "last_execution_time_ms"), "0"),
    "last_hit": None,
    "hit_rate": 0.0,
    **dict.fromkeys(("events_dropped", "bytes_dropped"), 0),
    **dict.fromkeys(("events_dropped_by_hour", "bytes_dropped_by_hour"), _HOURS),
    "licensed_sensor_count_exceeded": False,
    "license_request_block": "",
}
"""What stands in place of each count."""


def counts_within(body: dict[str, Any], scope: Scope) -> dict[str, Any]:
    """A record without its counts, unless the caller sees every host."""
    if scope.sees_all:
        return body
    return body | {name: nothing for name, nothing in _NOTHING.items() if name in body}
