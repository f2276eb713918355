"""Sensors (the reporting programs), the hosts they stand for and the shards that hold them, as
values.

All that a sensor reports lies on one shard of a cluster, so that processes stay whole there. Shards
that are added take sensors that are new: sensors up to a number stay where they are. The map is
kept in the state database (`state/sensors/sensor_shards.py`) and follows into the definitions of
the Distributed tables (`store/engine/shard_routing.py`).
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

UTC_CLOCK: Final = 1_441
"""The column `host_clock` of a host in UTC: minutes ahead of UTC are added to it, so that what
is known is never 0, which is unknown and read as UTC (metadata merges by the greatest value)."""


def minutes_ahead(host_clock: int) -> int:
    """Minutes that local time is ahead of UTC, of a value of the column `host_clock`."""
    return host_clock - UTC_CLOCK if host_clock else 0


@dataclass(frozen=True, slots=True)
class SensorRef:
    """What the write path needs to know of a sensor."""

    id: int
    hostname: str
    """Full host name, lower case: the key of a sensor (docs/http-api.md)."""
    group_id: int
    group_name: str
    os_type: str
    """windows, linux or osx; "" until a record says so."""
    utc_offset_min: int = 0
    """Minutes that the host's local time is ahead of UTC; 0 until the sensor reports it."""
    takes_filters: bool = False
    """Whether the sensor is a program of ours that applies `filter_on_sensor` filters itself."""
    host_type: str = ""
    """workstation, server or domain_controller, as the sensor says; "" until it does."""
    addresses: str = ""
    """Addresses of the network interfaces, separated by `|`, as the sensor or osquery reported
    them; "" for hosts without an enrolled program."""
    computer_sid: str = ""
    """SID of the host, "" until a program or a record reports it."""
    network_adapters: str = ""
    """`addresses` with their hardware addresses (docs/api-objects.md#sensor)."""
    filtering_known_dlls: bool = False
    """Whether its group leaves out loads of known DLLs (`model/group_filters.py`)."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """What the first records of a host say about it."""

    os_type: str = ""
    """windows, linux, osx; "" when the records do not say."""


@dataclass(frozen=True, slots=True)
class HostProcess:
    """A process as a host's learned context needs it; times in epoch microseconds."""

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
    """Sensors from a number on are shared out among some shards, in turn."""

    first_sensor_id: int
    shards: tuple[int, ...]
    """Numbers of shards, from 1 on."""

    def __post_init__(self) -> None:
        if not self.shards or min(self.shards) < 1:
            raise ValueError(f"{self.shards} are no shards")


@dataclass(frozen=True, slots=True)
class ShardMap:
    """The ranges in order, the first from 0 on; and sensors that were moved."""

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
        """How many shards a cluster has at least."""
        highest = max(max(one.shards) for one in self.ranges)
        return max([highest, *self.moved.values()])


MoveStep: TypeAlias = Literal["copy", "swap", "delete"]
"""What is done next with a sensor that is moved (`state/sensors/shard_moves.py`)."""


@dataclass(frozen=True, slots=True)
class SensorMove:
    """A sensor on its way from shard to shard."""

    sensor_id: int
    source: int
    target: int
    step: MoveStep


@dataclass(frozen=True, slots=True)
class ShardView:
    """The map, and the sensors that are being moved."""

    known: ShardMap
    version: int = 0
    moves: tuple[SensorMove, ...] = ()

    @property
    def held(self) -> frozenset[int]:
        """Sensors of which nothing may be stored."""
        return frozenset(one.sensor_id for one in self.moves if one.step != "delete")

    @property
    def hidden(self) -> dict[int, list[int]]:
        """By shard, the sensors whose rows there are not read: each has a copy on another."""
        found: dict[int, list[int]] = {}
        for one in self.moves:
            shard = one.target if one.step == "copy" else one.source
            found.setdefault(shard, []).append(one.sensor_id)
        return found


def first_map(shard_count: int) -> ShardMap:
    """That of a cluster without history: all sensors in turn."""
    return ShardMap((ShardRange(0, tuple(range(1, shard_count + 1))),))
