"""Cache of sensor keys, for authentication.

A fleet checks in with the same keys all day, so entries are long-lived, and a read loads many
sensors at once: after a start of the server, the whole fleet authenticates within half a minute.
Changes by this server call `evict`. `refresh` detects changes by other servers and commands within
seconds, by the sensor's change time.
"""

import hmac
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from sqlalchemy import select

from vedette.limits import Limit
from vedette.model.principal import Principal
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR
from vedette.state.sensors.changed_sensors import ChangedSensors
from vedette.state.sensors.key_replacement import KEY_COLUMNS, KeyKind, digest

SENSOR_KEY_STALE_US: Limit[int] = 3600 * 1_000_000
"""Maximum age (us) of a cached key; a change evicts it within seconds."""

SENSOR_KEYS_CACHED_MAX: Limit[int] = 150_000
"""Cached sensor keys, about 0.5 kB each: a fleet, with some reserve."""

SENSOR_KEYS_PER_READ: Limit[int] = 256
"""Sensors with adjacent ids that one read loads."""


ID_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class _CachedKey:
    digest: bytes
    hostname: str
    group_id: int
    read_us: int


class SensorKeys:
    """Authenticates sensors. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: OrderedDict[tuple[int, KeyKind], _CachedKey] = OrderedDict()
        self._changed = ChangedSensors()
        self._changes = 0
        self._lock = Lock()

    def cached(self, sensor_id: int, key: str, kind: KeyKind, now_us: int) -> Principal | None:
        """Like `authenticate`, from the cache alone; None on a cache miss or a wrong key."""
        known = self._known.get((sensor_id, kind))
        if known is None or not 0 <= now_us - known.read_us < SENSOR_KEY_STALE_US:
            return None
        return _principal(sensor_id, known, key)

    def authenticate(
        self, sensor_id: int, key: str, kind: KeyKind, now_us: int
    ) -> Principal | None:
        """Returns the sensor with this key; None for a wrong or replaced key."""
        principal = self.cached(sensor_id, key, kind, now_us)
        if principal is not None or not 0 < sensor_id <= ID_MAX:
            return principal
        known = self._read(sensor_id, kind, now_us).get(sensor_id)
        return None if known is None else _principal(sensor_id, known, key)

    def evict(self, sensor_id: int) -> None:
        """Removes a sensor's keys from the cache."""
        with self._lock:
            self._changes += 1
            self._known.pop((sensor_id, "sensor"), None)
            self._known.pop((sensor_id, "osquery"), None)

    def refresh(self, now_us: int) -> None:
        """Evicts sensors that changed since the last call. Call every few seconds."""
        with self._database.reading() as connection:
            changed = self._changed.look(connection, now_us)
        for sensor_id in changed:
            self.evict(sensor_id)
        self._changed.taken()

    def _read(self, sensor_id: int, kind: KeyKind, now_us: int) -> dict[int, _CachedKey]:
        """Loads and caches the block of sensors around an id that have a key of this kind."""
        column = KEY_COLUMNS[kind]
        first = sensor_id - sensor_id % SENSOR_KEYS_PER_READ
        query = select(SENSOR.c.id, column, SENSOR.c.hostname, SENSOR.c.group_id).where(
            SENSOR.c.id.between(first, first + SENSOR_KEYS_PER_READ - 1), column.is_not(None)
        )
        changes = self._changes
        with self._database.reading() as connection:
            found = {row[0]: _CachedKey(*row[1:], now_us) for row in connection.execute(query)}
        with self._lock:
            # Discard after a concurrent eviction: the rows may predate the change.
            kept = found if changes == self._changes else {}
            for number, known in kept.items():
                self._known[number, kind] = known
            while len(self._known) > SENSOR_KEYS_CACHED_MAX:
                self._known.popitem(last=False)
        return found


def _principal(sensor_id: int, known: _CachedKey, key: str) -> Principal | None:
    if not hmac.compare_digest(known.digest, digest(key)):
        return None
    name = f"sensor {sensor_id}"
    return Principal("sensor", known.hostname, name, group_id=known.group_id, sensor_id=sensor_id)
