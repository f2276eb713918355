"""How busy a host is at an hour of its own day, and how its next activity is drawn."""

from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, TypeVar

from vedette.simulate.fleet import Host, Role
from vedette.simulate.machine import Machine

M = TypeVar("M", bound=Machine)

DESK_HOURS = (7.6, 17.9)
"""When people are at work, local time; each person shifts it by up to an hour."""

_DESK_RHYTHM = (
    *(0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.08, 0.35, 0.90, 1.00, 1.00, 0.95),
    *(0.60, 0.85, 1.00, 0.95, 0.90, 0.60, 0.25, 0.12, 0.08, 0.06, 0.05, 0.05),
)
_SERVER_RHYTHM = (
    *(0.45, 0.75, 0.95, 0.60, 0.40, 0.40, 0.45, 0.60, 0.90, 1.00, 1.00, 0.95),
    *(0.80, 0.95, 1.00, 0.95, 0.90, 0.70, 0.55, 0.50, 0.45, 0.45, 0.40, 0.40),
)
"""By hour of the day; servers have their backups at two in the morning."""

_SHARE: dict[Role, float] = {
    "domain_controller": 2.5,
    "mail_server": 2.5,
    "web_server": 1.6,
    "file_server": 1.8,
    "database_server": 1.2,
    "linux_web": 1.0,
    "linux_app": 1.1,
    "linux_database": 0.8,
    "linux_build": 1.6,
    "linux_bastion": 0.6,
    "workstation": 1.2,
    "developer": 1.8,
    "mac": 1.0,
    "mac_osquery": 0.4,
}


def local_hour(host: Host, at_us: int) -> float:
    return at_us / 3_600_000_000 % 24 + host.site.utc_offset_hours


def busyness(host: Host, at_us: int) -> float:
    """The host's share of the fleet's events at that time; only ratios mean anything."""
    hour = local_hour(host, at_us) % 24
    rhythm = _SERVER_RHYTHM if host.is_server else _DESK_RHYTHM
    here, there = rhythm[int(hour)], rhythm[int(hour + 1) % 24]
    return _SHARE[host.role] * (here + (there - here) * (hour % 1))


def at_desk(host: Host, at_us: int) -> bool:
    """Whether the host's user is at work; servers have nobody."""
    if host.is_server:
        return False
    shift = host.index * 7 % 13 / 13
    start, end = DESK_HOURS
    return start + shift <= local_hour(host, at_us) % 24 < end + shift


@dataclass(frozen=True, slots=True)
class Activity(Generic[M]):
    """Something a host does: plays from `at_us`, logs at least one event."""

    play: Callable[[M, int], None]
    weight: float
    roles: frozenset[Role] | None = None
    """None: every role of the operating system."""
    desk: bool = False
    """Only while somebody is logged on."""


@dataclass(frozen=True, slots=True)
class Menu(Generic[M]):
    """What a host can do now, ready to be drawn from."""

    plays: tuple[Callable[[M, int], None], ...]
    cumulative: tuple[float, ...]

    def draw(self, machine: M) -> Callable[[M, int], None]:
        """As `Random.choices` draws, without its lists."""
        drawn = machine.rng.random() * self.cumulative[-1]
        return self.plays[bisect(self.cumulative, drawn, 0, len(self.plays) - 1)]


def menu_of(activities: Sequence[Activity[M]], role: Role, *, desk: bool) -> Menu[M]:
    chosen = [
        activity
        for activity in activities
        if (activity.roles is None or role in activity.roles) and (desk or not activity.desk)
    ]
    return Menu(
        tuple(activity.play for activity in chosen),
        tuple(accumulate(activity.weight for activity in chosen)),
    )
