"""Cache of the orders for sensors, so that a check-in without changes needs no database query.

A fleet checks in hundreds of times a second and the lists change a few times a day. Bans and
updates depend on the sensor's group, operating system and version, on the version of the list that
it has, and on the lists themselves, which `GroupOrders.mark` identifies (it is read with the
check-in). So sensors with equal values share a cache entry. Only the list of filters is built for
each sensor, from filters that are read once for a version.
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
from vedette.state.sensors.checkins import WantedState


@dataclass(frozen=True, slots=True)
class _CachedOrders:
    """Orders shared by sensors of one kind, and the current version of the filters."""

    body: dict[str, Any]
    filter_version: int


class OrderCache:
    """See the module. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._filters = SensorFilters(database)
        self._known: OrderedDict[tuple[Any, ...], _CachedOrders] = OrderedDict()
        self._lock = Lock()

    def cached(
        self, sensor: WantedState, ban_version: int, filter_version: int
    ) -> dict[str, Any] | None:
        """`orders` from the cache alone; None on a cache miss."""
        entry = self._cached(sensor, ban_version)
        if entry is None or list_version(entry.filter_version, sensor.group_id) != filter_version:
            return None
        return entry.body

    def orders(self, sensor: WantedState, ban_version: int, filter_version: int) -> dict[str, Any]:
        """The members `bans`, `filters`, `update` and `want_binaries` of a check-in's answer."""
        entry = self._cached(sensor, ban_version) or self._ask(sensor, ban_version)
        if list_version(entry.filter_version, sensor.group_id) == filter_version:
            return entry.body
        return entry.body | {"filters": self._filters.of(sensor, entry.filter_version)}

    def _cached(self, sensor: WantedState, ban_version: int) -> _CachedOrders | None:
        kind = _kind(sensor, ban_version)
        with self._lock:
            entry = self._known.get(kind)
            if entry is not None:
                self._known.move_to_end(kind)
        return entry

    def _ask(self, sensor: WantedState, ban_version: int) -> _CachedOrders:
        bans = orders.ban_orders(self._database, sensor, ban_version)
        body: dict[str, Any] = {
            "bans": bans,
            "filters": None,
            "update": orders.update_order(self._database, sensor),
            "want_binaries": [],  # added for the sensors that have orders
        }
        entry = _CachedOrders(body, filters.version(self._database))
        if bans is None or len(bans["add"]) + len(bans["remove"]) <= limits.SHARED_BANS_MAX:
            with self._lock:
                self._known[_kind(sensor, ban_version)] = entry
                while len(self._known) > limits.SHARED_ORDERS_MAX:
                    self._known.popitem(last=False)
        return entry


def _kind(sensor: WantedState, ban_version: int) -> tuple[Any, ...]:
    return sensor.group.mark, sensor.group_id, sensor.os_type, sensor.sensor_version, ban_version
