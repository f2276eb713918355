"""Sensors, their hosts, and the cluster shards that store them, as values.

All telemetry of a sensor is on one shard, so that processes stay whole there. Added shards receive
only new sensors; each range of sensor ids has its own list of shards. The map is stored in the
state database (`state/sensors/sensor_shards.py`) and in the definitions of the Distributed tables
(`store/engine/shard_routing.py`).
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

UTC_CLOCK: Final = 1_441
"""`host_clock` of a host in UTC. The column stores this value plus the minutes ahead of UTC, so
that a known offset is never 0. 0 means unknown and is read as UTC (metadata merges by maximum)."""


def minutes_ahead(host_clock: int) -> int:
    """Returns how far local time is ahead of UTC (minutes) for a value of the column
    `host_clock`."""
    return host_clock - UTC_CLOCK if host_clock else 0


@dataclass(frozen=True, slots=True)
class SensorRef:
    """Attributes of a sensor that the write path needs."""

    id: int
    hostname: str
    """Full host name, lower case: the key of a sensor (docs/api-hosts.md)."""
    group_id: int
    group_name: str
    os_type: str
    """windows, linux or osx; "" until a record reports it."""
    utc_offset_min: int = 0
    """Minutes by which the host's local time is ahead of UTC; 0 until the sensor reports it."""
    takes_filters: bool = False
    """Whether the sensor is a Vedette program that applies `filter_on_sensor` filters itself."""
    host_type: str = ""
    """workstation, server or domain_controller; "" until the sensor reports it."""
    addresses: str = ""
    """Addresses of the network interfaces, separated by `|`, as reported by the sensor or osquery;
    "" for hosts without an enrolled program."""
    computer_sid: str = ""
    """SID of the host; "" until a program or record reports it."""
    network_adapters: str = ""
    """`addresses` with their hardware addresses (docs/api-objects.md#sensor)."""
    filtering_known_dlls: bool = False
    """Whether filters of the group drop loads of known DLLs (`record/group_filters.py`)."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """Attributes of a new host from its first records."""

    os_type: str = ""
    """windows, linux or osx; "" if the records do not tell."""


@dataclass(frozen=True, slots=True)
class HostProcess:
    """A process in the context of a host. Times are epoch microseconds."""

    sensor_id: int
    process_id: str
    pid: int
    start_us: int
    end_us: int
    path: str
    md5: str
    sha256: str
    username: str
    parent_id: str


@dataclass(frozen=True, slots=True, order=True)
class ShardRange:
    """A range of sensor ids from `first_sensor_id` on, distributed over `shards` round-robin."""

    first_sensor_id: int
    shards: tuple[int, ...]
    """Shard numbers, starting at 1."""

    def __post_init__(self) -> None:
        if not self.shards or min(self.shards) < 1:
            raise ValueError(f"{self.shards} is not a number of shards")


@dataclass(frozen=True, slots=True)
class ShardMap:
    """Maps sensors to shards: ranges in ascending order, the first from 0 on, and individually
    moved sensors."""

    ranges: tuple[ShardRange, ...]
    moved: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        firsts = [one.first_sensor_id for one in self.ranges]
        if not firsts or firsts[0] or firsts != sorted(set(firsts)):
            raise ValueError(f"ranges of sensors begin at {firsts}")

    def shard_of(self, sensor_id: int) -> int:
        moved = self.moved.get(sensor_id)
        if moved is not None:
            return moved
        place = bisect_right(self.ranges, sensor_id, key=lambda one: one.first_sensor_id) - 1
        shards = self.ranges[place].shards
        return shards[sensor_id % len(shards)]

    @property
    def shard_count(self) -> int:
        """Minimum number of shards that the cluster must have."""
        highest = max(max(one.shards) for one in self.ranges)
        return max([highest, *self.moved.values()])


MoveStep: TypeAlias = Literal["copy", "swap", "delete"]
"""Next step of moving a sensor (`state/sensors/shard_moves.py`)."""


@dataclass(frozen=True, slots=True)
class SensorMove:
    """A sensor that is being moved between shards."""

    sensor_id: int
    source: int
    target: int
    step: MoveStep


@dataclass(frozen=True, slots=True)
class ShardView:
    """The shard map and the moves in progress."""

    known: ShardMap
    version: int = 0
    moves: tuple[SensorMove, ...] = ()

    @property
    def held(self) -> frozenset[int]:
        """Sensors whose telemetry must not be stored now."""
        return frozenset(one.sensor_id for one in self.moves if one.step != "delete")

    @property
    def hidden(self) -> dict[int, list[int]]:
        """Maps a shard to the sensors whose rows there are not read, because another shard has a
        copy."""
        found: dict[int, list[int]] = {}
        for one in self.moves:
            shard = one.target if one.step == "copy" else one.source
            found.setdefault(shard, []).append(one.sensor_id)
        return found


def first_map(shard_count: int) -> ShardMap:
    """Returns the map of a new cluster: all sensors, round-robin."""
    return ShardMap((ShardRange(0, tuple(range(1, shard_count + 1))),))
