"""Authenticated callers, and the roles of users."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

PrincipalKind = Literal["user", "ingest", "sensor", "app"]


class Role(IntEnum):
    """Role of a team in a sensor group. Each role includes the rights of the lower roles."""

    NONE = 0
    VIEWER = 1
    ANALYST = 2
    ADMINISTRATOR = 3


ROLE_NAMES = {
    Role.NONE: "No Access",
    Role.VIEWER: "Viewer",
    Role.ANALYST: "Analyst",
    Role.ADMINISTRATOR: "Administrator",
}
"""`access_category` of a team's group access in the API (docs/clients.md#requests)."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The holder of a token. `kind` is `user` for people and their tools; `ingest` for senders,
    which may only send telemetry into `group_id`; `sensor` for an enrolled sensor, which may only
    report about itself; `app` for an OAuth app or native key of the cloud side, which may only do
    what its permissions allow."""

    kind: PrincipalKind
    name: str
    """Name of the user, ingest token or app, or the host name of the sensor."""
    token_id: str
    is_global_admin: bool = False
    group_id: int = 0
    """Sensor group of an ingest token or a sensor; 0 for users."""
    roles: tuple[tuple[int, Role], ...] = ()
    """Highest role by sensor group id, ascending, without groups of no access. Ignored for global
    administrators, who have every role everywhere."""
    sensor_id: int = 0
    """Id of the sensor; 0 for other callers."""
    is_read_only: bool = False
    """Whether the token is read-only, whatever its user may change."""
    is_session: bool = False
    """Whether the caller is a signed-in browser. Only the session cookie is a credential then."""
    role_everywhere: Role = Role.NONE
    """Role that the caller has, at least, in every existing sensor group."""
    grants: tuple[tuple[str, frozenset[int] | None], ...] = ()
    """For apps: names of permissions (`rights/permission.py`), each with the ids of its sensor
    groups; None for all groups."""

    def role_in(self, group_id: int) -> Role:
        """Returns the caller's role in a sensor group."""
        if self.is_global_admin:
            return Role.ADMINISTRATOR
        return dict(self.roles).get(group_id, Role.NONE)

    @property
    def highest_role(self) -> Role:
        """The role for rights "in any group" (docs/api-authorization.md#who-may-call-what)."""
        if self.is_global_admin:
            return Role.ADMINISTRATOR
        return max((role for _, role in self.roles), default=Role.NONE)

    @property
    def visible_groups(self) -> frozenset[int] | None:
        """Ids of the sensor groups that the caller may read; None for all."""
        if self.is_global_admin:
            return None
        return frozenset(group_id for group_id, role in self.roles if role >= Role.VIEWER)
