"""Times of last contacts, and silent sensors.

A sensor stores its last contact, and the last contact on an earlier day (UTC). Together they tell
whether it was active yesterday.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import BindParameter, ColumnElement, RowMapping, case, func, select

from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR

_DAY_US: Final = 24 * 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class SilentSensor:
    """A silent sensor; `last_seen_us` is the time of its last record or check-in."""

    hostname: str
    last_seen_us: int


@dataclass(frozen=True, slots=True)
class SilentSensors:
    """Number of silent sensors, number of all sensors, and the sensors silent for longest."""

    count: int
    of: int
    longest: tuple[SilentSensor, ...]


def silent_sensors(database: Database, since_us: int, names_max: int) -> SilentSensors:
    """Returns the sensors without a record or check-in since `since_us`, except uninstalled ones.
    Raises UnavailableError."""
    here = SENSOR.c.uninstalled_us == 0
    is_silent = here & (SENSOR.c.last_seen_us < since_us)
    named = (
        select(SENSOR.c.hostname, SENSOR.c.last_seen_us)
        .where(is_silent)
        .order_by(SENSOR.c.last_seen_us, SENSOR.c.id)
        .limit(names_max)
    )
    with database.reading() as connection:
        count = connection.scalar(select(func.count()).select_from(SENSOR).where(is_silent)) or 0
        total = connection.scalar(select(func.count()).select_from(SENSOR).where(here)) or 0
        longest = tuple(SilentSensor(*row) for row in connection.execute(named))
    return SilentSensors(count, total, longest)


def midnight_us(now_us: int) -> int:
    """Returns the start of the day (UTC)."""
    return now_us - now_us % _DAY_US


def contact_of(row: Mapping[str, Any] | RowMapping, seen_us: int) -> dict[str, int]:
    """Returns the contact columns of a row after a contact."""
    last_us = row["last_seen_us"]
    earlier_us = last_us if last_us < midnight_us(seen_us) else row["earlier_seen_us"]
    return {"last_seen_us": max(seen_us, last_us), "earlier_seen_us": earlier_us}


def earlier_seen(midnight: int | BindParameter[int]) -> ColumnElement[int]:
    """Like `contact_of`, as an expression for an UPDATE of the last contact; `midnight` is the
    start of its day."""
    last = SENSOR.c.last_seen_us
    return case((last < midnight, last), else_=SENSOR.c.earlier_seen_us)
