"""Sensors that report nothing any more."""

from dataclasses import dataclass

from sqlalchemy import func, select

from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR


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
