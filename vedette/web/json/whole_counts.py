"""Hides counts over all hosts in records that belong to no sensor group. Callers who do not see all
hosts could otherwise learn about hidden hosts, as from `filtered` of a search."""

from collections.abc import Mapping
from typing import Any, Final

from vedette.limits import FILTER_DROPPED_HOURS
from vedette.model.scope import Scope
from vedette.record.answers import to_json
from vedette.record.member import unseen

_HOURS: Final = (0,) * FILTER_DROPPED_HOURS

_NOTHING: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("events", "hits", "verify_us", "cost_ms"), 0),
    **dict.fromkeys(("block_count", "last_hit_count", "actual_sensor_count"), 0),
    **dict.fromkeys(("total_hits", "total_tags", "last_execution_time_ms"), "0"),
    **dict.fromkeys(("last_hit", "log_source")),
    "hit_rate": 0.0,
    **dict.fromkeys(("events_dropped", "bytes_dropped"), 0),
    **dict.fromkeys(("events_dropped_by_hour", "bytes_dropped_by_hour"), _HOURS),
    "licensed_sensor_count_exceeded": False,
    "license_request_block": "",
}
"""Replacement value of each count."""


def counts_within(body: dict[str, Any], scope: Scope) -> dict[str, Any]:
    """Returns a record with its counts replaced, unless the caller sees every host."""
    if scope.sees_all:
        return body
    return body | {name: nothing for name, nothing in _NOTHING.items() if name in body}


def record_within(one: Any, scope: Scope) -> dict[str, Any]:
    """Returns a managed object as JSON, with its counts replaced unless the caller sees every
    host."""
    kind: Any = type(one)
    return to_json(one) if scope.sees_all else to_json(one) | unseen(kind)
