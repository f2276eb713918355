"""Effective rights of a user: the hosts that the user may currently see, and the roles there."""

from typing import Any

from sqlalchemy import func, select

from vedette.model.principal import ROLE_NAMES, Role
from vedette.state.accounts import teams, users
from vedette.state.db.database import Database
from vedette.state.db.schema import GROUP, SENSOR


def effective_rights(database: Database, username: str) -> dict[str, Any]:
    """Returns the groups in which the user has a role, with their numbers of hosts, sorted by name.
    A global administrator is Administrator in all groups; a disabled user has no groups. Raises
    NotFoundError."""
    user = users.get(database, username)
    with database.reading() as connection:
        roles = dict(teams.roles_of(connection, user.id))
        counted = (
            select(GROUP.c.id, GROUP.c.name, func.count(SENSOR.c.id))
            .select_from(GROUP)
            .outerjoin(SENSOR, SENSOR.c.group_id == GROUP.c.id)
            .group_by(GROUP.c.id, GROUP.c.name)
            .order_by(GROUP.c.name)
        )
        known = connection.execute(counted).all()
    if user.is_global_admin:
        roles = {group_id: Role.ADMINISTRATOR for group_id, _, _ in known}
    if not user.is_enabled:
        roles = {}
    seen = [row for row in known if roles.get(row[0], Role.NONE) >= Role.VIEWER]
    return {
        "username": user.username,
        "enabled": user.is_enabled,
        "global_admin": user.is_global_admin,
        "teams": [name for _, name in user.teams],
        "groups": [
            {
                "group_id": group_id,
                "name": name,
                "role": ROLE_NAMES[roles[group_id]],
                "hosts": hosts,
            }
            for group_id, name, hosts in seen
        ],
        "hosts": sum(hosts for _, _, hosts in seen),
        "all_hosts": sum(hosts for _, _, hosts in known),
        "unseen_groups": [name for group_id, name, _ in known if group_id not in roles],
    }
