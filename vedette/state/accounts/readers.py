"""Recipients of notifications: whether a user who makes no request may see a host."""

from sqlalchemy import Connection, select

from vedette.state.accounts import teams
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR, USER


def may_see(database: Database, user_id: int, sensor_id: int) -> bool:
    """Whether an enabled user may currently see a sensor's host. Only global administrators see
    objects without a host (sensor id 0)."""
    with database.reading() as connection:
        return _may_see(connection, user_id, sensor_id)


def mail_address(database: Database, user_id: int, sensor_id: int) -> str:
    """Returns the mail address of a user who may see the host; "" if the user may not, or has no
    address."""
    with database.reading() as connection:
        if not _may_see(connection, user_id, sensor_id):
            return ""
        return connection.scalar(select(USER.c.email).where(USER.c.id == user_id)) or ""


def own_address(database: Database, user_id: int) -> str:
    """Returns the mail address of an enabled user, for messages without a host; "" if there is
    none."""
    query = select(USER.c.email).where(USER.c.id == user_id, USER.c.enabled.is_(True))
    with database.reading() as connection:
        return connection.scalar(query) or ""


def _may_see(connection: Connection, user_id: int, sensor_id: int) -> bool:
    """Applies the rule that authorizes the user's requests, so that both always agree."""
    query = select(USER.c.global_admin).where(USER.c.id == user_id, USER.c.enabled.is_(True))
    is_global_admin = connection.scalar(query)
    if is_global_admin is None or is_global_admin:
        return bool(is_global_admin)
    group_id = connection.scalar(select(SENSOR.c.group_id).where(SENSOR.c.id == sensor_id))
    return any(group == group_id for group, _ in teams.roles_of(connection, user_id))
