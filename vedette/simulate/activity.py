"""Event rate of a host by local time, and random selection of its next activity."""

from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, TypeVar

from vedette.simulate.fleet import Host, Role
from vedette.simulate.machine import Machine

M = TypeVar("M", bound=Machine)

WORK_HOURS = (7.6, 17.9)
"""Working hours, local time; shifted by up to an hour per host."""

_WORKSTATION_RATES = (
    0.05,
    0.05,
    0.05,
    0.05,
    0.05,
    0.05,
    0.08,
    0.35,
    0.90,
    1.00,
    1.00,
    0.95,
    0.60,
    0.85,
    1.00,
    0.95,
    0.90,
    0.60,
    0.25,
    0.12,
    0.08,
    0.06,
    0.05,
    0.05,
)
_SERVER_RATES = (
    0.45,
    0.75,
    0.95,
    0.60,
    0.40,
    0.40,
    0.45,
    0.60,
    0.90,
    1.00,
    1.00,
    0.95,
    0.80,
    0.95,
    1.00,
    0.95,
    0.90,
    0.70,
    0.55,
    0.50,
    0.45,
    0.45,
    0.40,
    0.40,
)
"""Relative rate by hour of the day; servers run backups at two in the morning."""

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


def activity_rate(host: Host, at_us: int) -> float:
    """Returns the relative event rate of the host at that time; only ratios matter."""
    hour = local_hour(host, at_us) % 24
    rates = _SERVER_RATES if host.is_server else _WORKSTATION_RATES
    here, there = rates[int(hour)], rates[int(hour + 1) % 24]
    return _SHARE[host.role] * (here + (there - here) * (hour % 1))


def is_user_present(host: Host, at_us: int) -> bool:
    """Whether the host's user is at work; always false for servers."""
    if host.is_server:
        return False
    shift = host.index * 7 % 13 / 13
    start, end = WORK_HOURS
    return start + shift <= local_hour(host, at_us) % 24 < end + shift


@dataclass(frozen=True, slots=True)
class Activity(Generic[M]):
    """An activity of a host: `play` starts at `at_us` and logs at least one event."""

    play: Callable[[M, int], None]
    weight: float
    roles: frozenset[Role] | None = None
    """Roles that have the activity; None for every role of the operating system."""
    needs_user: bool = False
    """Whether the activity requires a logged-on user."""


@dataclass(frozen=True, slots=True)
class ActivityTable(Generic[M]):
    """The activities that a host can start now, with cumulative weights."""

    plays: tuple[Callable[[M, int], None], ...]
    cumulative: tuple[float, ...]

    def sample(self, machine: M) -> Callable[[M, int], None]:
        """Returns a weighted random choice, like `Random.choices` without building lists."""
        sampled = machine.rng.random() * self.cumulative[-1]
        return self.plays[bisect(self.cumulative, sampled, 0, len(self.plays) - 1)]


def activity_table(
    activities: Sequence[Activity[M]], role: Role, *, has_user: bool
) -> ActivityTable[M]:
    chosen = [
        activity
        for activity in activities
        if (activity.roles is None or role in activity.roles)
        and (has_user or not activity.needs_user)
    ]
    return ActivityTable(
        tuple(activity.play for activity in chosen),
        tuple(accumulate(activity.weight for activity in chosen)),
    )
