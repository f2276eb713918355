"""The caller's scope, and lookups of process windows, as conditions on `segment`.

Skip indexes must not be applied under FINAL: an index sees one partial row, while the words of a
query may be in several, and ClickHouse evaluates an index's virtual column without merging it
(measured: even a single word is missed then). Every FINAL read therefore runs with the compiler's
`SETTINGS`; indexes are used in subqueries without FINAL.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from vedette.model.ids import sensor_of
from vedette.model.scope import Scope
from vedette.query.compile.binary_sql import SCOPE_ALL, SCOPE_SENSORS
from vedette.query.compile.condition import NO_INDEXES, Apart, Condition
from vedette.store.engine.capabilities import Capabilities

SEGMENT_KEY = "window_ms, sensor_id, process_id, segment_id"
"""The sorting key; rows with equal keys are one segment."""

PLACE = "window_ms, sensor_id, key_hash"
"""The sorting key in numbers (`query/compile/document.py`), which identifies the segments of a
page."""

Place = tuple[int, int, int]
"""A segment by `PLACE`: the texts of the key would be read for every match, but used for one page
only."""

PLACES = "places"
AT_PLACES = f"({PLACE}) IN {{{PLACES}:Array(Tuple(UInt64, UInt32, UInt64))}}"
"""Selects the segments whose places are bound as `PLACES`; reads key columns only."""

ALL = Condition("1", indexes=NO_INDEXES)
"""Every segment."""


def scoped(condition: Condition, scope: Scope) -> Condition:
    """Returns the condition restricted to the caller's scope, its joins included."""
    params = {**condition.params, **scope_params(scope)}
    if scope.sensors is None:
        return replace(condition, params=params)
    within = f"sensor_id IN {{{SCOPE_SENSORS}:Array(UInt32)}} AND "
    apart = condition.apart
    if apart is not None:
        others = None if apart.others is None else scoped(apart.others, scope)
        apart = Apart(tuple(f"{within}{one}" for one in apart.rows), others, apart.indexes)
    return replace(condition, sql=f"{within}({condition.sql})", params=params, apart=apart)


def scope_params(scope: Scope) -> dict[str, Any]:
    """Returns the parameters of `binary_sql.IN_SCOPE`."""
    return {SCOPE_ALL: int(scope.sees_all), SCOPE_SENSORS: sorted(scope.sensors or ())}


AT_PROCESS = "sensor_id = reinterpretAsUInt32(reverse(unhex(substring({process:String}, 1, 8))))"
"""The sensor of the process `process`, whose id begins with it."""

AT_PROCESSES = "sensor_id IN {id_sensors:Array(UInt32)}"


def with_sensors(process_ids: Sequence[str]) -> dict[str, Any]:
    """Returns the parameters `ids` and `id_sensors` (for `AT_PROCESSES`)."""
    sensors = {sensor for one in process_ids if (sensor := sensor_of(one)) is not None}
    return {"ids": list(process_ids), "id_sensors": sorted(sensors)}


def found_by_sensor(
    capabilities: Capabilities, process_ids: Sequence[str], scope: Scope
) -> list[str]:
    """Returns the processes that `AT_PROCESSES` finds within a scope. If there are none, skip the
    query: a cluster of several shards would query no shard, and fails if shards are to complete
    their groups."""
    if not capabilities.cluster:
        return list(process_ids)
    return [
        one
        for one in process_ids
        if (sensor := sensor_of(one)) is not None and scope.allows(sensor)
    ]


def windows_of(capabilities: Capabilities, which: str, at: str = "") -> str:
    """Returns a condition that finds the `segment` rows of processes by primary key. `which` is
    a condition on the table `process`, which is sharded like `segment`. `at` is a condition on
    `sensor_id` implied by `which`, with which a cluster queries only the shards of these
    sensors."""
    found = (
        "(window_ms, sensor_id, process_id) IN "
        "(SELECT arrayJoin(windows), sensor_id, process_id "
        f"FROM {capabilities.storage('process')} WHERE {which})"
    )
    return f"{at} AND {found}" if at and capabilities.cluster else found
