"""Who may be notified of a host: the scope of a user who is not making a request."""

from sqlalchemy import Connection, exists, or_, select

from vedette.model.principal import Role
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR, TEAM_ACCESS, TEAM_MEMBER, USER


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
    of_a_team = exists(
        select(TEAM_MEMBER.c.user_id)
        .join(TEAM_ACCESS, TEAM_ACCESS.c.team_id == TEAM_MEMBER.c.team_id)
        .join(SENSOR, SENSOR.c.group_id == TEAM_ACCESS.c.group_id)
        .where(
            TEAM_MEMBER.c.user_id == user_id,
            TEAM_ACCESS.c.role >= Role.VIEWER,
            SENSOR.c.id == sensor_id,
        )
    )
    query = select(USER.c.id).where(
        USER.c.id == user_id, USER.c.enabled.is_(True), or_(USER.c.global_admin, of_a_team)
    )
    return connection.scalar(query) is not None
