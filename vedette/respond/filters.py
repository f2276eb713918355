"""Ingress filters that sensors apply, in the form that check-ins deliver."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from vedette.model.ingress_filter import EVENT_LISTS, PROCESS_LISTS
from vedette.model.scope import Scope
from vedette.record.objects.ingress_filter import IngressFilter
from vedette.state.db.database import Database
from vedette.state.policy import filters
from vedette.state.sensors.sensor_list import own_check_ins

_GROUP_BITS: Final = 20
_GROUP_MASK: Final = (1 << _GROUP_BITS) - 1


class Sensor(Protocol):
    """The attributes of a sensor that select its filters."""

    @property
    def id(self) -> int: ...

    @property
    def group_id(self) -> int: ...

    @property
    def os_type(self) -> str: ...


class SensorFilters:
    """Filters that sensors apply, cached by version. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._read: tuple[int, list[tuple[IngressFilter, dict[str, Any]]]] = (-1, [])

    def of(self, sensor: Sensor, version: int) -> dict[str, Any]:
        """Returns `{"version", "filters"}` with all filters of the sensor, the highest priority
        first, from the database at `version` or later."""
        if self._read[0] < version:
            newest, known = filters.in_force(self._database)
            sent = [one for one in known if one.enabled and one.filter_on_sensor]
            self._read = newest, [(one, order_body(one)) for one in sent]
        newest, bodies = self._read
        wanted = [
            body
            for one, body in bodies
            if one.applies_to(sensor.id, sensor.group_id, sensor.os_type)
        ]
        return {"version": list_version(newest, sensor.group_id), "filters": wanted}


@dataclass(frozen=True, slots=True)
class Fetched:
    """Number of sensors that must apply a filter, and of those that have not fetched it."""

    sensors: int
    waiting: int
    """Sensors that have not checked in since the filter changed."""


def fetched(
    database: Database, scope: Scope, wanted: Sequence[IngressFilter]
) -> dict[str, Fetched]:
    """Maps the id of each enabled filter that is sent to sensors to its counts of the sensors in
    `scope`."""
    sent = [one for one in wanted if one.enabled and one.filter_on_sensor]
    if not sent:
        return {}
    # Sensors of one group and operating system have the same filters, except filters with sensor
    # ids.
    alike: dict[tuple[int, str], list[int]] = {}
    named: dict[int, tuple[int, str, int]] = {}
    for sensor_id, group_id, os_type, checkin_us in own_check_ins(database, scope):
        alike.setdefault((group_id, os_type), []).append(checkin_us)
        named[sensor_id] = (group_id, os_type, checkin_us)
    for times in alike.values():
        times.sort()
    return {one.id: _fetched(one, alike, named) for one in sent}


def _fetched(
    one: IngressFilter,
    alike: Mapping[tuple[int, str], list[int]],
    named: Mapping[int, tuple[int, str, int]],
) -> Fetched:
    if one.sensor_ids and not one.is_global:
        times = sorted(
            checkin_us
            for sensor_id in one.sensor_ids
            for group_id, os_type, checkin_us in [named.get(sensor_id, (-1, "", 0))]
            if group_id >= 0 and one.applies_to(sensor_id, group_id, os_type)
        )
        return Fetched(len(times), bisect_right(times, one.modify_us))
    mine = [
        times
        for (group_id, os_type), times in alike.items()
        if one.applies_to(0, group_id, os_type)
    ]
    return Fetched(sum(map(len, mine)), sum(bisect_right(times, one.modify_us) for times in mine))


def list_version(version: int, group_id: int) -> int:
    """Returns the version of a sensor's list, which changes when any filter changes and when the
    sensor moves to another group. 0 before the first filter."""
    return version << _GROUP_BITS | group_id & _GROUP_MASK if version else 0


def order_body(one: IngressFilter) -> dict[str, Any]:
    """Returns a filter in the form for sensors, without its scope."""
    return {
        "id": one.id,
        "priority": one.priority,
        "descendant_filtering_level": one.descendant_filtering_level,
        "filter_all_events": one.filter_all_events,
        **{name: list(getattr(one, name)) for name in (*PROCESS_LISTS, *EVENT_LISTS)},
    }
