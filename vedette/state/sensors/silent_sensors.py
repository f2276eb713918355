"""When sensors had their last contact, and which are silent.

A sensor has its last contact, and the last one on an earlier day (UTC): so it is known of each
whether it was there yesterday.
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
    """`last_seen_us`: of its last record or check-in."""

    hostname: str
    last_seen_us: int


@dataclass(frozen=True, slots=True)
class SilentSensors:
    """How many are silent of how many, and those that are silent longest."""

    count: int
    of: int
    longest: tuple[SilentSensor, ...]


def silent_sensors(database: Database, since_us: int, names_max: int) -> SilentSensors:
    """Sensors without a record or check-in since `since_us`; uninstalled ones do not count.
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
    """The beginning of the day of a time, UTC."""
    return now_us - now_us % _DAY_US


def contact_of(row: Mapping[str, Any] | RowMapping, seen_us: int) -> dict[str, int]:
    """The columns of a row after a contact."""
    last_us = row["last_seen_us"]
    earlier_us = last_us if last_us < midnight_us(seen_us) else row["earlier_seen_us"]
    return {"last_seen_us": max(seen_us, last_us), "earlier_seen_us": earlier_us}


def earlier_seen(midnight: int | BindParameter[int]) -> ColumnElement[int]:
    """The same in an UPDATE of the last contact, with the midnight before it."""
    last = SENSOR.c.last_seen_us
    return case((last < midnight, last), else_=SENSOR.c.earlier_seen_us)
