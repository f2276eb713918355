"""Authorization of changes: the single check whether a caller may change a managed object.

The API and the console call `may` or `require` for every change. A `Managed` value names the scope
of a change: its sensor groups, all sensors, or an owner. A change that affects what a group
detects, receives, sees or blocks needs the role in every affected group. Global administrators may
change everything. Read access is governed by the caller's scope: look the object up in the scope
first, so that a hidden object yields 404 and never 403.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from vedette.errors import ForbiddenError
from vedette.model.principal import ROLE_NAMES, Principal, Role
from vedette.model.rights import permission
from vedette.model.rights.permission import Groups, Permission, groups_with

GLOBAL_ADMINISTRATOR: Final = "a global administrator"


@dataclass(frozen=True, slots=True)
class Managed:
    """The properties of a managed object that authorization needs."""

    groups: frozenset[int] = frozenset()
    """Ids of the sensor groups that a change affects."""
    is_everywhere: bool = False
    """Whether a change affects every sensor group, including groups created later."""
    owner: str | None = None
    """Name of the user who owns the object and needs no role for it; "" for an owner other than the
    caller. None for an object without an owner."""


EVERYWHERE: Final = Managed(is_everywhere=True)
"""An object that affects all sensors, such as a Sigma rule, or belongs to the whole server."""


def of_groups(*group_ids: int) -> Managed:
    """Returns an object of these sensor groups."""
    return Managed(frozenset(group_ids))


def owned_by(username: str) -> Managed:
    """Returns a personal object of a user."""
    return Managed(owner=username)


@dataclass(frozen=True, slots=True)
class Need:
    """Requirements of a deed."""

    words: str
    """An infinitive without "to", for error messages."""
    role: Role | None = None
    """Role that a user needs in every affected sensor group; None if only global administrators
    may."""
    permission: Permission | None = None
    """Permission that an app of the cloud side needs in every affected group; None if no app
    may."""


class Deed(Enum):
    """Changes of managed objects that need authorization."""

    CHANGE_WATCHLIST = Need("change this watchlist", Role.ANALYST)
    CHANGE_READ_ONLY_WATCHLIST = Need("change this read-only watchlist")
    CHANGE_SOURCE_ACTION = Need("change an action that belongs to its source", Role.ANALYST)
    CHANGE_OWN_ACTION = Need("change an action of another user")
    CHANGE_RECIPIENTS = Need("change the destination of an action that belongs to its source")
    CHANGE_ACTION_OF_ALL_SOURCES = Need("change an action of all sources")
    CHANGE_RULES = Need("change Sigma rules")
    CHANGE_PLACEHOLDERS = Need("change placeholders of Sigma rules")
    CHANGE_FEEDS = Need("change feeds")
    IGNORE_REPORTS = Need("ignore reports for all sensor groups")
    CHANGE_FILTERS = Need("change ingress filters")
    CHANGE_SUPPRESSIONS = Need("change suppressions for all sensor groups")
    CHANGE_YARA_RULES = Need("change YARA rules")
    CHANGE_RESPONSE_POLICIES = Need("change response policies")
    BAN = Need("change bans on all hosts", Role.ANALYST)
    TRIAGE = Need("change this alert", Role.ANALYST, permission.ALERTS_CLOSE)
    TRIAGE_UNCOUNTED = Need(
        "change many alerts at once without `expected`, the count from a `dry_run`"
    )
    WRITE_NOTE = Need("write notes on this alert", Role.ANALYST, permission.NOTES_CREATE)
    DELETE_NOTE = Need("delete notes on this alert", Role.ANALYST, permission.NOTES_DELETE)
    ORDER_SENSOR = Need("change this sensor", Role.ANALYST)
    UNINSTALL_SENSOR = Need("uninstall this sensor", Role.ADMINISTRATOR)
    MOVE_SENSOR = Need("move this sensor", Role.ADMINISTRATOR)
    UPDATE_SENSORS = Need("update these devices", Role.ADMINISTRATOR, permission.KITS_EXECUTE)
    DECIDE_ENROLMENT = Need("approve or reject this re-enrollment", Role.ADMINISTRATOR)
    FETCH_INSTALLER = Need("download installers, which contain a secret", Role.ADMINISTRATOR)
    ASK_HOST = Need("run live queries on this host", Role.ANALYST)
    ORDER_BINARY = Need("request files from its hosts", Role.ANALYST)
    ADD_BINARY = Need("upload the file of a binary")
    CHANGE_GROUPS = Need("change sensor groups")
    CHANGE_SITES = Need("change sites")
    CHANGE_HOST_ALIASES = Need("change aliases of hosts")
    DECIDE_HOST_NAME = Need("decide which group owns a host name")
    CHANGE_USERS = Need("change users")
    CHANGE_TEAMS = Need("change teams")
    CHANGE_TOKEN = Need("issue or revoke tokens of other users")
    CHANGE_SAVED_SEARCH = Need("delete a saved search of another user")
    CHANGE_IDENTITIES = Need("change identity providers and identities")
    CHANGE_APPS = Need("change apps, keys and their roles")
    CHANGE_APPROVED_LIST = Need("change the approved list")
    CHANGE_LICENSE = Need("change the license")
    CHANGE_APP_CONTROL = Need("change the application-control server")
    CHANGE_OUTBOX = Need("change the outbox")
    CHANGE_PARTITIONS = Need("change time partitions")
    CHANGE_SNAPSHOTS = Need("create and delete snapshots for backups")
    CREATE_FORWARDER = Need("add and test forwarders", None, permission.FORWARDERS_CREATE)
    UPDATE_FORWARDER = Need("change forwarders", None, permission.FORWARDERS_UPDATE)
    DELETE_FORWARDER = Need("delete forwarders", None, permission.FORWARDERS_DELETE)

    @property
    def is_global(self) -> bool:
        """Whether users need to be global administrators, whatever the object is."""
        return self.value.role is None


def may(caller: Principal, deed: Deed, managed: Managed) -> bool:
    """Whether a caller may perform a deed on a managed object. Always False for read-only
    tokens."""
    need = deed.value
    if caller.is_read_only:
        return False
    if caller.kind == "app":
        granted = None if need.permission is None else groups_with(caller, need.permission)
        return need.permission is not None and _is_within(managed, granted)
    if caller.kind != "user":
        return False
    if caller.is_global_admin:
        return True
    if managed.owner is not None:
        return managed.owner == caller.name
    if need.role is None:
        return False
    if managed.is_everywhere:
        return caller.role_everywhere >= need.role
    return _is_within(managed, _groups_of(caller, need.role))


def require(caller: Principal, deed: Deed, managed: Managed) -> None:
    """Raises ForbiddenError, which names the role and the sensor groups that the caller lacks."""
    if not may(caller, deed, managed):
        who = needed(deed, managed, caller)
        raise ForbiddenError(f"{caller.name} must be {who} to {deed.value.words}")


def needed(deed: Deed, managed: Managed, caller: Principal | None = None) -> str:
    """Describes who may perform a deed. Omits the groups if `caller` has no role in some of them,
    because such groups must stay hidden from the caller."""
    role = deed.value.role
    if role is None or managed.owner is not None:
        return GLOBAL_ADMINISTRATOR
    if managed.is_everywhere:
        return f"{ROLE_NAMES[role]} in every sensor group, or {GLOBAL_ADMINISTRATOR}"
    known = sorted(managed.groups)
    if not known or caller is None or any(caller.role_in(one) < Role.VIEWER for one in known):
        return f"{ROLE_NAMES[role]} in every affected sensor group"
    groups = "sensor group" if len(known) == 1 else "sensor groups"
    return f"{ROLE_NAMES[role]} in {groups} {', '.join(map(str, known))}"


def groups_where(caller: Principal, deed: Deed) -> Groups:
    """Returns the sensor groups on whose objects a caller may perform a deed; None for all,
    including groups created later."""
    need = deed.value
    if caller.is_read_only:
        return frozenset()
    if caller.kind == "app" and need.permission is not None:
        return groups_with(caller, need.permission)
    if caller.is_global_admin and caller.kind == "user":
        return None
    if caller.kind != "user" or need.role is None:
        return frozenset()
    return _groups_of(caller, need.role)


def _groups_of(caller: Principal, role: Role) -> frozenset[int]:
    return frozenset(group_id for group_id, held in caller.roles if held >= role)


def _is_within(managed: Managed, granted: Groups) -> bool:
    if granted is None:
        return True
    return not managed.is_everywhere and bool(managed.groups) and managed.groups <= granted
