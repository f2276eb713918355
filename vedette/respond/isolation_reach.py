"""Preview of an isolation: hosts that it reaches at once, and addresses that remain reachable for
them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vedette.record.objects.sensor_group import IsolationExclusion
from vedette.state.db.database import Database
from vedette.state.policy import groups
from vedette.state.sensors.sensor_row import SensorRow, is_online


@dataclass(frozen=True, slots=True)
class IsolationReach:
    """Effect of an order to isolate hosts."""

    online: int
    """Hosts that currently check in: they follow within an interval, others when they return."""
    isolated: int
    """Hosts that are already isolated, or ordered to be."""
    allowed: Mapping[str, Sequence[str]]
    """Maps group name to the addresses that its isolated hosts can still reach, besides this
    server."""


def isolation_reach(
    database: Database, rows: Sequence[SensorRow], always: Sequence[str], now_us: int
) -> IsolationReach:
    """Returns the effect of isolating the hosts. `always` are the addresses that the settings allow
    for every isolated host."""
    known = {one.group_id: one.group_name for one in rows}
    exclusions = {
        group_id: groups.get(database, group_id).options.isolation_exclusions for group_id in known
    }
    return IsolationReach(
        online=sum(is_online(one, now_us) for one in rows),
        isolated=sum(one.network_isolation_enabled for one in rows),
        allowed={name: allowed(always, exclusions[group_id]) for group_id, name in known.items()},
    )


def allowed(always: Sequence[str], exclusions: Sequence[IsolationExclusion]) -> list[str]:
    """Returns the addresses that an isolated host can reach besides the server, as `address` or
    `address:port`: from the server's settings and the exclusions of its group."""
    return [*always, *(one.ip_address for one in exclusions if one.enabled)]
