"""Who may be notified of a host: the scope of a user who is not making a request."""

from sqlalchemy import Connection, select

from vedette.state.accounts import teams
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR, USER


def may_see(database: Database, user_id: int, sensor_id: int) -> bool:
    """Whether an enabled user may see a sensor's host now. What belongs to no host (0) is for
    global administrators."""
    with database.reading() as connection:
        return _may_see(connection, user_id, sensor_id)


def mail_address(database: Database, user_id: int, sensor_id: int) -> str:
    """The address of a user who may see the host; "" where they may not, or have none."""
    with database.reading() as connection:
        if not _may_see(connection, user_id, sensor_id):
            return ""
        return connection.scalar(select(USER.c.email).where(USER.c.id == user_id)) or ""


def own_address(database: Database, user_id: int) -> str:
    """The address of an enabled user, for what is about no host; "" where they have none."""
    query = select(USER.c.email).where(USER.c.id == user_id, USER.c.enabled.is_(True))
    with database.reading() as connection:
        return connection.scalar(query) or ""


def _may_see(connection: Connection, user_id: int, sensor_id: int) -> bool:
    """Asks what a request of the user would ask, so that both have one answer."""
    query = select(USER.c.global_admin).where(USER.c.id == user_id, USER.c.enabled.is_(True))
    is_global_admin = connection.scalar(query)
    if is_global_admin is None or is_global_admin:
        return bool(is_global_admin)
    group_id = connection.scalar(select(SENSOR.c.group_id).where(SENSOR.c.id == sensor_id))
    return any(group == group_id for group, _ in teams.roles_of(connection, user_id))
