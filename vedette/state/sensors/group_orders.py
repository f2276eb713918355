"""Settings and orders that sensors get from their group, read once for a batch of check-ins."""

from collections.abc import Collection
from dataclasses import dataclass, fields
from functools import lru_cache

from sqlalchemy import Connection, bindparam, select

from vedette.limits import Limit
from vedette.record.objects.sensor_group import GroupOptions
from vedette.state.db.schema import GROUP, VALUE
from vedette.state.policy.group_options import options_of
from vedette.state.sensors.sensor_packages import OS_TYPES, package_name

GROUP_SETTINGS_CACHED_MAX: Limit[int] = 1_024
"""Cached groups with parsed options; a server has fewer groups."""


MARKED: tuple[str, ...] = (
    "ban_version",
    "ingress_filter_version",
    *(package_name(os_type) for os_type in OS_TYPES),
)
"""Stored values that change with the lists that sensors fetch."""

_COLLECT = "collect_"
_QUOTA = "quota_"
_VERSION = "sensor_version_"


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """The options of a group that its sensors apply."""

    interval_s: int = 0
    """Check-in interval (s); 0: the server's setting."""
    not_collected: tuple[str, ...] = ()
    """Kinds of events that are not collected: options `collect_*` that are off, without the
    prefix."""
    quotas: tuple[tuple[str, int], ...] = ()
    """The options `quota_*`, without the prefix."""
    versions: tuple[tuple[str, str], ...] = ()
    """The options `sensor_version_*`, by operating system."""


@dataclass(frozen=True, slots=True)
class GroupOrders:
    """The orders of one group."""

    mark: str = ""
    """Changes whenever a list that its sensors fetch may have changed."""
    settings: GroupSettings = GroupSettings()


def group_orders(connection: Connection, group_ids: Collection[int]) -> dict[int, GroupOrders]:
    """Maps group id to orders. The mark combines the versions of lists and packages with the
    group's row."""
    kept = [tuple(row) for row in connection.execute(_KEPT_VALUES)]
    rows = connection.execute(_GROUPS, {"groups": sorted(group_ids)})
    return {row.id: GroupOrders(f"{tuple(row)} {kept}", settings_of(row.options)) for row in rows}


@lru_cache(maxsize=GROUP_SETTINGS_CACHED_MAX)
def settings_of(text: str) -> GroupSettings:
    """Returns the sensor settings in the stored options of a group."""
    options = options_of(text)
    names = [one.name for one in fields(GroupOptions)]
    return GroupSettings(
        options.checkin_interval_s,
        tuple(
            name.removeprefix(_COLLECT)
            for name in names
            if name.startswith(_COLLECT) and not getattr(options, name)
        ),
        tuple(
            (name.removeprefix(_QUOTA), getattr(options, name))
            for name in names
            if name.startswith(_QUOTA)
        ),
        tuple(
            (name.removeprefix(_VERSION), getattr(options, name))
            for name in names
            if name.startswith(_VERSION)
        ),
    )


_KEPT_VALUES = (
    select(VALUE.c.name, VALUE.c.value).where(VALUE.c.name.in_(MARKED)).order_by(VALUE.c.name)
)
_GROUPS = select(GROUP).where(GROUP.c.id.in_(bindparam("groups", expanding=True)))
