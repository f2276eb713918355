"""Teams: roles for users in sensor groups (docs/clients.md#requests, users and teams)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select, update

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.model.principal import Role
from vedette.state.db.database import Database
from vedette.state.db.key_values import keep_last_id, unused_id
from vedette.state.db.schema import GROUP, TEAM, TEAM_ACCESS, TEAM_MEMBER
from vedette.state.policy.groups import checked_name


@dataclass(frozen=True, slots=True)
class Access:
    """A team's role in one sensor group."""

    group_id: int
    group_name: str
    role: Role


@dataclass(frozen=True, slots=True)
class Team:
    """A team with its roles, sorted by group id."""

    id: int
    name: str
    access: tuple[Access, ...]
    is_enabled: bool = True
    """A disabled team gives no roles; its members and roles stay stored."""

    @property
    def roles(self) -> dict[int, Role]:
        """Maps group id to role."""
        return {one.group_id: one.role for one in self.access}


def add(database: Database, name: str, access: Mapping[int, Role]) -> Team:
    """Creates a team. Raises ConflictError for a name that is taken, BadRequestError for an unknown
    group."""
    checked_name(name)
    with database.writing() as connection:
        if connection.scalar(select(TEAM.c.id).where(TEAM.c.name == name)) is not None:
            raise ConflictError(f"team {name!r} already exists")
        _check_groups(connection, access)
        team_id: int = connection.execute(
            insert(TEAM).values(name=name, **unused_id(connection, TEAM)).returning(TEAM.c.id)
        ).scalar_one()
        _set_access(connection, team_id, access)
        return next(team for team in _teams(connection) if team.id == team_id)


def change(
    database: Database,
    team_id: int,
    *,
    name: str | None = None,
    access: Mapping[int, Role] | None = None,
    is_enabled: bool | None = None,
) -> Team:
    """Renames a team, replaces its roles, disables or enables it; None leaves a value unchanged.

    Raises NotFoundError, ConflictError for a name that is taken, BadRequestError for an unknown
    group.
    """
    with database.writing() as connection:
        if connection.scalar(select(TEAM.c.id).where(TEAM.c.id == team_id)) is None:
            raise NotFoundError(f"team {team_id} not found")
        if name is not None:
            checked_name(name)
            taken = select(TEAM.c.id).where(TEAM.c.name == name, TEAM.c.id != team_id)
            if connection.scalar(taken) is not None:
                raise ConflictError(f"team {name!r} already exists")
            connection.execute(update(TEAM).where(TEAM.c.id == team_id).values(name=name))
        if is_enabled is not None:
            changed = update(TEAM).where(TEAM.c.id == team_id).values(enabled=is_enabled)
            connection.execute(changed)
        if access is not None:
            _check_groups(connection, access)
            connection.execute(delete(TEAM_ACCESS).where(TEAM_ACCESS.c.team_id == team_id))
            _set_access(connection, team_id, access)
        return next(team for team in _teams(connection) if team.id == team_id)


def named(database: Database, name: str) -> Team:
    """Returns the team with this exact name. Raises NotFoundError."""
    for team in all_teams(database):
        if team.name == name:
            return team
    raise NotFoundError(f"team {name!r} not found")


def all_teams(database: Database) -> list[Team]:
    """Returns all teams, sorted by id."""
    with database.reading() as connection:
        return _teams(connection)


def get(database: Database, team_id: int) -> Team:
    """Returns the team with this id. Raises NotFoundError."""
    for team in all_teams(database):
        if team.id == team_id:
            return team
    raise NotFoundError(f"team {team_id} not found")


def remove(database: Database, team_id: int) -> None:
    """Deletes a team. Its members remain users, without its roles. Raises NotFoundError."""
    with database.writing() as connection:
        keep_last_id(connection, TEAM)
        if not connection.execute(delete(TEAM).where(TEAM.c.id == team_id)).rowcount:
            raise NotFoundError(f"team {team_id} not found")


def roles_of(connection: Connection, user_id: int) -> tuple[tuple[int, Role], ...]:
    """Returns (group id, highest role) of a user from enabled teams, sorted by group id. Groups
    without a role are omitted."""
    rows = connection.execute(
        select(TEAM_ACCESS.c.group_id, TEAM_ACCESS.c.role)
        .join(TEAM_MEMBER, TEAM_MEMBER.c.team_id == TEAM_ACCESS.c.team_id)
        .join(TEAM, TEAM.c.id == TEAM_ACCESS.c.team_id)
        .where(TEAM_MEMBER.c.user_id == user_id, TEAM.c.enabled.is_(True))
    )
    highest: dict[int, Role] = {}
    for group_id, role in rows:
        highest[group_id] = max(Role(role), highest.get(group_id, Role.NONE))
    return tuple(sorted((group, role) for group, role in highest.items() if role > Role.NONE))


def role_everywhere(connection: Connection, roles: Iterable[tuple[int, Role]]) -> Role:
    """Returns the lowest of `roles` over all existing sensor groups; a group without a role counts
    as `Role.NONE`."""
    held = dict(roles)
    groups = connection.scalars(select(GROUP.c.id))
    return min((held.get(one, Role.NONE) for one in groups), default=Role.NONE)


def _check_groups(connection: Connection, access: Mapping[int, Role]) -> None:
    known = set(connection.scalars(select(GROUP.c.id).where(GROUP.c.id.in_(set(access)))))
    if unknown := set(access) - known:
        raise BadRequestError(f"sensor group {min(unknown)} not found")


def _set_access(connection: Connection, team_id: int, access: Mapping[int, Role]) -> None:
    rows = [
        {"team_id": team_id, "group_id": group_id, "role": int(role)}
        for group_id, role in sorted(access.items())
    ]
    if rows:
        connection.execute(insert(TEAM_ACCESS), rows)


def _teams(connection: Connection) -> list[Team]:
    access: dict[int, list[Access]] = {}
    query = select(TEAM_ACCESS, GROUP.c.name).join(GROUP).order_by(TEAM_ACCESS.c.group_id)
    for row in connection.execute(query).mappings():
        found = Access(row["group_id"], row["name"], Role(row["role"]))
        access.setdefault(row["team_id"], []).append(found)
    teams = connection.execute(select(TEAM).order_by(TEAM.c.id)).mappings()
    return [
        Team(team["id"], team["name"], tuple(access.get(team["id"], ())), team["enabled"])
        for team in teams
    ]
