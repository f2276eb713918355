"""Reason, author and end of a host's isolation.

The order itself is a column of the sensor. The row here is deleted when the isolation ends.
"""

from dataclasses import asdict, dataclass

from sqlalchemy import delete, insert, select, update

from vedette.limits import Limit
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR
from vedette.state.db.schema_console import ISOLATION

ISOLATIONS_ENDED_MAX: Limit[int] = 500
"""Hosts released per round after their isolation expired; the next round follows."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """Details of an isolation. Times are epoch microseconds."""

    sensor_id: int
    reason: str
    username: str
    since_us: int
    expires_us: int
    """0: never."""


def record(database: Database, isolation: Isolation) -> None:
    """Stores the details of an isolation, replacing earlier ones."""
    with database.writing() as connection:
        connection.execute(delete(ISOLATION).where(ISOLATION.c.sensor_id == isolation.sensor_id))
        connection.execute(insert(ISOLATION).values(asdict(isolation)))


def forget(database: Database, sensor_id: int) -> None:
    """Deletes the details of an isolation after the host's release."""
    with database.writing() as connection:
        connection.execute(delete(ISOLATION).where(ISOLATION.c.sensor_id == sensor_id))


def end_expired(database: Database, now_us: int) -> list[int]:
    """Releases up to `ISOLATIONS_ENDED_MAX` hosts whose isolation has expired, and returns their
    ids."""
    is_over = (ISOLATION.c.expires_us > 0) & (ISOLATION.c.expires_us <= now_us)
    query = select(ISOLATION.c.sensor_id).where(is_over).limit(ISOLATIONS_ENDED_MAX)
    with database.reading() as connection:
        due = list(connection.scalars(query))
    if not due:
        return []
    with database.writing() as connection:
        # The end may have been extended meanwhile.
        of_due = delete(ISOLATION).where(ISOLATION.c.sensor_id.in_(due), is_over)
        ended = list(connection.scalars(of_due.returning(ISOLATION.c.sensor_id)))
        released = {"network_isolation_enabled": False}
        connection.execute(update(SENSOR).where(SENSOR.c.id.in_(ended)).values(released))
    return ended
