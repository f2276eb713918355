"""What the isolation of hosts would do: which of them it reaches at once, and what they may still
speak to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vedette.model.group import IsolationExclusion
from vedette.state.db.database import Database
from vedette.state.policy import groups
from vedette.state.sensors.sensor_row import SensorRow, is_online


@dataclass(frozen=True, slots=True)
class IsolationReach:
    """What an order to isolate some hosts would do."""

    online: int
    """Hosts that check in now: they follow within an interval, others when they come back."""
    isolated: int
    """Hosts that are isolated already, or ordered to be."""
    allowed: Mapping[str, Sequence[str]]
    """By name of the group: addresses that its hosts may still reach, apart from this server."""


def isolation_reach(
    database: Database, rows: Sequence[SensorRow], always: Sequence[str], now_us: int
) -> IsolationReach:
    """`always` are the addresses that the settings allow every isolated host."""
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
    """What an isolated host may still reach, apart from the server: `address` or `address:port`,
    from the server's settings and its group's exclusions."""
    return [*always, *(one.ip_address for one in exclusions if one.enabled)]
