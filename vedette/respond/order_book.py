"""Which sensors are known to be up to date, so that a check-in that changes nothing asks nothing.

A fleet checks in hundreds of times a second and the lists change a few times a day. What a sensor
had when nothing was to be told is remembered with the mark of the lists at that time
(`Standing.mark`, read with the check-in itself): as long as both are the same, so is the answer.
"""

from collections import OrderedDict
from threading import Lock
from typing import Any

from vedette import limits
from vedette.respond import orders
from vedette.state.checkins import Standing
from vedette.state.engine import Database

_NOTHING: dict[str, Any] = {"bans": None, "filters": None, "update": None, "want_binaries": []}


class OrderBook:
    """The orders that are lists. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._current: OrderedDict[int, tuple[Any, ...]] = OrderedDict()
        self._lock = Lock()

    def remembered(
        self, sensor: Standing, ban_version: int, filter_version: int
    ) -> dict[str, Any] | None:
        """`orders` without asking the database; None means ask."""
        known = self._current.get(sensor.id)
        return _NOTHING if known == _state(sensor, ban_version, filter_version) else None

    def orders(self, sensor: Standing, ban_version: int, filter_version: int) -> dict[str, Any]:
        """The members `bans`, `filters`, `update` and `want_binaries` of a check-in's answer."""
        found = {
            "bans": orders.ban_orders(self._database, sensor, ban_version),
            "filters": orders.filter_orders(self._database, sensor, filter_version),
            "update": orders.update_order(self._database, sensor),
            "want_binaries": orders.wanted_binaries(self._database, sensor),
        }
        with self._lock:
            if found == _NOTHING:
                self._current[sensor.id] = _state(sensor, ban_version, filter_version)
                if len(self._current) > limits.SENSOR_KEYS_CACHED_MAX:
                    self._current.popitem(last=False)
            else:
                self._current.pop(sensor.id, None)
        return found


def _state(sensor: Standing, ban_version: int, filter_version: int) -> tuple[Any, ...]:
    return (
        hash(sensor.mark),
        sensor.group_id,
        sensor.os_type,
        sensor.sensor_version,
        ban_version,
        filter_version,
    )
