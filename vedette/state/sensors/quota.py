"""Usage of the server's limits that senders can exhaust."""

from dataclasses import dataclass

from sqlalchemy import func, select

from vedette.state.db.database import Database
from vedette.state.db.schema import CHANNEL, SENSOR
from vedette.state.db.schema_fleet import STORED_FILE


@dataclass(frozen=True, slots=True)
class QuotaUsage:
    """Number of hosts, of assigned channel codes, and of bytes in stored copies of programs."""

    sensors: int
    channels: int
    copied_bytes: int


def usage(database: Database) -> QuotaUsage:
    """Computes the usage. Raises UnavailableError."""
    with database.reading() as connection:
        sensors = connection.scalar(select(func.count()).select_from(SENSOR)) or 0
        channels = connection.scalar(select(func.max(CHANNEL.c.code))) or 0
        copied = connection.scalar(select(func.sum(STORED_FILE.c.copied))) or 0
    return QuotaUsage(int(sensors), int(channels), int(copied))
