"""Permissions of the cloud side (docs/cloud.md#permissions), by their names on both platforms.

The access level of a native key writes `org.kits` with the operation EXECUTE; the identity platform
writes `_API.Device:org.Kits:execute`. Both are the permission `org.kits:execute` here. A user has a
permission in the sensor groups where the user's role is high enough.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from vedette.errors import BadRequestError
from vedette.model.principal import Principal, Role


@dataclass(frozen=True, slots=True)
class Permission:
    """A permission. `role` is the role that a user needs in a sensor group to have it there."""

    name: str
    platform_name: str
    role: Role
    what: str
    is_global: bool = False
    """Whether the permission belongs to no sensor group, so that only global administrators have it
    without a grant."""

    @property
    def reads(self) -> bool:
        """Whether the permission is read-only."""
        return self.name.endswith(":read")


_FORWARDER: Final = "event-forwarder.settings"


def _of_forwarders(operation: str, what: str) -> Permission:
    name = f"{_FORWARDER}:{operation}"
    return Permission(name, f"_API.Forwarder:{name}", Role.ADMINISTRATOR, what, is_global=True)


DEVICE_READ: Final = Permission(
    "device:read", "_API.Device:device:read", Role.VIEWER, "read devices and sensor-update jobs"
)
KITS_EXECUTE: Final = Permission(
    "org.kits:execute",
    "_API.Device:org.Kits:execute",
    Role.ADMINISTRATOR,
    "create and cancel sensor-update jobs",
)
ALERTS_READ: Final = Permission(
    "org.alerts:read", "_API.Alert:org.alerts:read", Role.VIEWER, "search and read alerts"
)
ALERTS_CLOSE: Final = Permission(
    "org.alerts.close:execute",
    "_API.Alert:org.alerts.close:execute",
    Role.ANALYST,
    "change the workflow of alerts",
)
NOTES_READ: Final = Permission(
    "org.alerts.notes:read", "_API.Alert:org.alerts.notes:read", Role.VIEWER, "read notes"
)
NOTES_CREATE: Final = Permission(
    "org.alerts.notes:create", "_API.Alert:org.alerts.notes:create", Role.ANALYST, "write notes"
)
NOTES_DELETE: Final = Permission(
    "org.alerts.notes:delete", "_API.Alert:org.alerts.notes:delete", Role.ANALYST, "delete notes"
)
JOBS_READ: Final = Permission(
    "jobs.status:read", "_API.Job:jobs.status:read", Role.VIEWER, "read the caller's jobs"
)
FORWARDERS_READ: Final = _of_forwarders("read", "read forwarders")
FORWARDERS_CREATE: Final = _of_forwarders("create", "create and test forwarders")
FORWARDERS_UPDATE: Final = _of_forwarders("update", "change forwarders")
FORWARDERS_DELETE: Final = _of_forwarders("delete", "delete forwarders")
_CONNECTORS: Final = tuple(
    Permission(
        f"connector:{kind}",
        f"_ConnectorType.{kind.upper()}",
        Role.ADMINISTRATOR,
        f"call integrationServices/v3 as {kind.upper()}",
        is_global=True,
    )
    for kind in ("siem", "api")
)

PERMISSIONS: Final[Mapping[str, Permission]] = {
    one.name: one
    for one in (
        DEVICE_READ,
        KITS_EXECUTE,
        ALERTS_READ,
        ALERTS_CLOSE,
        NOTES_READ,
        NOTES_CREATE,
        NOTES_DELETE,
        JOBS_READ,
        FORWARDERS_READ,
        FORWARDERS_CREATE,
        FORWARDERS_UPDATE,
        FORWARDERS_DELETE,
        *_CONNECTORS,
    )
}
"""All permissions by name."""

_NAMES: Final[Mapping[str, Permission]] = {
    name.lower(): one for one in PERMISSIONS.values() for name in (one.name, one.platform_name)
}


def permission_named(text: str) -> Permission:
    """Returns the permission for a name in any form and letter case: `org.kits:EXECUTE`, `org.kits
    EXECUTE`, `_API.Device:org.Kits:execute`. Raises BadRequestError if there is none."""
    found = _NAMES.get(":".join(text.strip().lower().split()))
    if found is None:
        raise BadRequestError(f"permissions: unknown permission {text[:80]!r}")
    return found


Groups = frozenset[int] | None
"""Ids of sensor groups; None for all, empty for none."""


def groups_with(principal: Principal, permission: Permission) -> Groups:
    """Returns the sensor groups in which a caller has a permission."""
    match principal.kind:
        case "app":
            granted = dict(principal.grants)
            return granted.get(permission.name, frozenset())
        case "user":
            if principal.is_global_admin:
                return None
            if permission.is_global:
                return frozenset()
            return frozenset(one for one, role in principal.roles if role >= permission.role)
        case "ingest" | "sensor":
            return frozenset()


def within_both(one: Groups, other: Groups) -> Groups:
    """Returns the intersection of two sets of sensor groups."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def has(principal: Principal, permission: Permission) -> bool:
    """Whether a caller has a permission in any group."""
    return groups_with(principal, permission) != frozenset()
