"""Why a host is isolated, who wanted it, and when it ends by itself.

The order itself is a column of the sensor; this is what people said when they gave it. It is
removed when the isolation is.
"""

from dataclasses import asdict, dataclass

from sqlalchemy import delete, insert, select, update

from vedette.limits import ISOLATIONS_ENDED_MAX
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR
from vedette.state.db.schema_console import ISOLATION


@dataclass(frozen=True, slots=True)
class Isolation:
    """What was said of one isolation. Times are epoch microseconds."""

    sensor_id: int
    reason: str
    username: str
    since_us: int
    expires_us: int
    """0: never."""


def record(database: Database, isolation: Isolation) -> None:
    """Keeps what was said; a later word replaces it."""
    with database.writing() as connection:
        connection.execute(delete(ISOLATION).where(ISOLATION.c.sensor_id == isolation.sensor_id))
        connection.execute(insert(ISOLATION).values(asdict(isolation)))


def forget(database: Database, sensor_id: int) -> None:
    """The host is released."""
    with database.writing() as connection:
        connection.execute(delete(ISOLATION).where(ISOLATION.c.sensor_id == sensor_id))


def end_expired(database: Database, now_us: int) -> list[int]:
    """Releases the hosts whose time has come, some at a time; their ids."""
    is_over = (ISOLATION.c.expires_us > 0) & (ISOLATION.c.expires_us <= now_us)
    query = select(ISOLATION.c.sensor_id).where(is_over).limit(ISOLATIONS_ENDED_MAX)
    with database.reading() as connection:
        due = list(connection.scalars(query))
    if not due:
        return []
    with database.writing() as connection:
        # Somebody may have prolonged one meanwhile.
        of_due = delete(ISOLATION).where(ISOLATION.c.sensor_id.in_(due), is_over)
        ended = list(connection.scalars(of_due.returning(ISOLATION.c.sensor_id)))
        released = {"network_isolation_enabled": False}
        connection.execute(update(SENSOR).where(SENSOR.c.id.in_(ended)).values(released))
    return ended
