"""What alerts were before a bulk change, for as long as it can be taken back."""

from dataclasses import asdict, dataclass

from sqlalchemy import Connection, delete, insert, select

from vedette.state.db.schema_alerts import ALERT_UNDO


@dataclass(frozen=True, slots=True)
class Kept:
    """One bulk change."""

    change_id: int
    user_id: int
    username: str
    made_us: int
    expires_us: int
    body: str
    """JSON of the earlier states (`alerting/undo.py`)."""


def keep(connection: Connection, kept: Kept) -> None:
    """Keeps it."""
    connection.execute(insert(ALERT_UNDO).values(asdict(kept)))


def get(connection: Connection, change_id: int) -> Kept | None:
    """The change with this id, also one whose time has passed."""
    query = select(ALERT_UNDO).where(ALERT_UNDO.c.change_id == change_id)
    row = connection.execute(query).mappings().first()
    return None if row is None else Kept(**row)


def remove(connection: Connection, change_id: int) -> None:
    """Removes one change."""
    connection.execute(delete(ALERT_UNDO).where(ALERT_UNDO.c.change_id == change_id))


def delete_old(connection: Connection, now_us: int) -> None:
    """Deletes the changes whose time has passed. A job does, which asks the clock guard."""
    connection.execute(delete(ALERT_UNDO).where(ALERT_UNDO.c.expires_us < now_us))
