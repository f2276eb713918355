"""Earlier states of alerts, stored while a bulk change can be undone."""

from dataclasses import asdict, dataclass

from sqlalchemy import Connection, delete, insert, select

from vedette.state.db.schema_alerts import ALERT_UNDO


@dataclass(frozen=True, slots=True)
class Kept:
    """A bulk change that can be undone."""

    change_id: int
    user_id: int
    username: str
    made_us: int
    expires_us: int
    body: str
    """JSON of the earlier states (`alerting/undo.py`)."""


def keep(connection: Connection, kept: Kept) -> None:
    """Stores the earlier states of a bulk change."""
    connection.execute(insert(ALERT_UNDO).values(asdict(kept)))


def get(connection: Connection, change_id: int) -> Kept | None:
    """Returns the change with this id, even if it has expired, or None."""
    query = select(ALERT_UNDO).where(ALERT_UNDO.c.change_id == change_id)
    row = connection.execute(query).mappings().first()
    return None if row is None else Kept(**row)


def remove(connection: Connection, change_id: int) -> None:
    """Deletes the change with this id, if it exists."""
    connection.execute(delete(ALERT_UNDO).where(ALERT_UNDO.c.change_id == change_id))


def delete_old(connection: Connection, now_us: int) -> None:
    """Deletes expired changes. Called by a job that consults the clock guard."""
    connection.execute(delete(ALERT_UNDO).where(ALERT_UNDO.c.expires_us < now_us))
