"""The audit of bulk changes of alerts: who changed how many, which, and what they became."""

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from vedette.limits import ALERT_AUDIT_SHOWN_MAX
from vedette.state.db.schema_alerts import ALERT_AUDIT

INTERRUPTED = -1
"""`changed` of a change whose end was not recorded: the server was stopped during it."""


@dataclass(frozen=True, slots=True)
class AlertAudit:
    """One bulk change."""

    id: int
    time_us: int
    user_id: int
    username: str
    selected: str
    """The query, or how many ids."""
    changes: str
    """JSON of what was set."""
    changed: int
    """Alerts that were not so already; `INTERRUPTED`."""
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
    """Records a change before it is made; its id."""
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
    """The newest first."""
    query = select(ALERT_AUDIT).order_by(ALERT_AUDIT.c.id.desc()).limit(ALERT_AUDIT_SHOWN_MAX)
    return [AlertAudit(**row) for row in connection.execute(query).mappings()]
