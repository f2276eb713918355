"""Cache of the orders for sensors, so that a check-in without changes needs no database query.

A fleet checks in hundreds of times per second; lists change a few times per day. Bans and updates
depend on the sensor's group, operating system, version and ban list version, and on the lists
themselves, which `GroupOrders.mark` identifies (it is read with the check-in). So sensors with
equal values share a cache entry. Only the list of filters is built per sensor, from filters that
are read once per version.
"""

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Any

from vedette.limits import Limit
from vedette.respond import orders
from vedette.respond.filters import SensorFilters, list_version
from vedette.state.db.database import Database
from vedette.state.policy import filters
from vedette.state.sensors.checkins import WantedState

SHARED_ORDERS_MAX: Limit[int] = 1_000
"""Cached kinds of sensors (by group, operating system, version and ban list version), about 1 kB
each without bans."""

SHARED_BANS_MAX: Limit[int] = 1_000
"""Bans in one cached entry, so that the cache stays under 200 MB."""


@dataclass(frozen=True, slots=True)
class _CachedOrders:
    """Orders shared by sensors of one kind, and the current version of the filters."""

    body: dict[str, Any]
    filter_version: int


class OrderCache:
    """Caches orders (see the module). Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._filters = SensorFilters(database)
        self._known: OrderedDict[tuple[Any, ...], _CachedOrders] = OrderedDict()
        self._lock = Lock()

    def cached(
        self, sensor: WantedState, ban_version: int, filter_version: int
    ) -> dict[str, Any] | None:
        """Like `orders`, from the cache alone; None on a cache miss."""
        entry = self._cached(sensor, ban_version)
        if entry is None or list_version(entry.filter_version, sensor.group_id) != filter_version:
            return None
        return entry.body

    def orders(self, sensor: WantedState, ban_version: int, filter_version: int) -> dict[str, Any]:
        """Returns the members `bans`, `filters`, `update` and `want_binaries` of a check-in's
        response."""
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
            "want_binaries": [],  # added for sensors with orders
        }
        entry = _CachedOrders(body, filters.version(self._database))
        if bans is None or len(bans["add"]) + len(bans["remove"]) <= SHARED_BANS_MAX:
            with self._lock:
                self._known[_kind(sensor, ban_version)] = entry
                while len(self._known) > SHARED_ORDERS_MAX:
                    self._known.popitem(last=False)
        return entry


def _kind(sensor: WantedState, ban_version: int) -> tuple[Any, ...]:
    return sensor.group.mark, sensor.group_id, sensor.os_type, sensor.sensor_version, ban_version
