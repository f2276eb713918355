"""Who a sensor is, by its key: from memory where it was asked before.

A fleet checks in with the same keys all day, so they are remembered for long. What ends a key
here is told to `forget` at once; what another server or a command changed, `refresh` finds by the
sensor's time of change, a few seconds later.
"""

import hmac
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from sqlalchemy import select

from vedette import limits
from vedette.model.principal import Principal
from vedette.state.engine import Database
from vedette.state.enrolment import KEY_COLUMNS, KeyKind, digest
from vedette.state.schema import SENSOR
from vedette.state.sensors import CHANGES_OVERLAP_US

ID_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class _Known:
    digest: bytes
    principal: Principal
    read_us: int


class SensorKeys:
    """Authenticates sensors. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: OrderedDict[tuple[int, KeyKind], _Known] = OrderedDict()
        self._refreshed_us = 0
        self._lock = Lock()

    def remembered(self, sensor_id: int, key: str, kind: KeyKind, now_us: int) -> Principal | None:
        """Like `authenticate`, without asking the database; None means ask."""
        known = self._known.get((sensor_id, kind))
        if known is None or not 0 <= now_us - known.read_us < limits.SENSOR_KEY_STALE_US:
            return None
        return known.principal if hmac.compare_digest(known.digest, digest(key)) else None

    def authenticate(
        self, sensor_id: int, key: str, kind: KeyKind, now_us: int
    ) -> Principal | None:
        """The sensor whose key this is; None for any other, and for one that has ended."""
        principal = self.remembered(sensor_id, key, kind, now_us)
        if principal is not None or not 0 < sensor_id <= ID_MAX:
            return principal
        column = KEY_COLUMNS[kind]
        query = select(SENSOR.c.hostname, SENSOR.c.group_id, column).where(SENSOR.c.id == sensor_id)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        if row is None or row[2] is None or not hmac.compare_digest(row[2], digest(key)):
            return None
        principal = Principal(
            "sensor", row[0], f"sensor {sensor_id}", group_id=row[1], sensor_id=sensor_id
        )
        self._remember(kind, _Known(row[2], principal, now_us))
        return principal

    def forget(self, sensor_id: int) -> None:
        """The next request of this sensor is looked up again."""
        with self._lock:
            self._known.pop((sensor_id, "sensor"), None)
            self._known.pop((sensor_id, "osquery"), None)

    def refresh(self, now_us: int) -> None:
        """Forgets sensors that changed since the last time. Call it every few seconds."""
        since_us = (self._refreshed_us or now_us) - CHANGES_OVERLAP_US
        query = select(SENSOR.c.id).where(SENSOR.c.changed_us >= since_us)
        with self._database.reading() as connection:
            changed = list(connection.scalars(query))
        self._refreshed_us = now_us
        for sensor_id in changed:
            self.forget(sensor_id)

    def _remember(self, kind: KeyKind, known: _Known) -> None:
        with self._lock:
            name = known.principal.sensor_id, kind
            self._known[name] = known
            self._known.move_to_end(name)
            if len(self._known) > limits.SENSOR_KEYS_CACHED_MAX:
                self._known.popitem(last=False)
