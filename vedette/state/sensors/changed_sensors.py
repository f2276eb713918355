"""Finds the sensors that any server or command has changed since the last poll.

Change times come from the server that made the change, and clocks differ, so polls overlap. A
checksum over the times skips the read while nothing has changed; otherwise a freshly enrolled fleet
would be reread every few seconds.
"""

from sqlalchemy import Connection, bindparam, func, select

from vedette.limits import Limit
from vedette.state.db.schema import SENSOR

SENSOR_CHANGES_OVERLAP_US: Limit[int] = 60 * 1_000_000
"""Overlap of two polls for changed sensors, since clocks of servers differ."""


class ChangedSensors:
    """Polls for changes; for use by one thread. `look` repeats its result until `taken` confirms
    it."""

    def __init__(self) -> None:
        self._looked_us = 0
        self._since_us = 0
        self._summed: tuple[int, int] | None = None
        self._seen: dict[int, int] = {}
        self._next: tuple[int, int, tuple[int, int] | None, dict[int, int]] | None = None

    def look(self, connection: Connection, now_us: int) -> list[int]:
        """Returns ids of the sensors that changed since the last confirmed poll; at the first poll,
        within the last minute."""
        since_us, summed = self._since_us, self._summed
        if not 0 <= now_us - since_us < 2 * SENSOR_CHANGES_OVERLAP_US:
            since_us, summed = (self._looked_us or now_us) - SENSOR_CHANGES_OVERLAP_US, None
        count, total = connection.execute(_SUM, {"since": since_us}).one()
        # Every change increases the sum, since change times only rise.
        newest, found = (int(count), int(total or 0)), self._seen
        if newest != summed:
            found = dict(map(tuple, connection.execute(_TIMES, {"since": since_us})))
        self._next = now_us, since_us, newest, found
        if found is self._seen:
            return []
        return [one for one, at_us in found.items() if self._seen.get(one) != at_us]

    def taken(self) -> None:
        """Confirms that the result of the last poll was applied."""
        if self._next is not None:
            self._looked_us, self._since_us, self._summed, self._seen = self._next


_CHANGED = SENSOR.c.changed_us >= bindparam("since")
_SUM = select(func.count(), func.sum(SENSOR.c.changed_us - bindparam("since"))).where(_CHANGED)
_TIMES = select(SENSOR.c.id, SENSOR.c.changed_us).where(_CHANGED)
