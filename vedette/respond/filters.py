"""The ingress filters that a sensor applies itself, as it gets them at check-in."""

from typing import Any, Protocol

from vedette.model.ingress import EVENT_LISTS, PROCESS_LISTS, IngressFilter
from vedette.state import filters
from vedette.state.engine import Database


class Sensor(Protocol):
    """What decides which filters are a sensor's."""

    @property
    def id(self) -> int: ...

    @property
    def group_id(self) -> int: ...

    @property
    def os_type(self) -> str: ...


def filter_orders(database: Database, sensor: Sensor, since_version: int) -> dict[str, Any] | None:
    """`{"version", "filters"}` with all filters of the sensor, the highest priority first; None
    when `since_version` is the newest. It changes with every change of any filter."""
    if filters.version(database) == since_version:
        return None
    version, known = filters.load(database)
    wanted = [
        order_body(one)
        for one in known
        if one.enabled
        and one.filter_on_sensor
        and one.applies_to(sensor.id, sensor.group_id, sensor.os_type)
    ]
    return {"version": version, "filters": wanted}


def order_body(one: IngressFilter) -> dict[str, Any]:
    """A filter as a sensor gets it: what it means, without whom it is for."""
    return {
        "id": one.id,
        "priority": one.priority,
        "descendant_filtering_level": one.descendant_filtering_level,
        "filter_all_events": one.filter_all_events,
        **{name: list(getattr(one, name)) for name in (*PROCESS_LISTS, *EVENT_LISTS)},
    }
