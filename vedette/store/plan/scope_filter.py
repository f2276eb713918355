"""The caller's scope, and the guide to processes, as conditions on `segment`.

Partial rows of a segment are merged at reading (FINAL), and no skipping index may judge them
before that: an index sees one partial row, while the words of a query may lie in several, and
ClickHouse answers an index's virtual column without merging it (measured: then even a single
word is not found). Every FINAL read therefore runs with
`SETTINGS` of the compiler, which asks the indexes in subqueries without FINAL.
"""

from dataclasses import replace
from typing import Any

from vedette.model.scope import Scope
from vedette.query.compile.binary_sql import SCOPE_ALL, SCOPE_SENSORS
from vedette.query.compile.condition import Apart, Condition
from vedette.store.engine.capabilities import Capabilities

SEGMENT_KEY = "window_ms, sensor_id, process_id, segment_id"
"""The sorting key: equal keys are one segment."""

PLACE = "window_ms, sensor_id, key_hash"
"""The sorting key in numbers (`query/compile/document.py`): what a page of segments is told by."""

Place = tuple[int, int, int]
"""A segment by `PLACE`. Texts of a key would have to be read for every answer, only to be shown of
one page of them."""

PLACES = "places"
AT_PLACES = f"({PLACE}) IN {{{PLACES}:Array(Tuple(UInt64, UInt32, UInt64))}}"
"""A condition on keys alone: the segments whose places are bound as `PLACES`."""

ALL = Condition("1")
"""Every segment."""


def scoped(condition: Condition, scope: Scope) -> Condition:
    """The condition on segments and the caller's scope, which holds for its joins too."""
    params = {**condition.params, **scope_params(scope)}
    if scope.sensors is None:
        return replace(condition, params=params)
    within = f"sensor_id IN {{{SCOPE_SENSORS}:Array(UInt32)}} AND "
    apart = condition.apart
    if apart is not None:
        others = None if apart.others is None else scoped(apart.others, scope)
        apart = Apart(tuple(f"{within}{one}" for one in apart.rows), others)
    return replace(condition, sql=f"{within}({condition.sql})", params=params, apart=apart)


def scope_params(scope: Scope) -> dict[str, Any]:
    """What `binary_sql.IN_SCOPE` leaves open."""
    return {SCOPE_ALL: int(scope.sees_all), SCOPE_SENSORS: sorted(scope.sensors or ())}


def guided(capabilities: Capabilities, which: str) -> str:
    """A condition on `segment` that finds the windows of processes by primary key.

    `which` is a condition on the guide, `process`. The guide is read where the segments are:
    both are sharded by sensor, so this holds on every shard by itself.
    """
    return (
        "(window_ms, sensor_id, process_id) IN "
        "(SELECT arrayJoin(windows), sensor_id, process_id "
        f"FROM {capabilities.storage('process')} WHERE {which})"
    )
