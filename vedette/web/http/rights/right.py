"""Access requirements. Each route names its requirement next to its path (`router.py`).

A requirement is a `Right`, a `Permission` of the cloud API, or a `Deed` for a change to the whole
server, which only global administrators may make. Handlers authorize changes to a single object
once they have loaded it (`vedette/model/rights/authorization.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from vedette.model.rights.authorization import Deed
from vedette.model.rights.permission import Permission


class Right(Enum):
    """Requirement that a caller must meet."""

    PERMISSION = auto()
    """A permission of the cloud API (docs/cloud.md#permissions). Through such a route, callers see
    only the sensor groups in which they hold the permission."""
    OPEN = auto()
    """No requirement: credentials are ignored."""
    IN_BODY = auto()
    """A secret in the body, which the handler checks (`credential_bodies`)."""
    HANDSHAKE = auto()
    """Like `SEND`, but browsers, which accept text/html, are redirected without a token."""
    SENSOR = auto()
    """An enrolled sensor with its own key (docs/sensor-protocol.md)."""
    SEND = auto()
    """An ingest token, or a global administrator."""
    READ = auto()
    """Any user, who sees only data within their scope."""
    VIEW = auto()
    """A user with a role in any sensor group, for data that belongs to no group."""
    ACT = auto()
    """A user who is Analyst or Administrator in any sensor group. The route checks the role in the
    group concerned."""
    ADMINISTER_GROUP = auto()
    """An Administrator of any sensor group. The route checks the role in the group concerned."""
    ADMINISTER = auto()
    """A global administrator."""


Requirement = Right | Permission | Deed

_PEOPLE: Final = frozenset({Right.READ, Right.VIEW, Right.ACT, Right.ADMINISTER})
"""Rights whose GET routes return no secret. Those of `ADMINISTER_GROUP` return enrollment
secrets."""

_DEEDS: Final[Mapping[Permission, Deed]] = {
    deed.value.permission: deed for deed in Deed if deed.is_global and deed.value.permission
}


@dataclass(frozen=True, slots=True)
class Access:
    """The requirement of a route, and whether its calls change anything."""

    right: Right
    permission: Permission | None = None
    """Permission for `Right.PERMISSION`."""
    deed: Deed | None = None
    """Deed for a change to the whole server."""
    reads_only: bool = False
    """Whether a call changes nothing and returns no secret, so that a read-only token may make
    it."""
    is_noted: bool = False
    """Whether a call is recorded in the audit log although it changes nothing."""


def access_of(
    requirement: Requirement, method: str, *, reads: bool = False, is_noted: bool = False
) -> Access:
    """Returns the access rules of a route.

    `reads` marks routes whose calls change nothing although the method suggests it. Raises
    ValueError if a route changes the whole server and names no deed.
    """
    is_read = reads or method in ("GET", "HEAD")
    match requirement:
        case Permission():
            changes = requirement.is_global and not requirement.reads
            deed = _DEEDS[requirement] if changes else None
            return Access(Right.PERMISSION, requirement, deed, requirement.reads, is_noted)
        case Deed():
            return Access(Right.ADMINISTER, None, requirement, reads, is_noted)
        case Right.ADMINISTER if not is_read:
            raise ValueError("a change of what belongs to the whole server names its deed")
        case Right():
            return Access(requirement, None, None, is_read and requirement in _PEOPLE, is_noted)
