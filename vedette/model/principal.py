"""Who makes a request, as a value: what authentication found out, and roles ask for."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

PrincipalKind = Literal["user", "ingest", "sensor", "app"]


class Role(IntEnum):
    """What a team may do in a sensor group; a higher role may all that a lower one may."""

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
"""`access_category` of a team's group access on the wire (docs/clients.md#requests)."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The holder of a token. `kind` is `user` for people and their tools, `ingest` for senders,
    which may send telemetry into `group_id` and nothing else, `sensor` for an enrolled sensor,
    which may speak of itself and nothing else, `app` for an OAuth app or native key of the cloud
    side, which may do what its permissions say and nothing else."""

    kind: PrincipalKind
    name: str
    """User name, the name of the ingest token or app, or the host name of the sensor."""
    token_id: str
    is_global_admin: bool = False
    group_id: int = 0
    """Sensor group of an ingest token or a sensor; 0 for users."""
    roles: tuple[tuple[int, Role], ...] = ()
    """Highest role by sensor group id, ascending; without those of no access. Global
    administrators have every role everywhere, whatever stands here."""
    sensor_id: int = 0
    """Which sensor it is; 0 for all others."""
    is_read_only: bool = False
    """Whether it is a token that changes nothing, whatever its user may."""
    is_session: bool = False
    """Whether it is a browser that signed in: only its cookie is a credential then."""
    grants: tuple[tuple[str, frozenset[int] | None], ...] = ()
    """Of an app: names of permissions (`permission.py`), each with the sensor groups that it holds
    in; None for all."""

    def role_in(self, group_id: int) -> Role:
        """The role in one sensor group."""
        if self.is_global_admin:
            return Role.ADMINISTRATOR
        return dict(self.roles).get(group_id, Role.NONE)

    @property
    def highest_role(self) -> Role:
        """The role that counts where docs/http-api.md#who-may-call-what says "in any group"."""
        if self.is_global_admin:
            return Role.ADMINISTRATOR
        return max((role for _, role in self.roles), default=Role.NONE)

    @property
    def visible_groups(self) -> frozenset[int] | None:
        """Ids of the sensor groups that may be seen; None for all."""
        if self.is_global_admin:
            return None
        return frozenset(group_id for group_id, role in self.roles if role >= Role.VIEWER)
