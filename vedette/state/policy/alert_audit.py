"""Audit of bulk changes of alerts: author, number, selection and assigned values."""

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from vedette.limits import Limit
from vedette.state.db.schema_alerts import ALERT_AUDIT

ALERT_AUDIT_SHOWN_MAX: Limit[int] = 1_000
"""Bulk changes that the audit lists, newest first."""


INTERRUPTED = -1
"""Value of `changed` if the end of a change was not recorded: the server stopped during it."""


@dataclass(frozen=True, slots=True)
class AlertAudit:
    """Record of a bulk change of alerts."""

    id: int
    time_us: int
    user_id: int
    username: str
    selected: str
    """The query, or the number of ids."""
    changes: str
    """JSON of the assigned values."""
    changed: int
    """Alerts whose values differed before; or `INTERRUPTED`."""
    change_id: int


def begin(
    connection: Connection,
    *,
    time_us: int,
    user_id: int,
    username: str,
    selected: str,
    changes: str,
    change_id: int,
) -> int:
    """Records a change before it is made and returns the audit id."""
    values = {
        "time_us": time_us,
        "user_id": user_id,
        "username": username,
        "selected": selected,
        "changes": changes,
        "changed": INTERRUPTED,
        "change_id": change_id,
    }
    made: int = connection.execute(
        insert(ALERT_AUDIT).values(values).returning(ALERT_AUDIT.c.id)
    ).scalar_one()
    return made


def finish(connection: Connection, audit_id: int, changed: int) -> None:
    connection.execute(
        update(ALERT_AUDIT).where(ALERT_AUDIT.c.id == audit_id).values(changed=changed)
    )


def newest(connection: Connection) -> list[AlertAudit]:
    """Returns the bulk changes, newest first."""
    query = select(ALERT_AUDIT).order_by(ALERT_AUDIT.c.id.desc()).limit(ALERT_AUDIT_SHOWN_MAX)
    return [AlertAudit(**row) for row in connection.execute(query).mappings()]
