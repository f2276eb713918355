"""What is to be told to sensors, so that a check-in that changes nothing asks nothing.

A fleet checks in hundreds of times a second and the lists change a few times a day. Bans and
updates depend on the sensor's group, system and version, on what it has, and on the lists, which
`GroupOrders.mark` stands for (it is read with the check-in itself). So they are remembered for all
sensors of which these are the same: after a start or a new ban one of them asks, not each. Only a
list of filters is the sensor's own, and all filters are read once for a version.
"""

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Any

from vedette import limits
from vedette.respond import orders
from vedette.respond.filters import SensorFilters, list_version
from vedette.state.db.database import Database
from vedette.state.policy import filters
from vedette.state.sensors.checkins import Standing


@dataclass(frozen=True, slots=True)
class _Shared:
    """What sensors of one kind are told, and the version of the filters that they should have."""

    body: dict[str, Any]
    filter_version: int


class OrderBook:
    """The orders that are lists. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._filters = SensorFilters(database)
        self._known: OrderedDict[tuple[Any, ...], _Shared] = OrderedDict()
        self._lock = Lock()

    def remembered(
        self, sensor: Standing, ban_version: int, filter_version: int
    ) -> dict[str, Any] | None:
        """`orders` without asking the database; None means ask."""
        shared = self._remembered(sensor, ban_version)
        if shared is None or list_version(shared.filter_version, sensor.group_id) != filter_version:
            return None
        return shared.body

    def orders(self, sensor: Standing, ban_version: int, filter_version: int) -> dict[str, Any]:
        """The members `bans`, `filters`, `update` and `want_binaries` of a check-in's answer."""
        shared = self._remembered(sensor, ban_version) or self._ask(sensor, ban_version)
        if list_version(shared.filter_version, sensor.group_id) == filter_version:
            return shared.body
        return shared.body | {"filters": self._filters.of(sensor, shared.filter_version)}

    def _remembered(self, sensor: Standing, ban_version: int) -> _Shared | None:
        kind = _kind(sensor, ban_version)
        with self._lock:
            shared = self._known.get(kind)
            if shared is not None:
                self._known.move_to_end(kind)
        return shared

    def _ask(self, sensor: Standing, ban_version: int) -> _Shared:
        bans = orders.ban_orders(self._database, sensor, ban_version)
        body = {
            "bans": bans,
            "filters": None,
            "update": orders.update_order(self._database, sensor),
            "want_binaries": orders.wanted_binaries(self._database, sensor),
        }
        shared = _Shared(body, filters.version(self._database))
        if bans is None or len(bans["add"]) + len(bans["remove"]) <= limits.SHARED_BANS_MAX:
            with self._lock:
                self._known[_kind(sensor, ban_version)] = shared
                while len(self._known) > limits.SHARED_ORDERS_MAX:
                    self._known.popitem(last=False)
        return shared


def _kind(sensor: Standing, ban_version: int) -> tuple[Any, ...]:
    return sensor.group.mark, sensor.group_id, sensor.os_type, sensor.sensor_version, ban_version
