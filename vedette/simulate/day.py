"""One simulated day of the whole fleet, in time order, as `_bulk` bodies.

Time advances in slices of five minutes. Each host has an event budget per slice, proportional to
its rate at that hour, and runs random activities until it is used up. Events after the end of a
slice wait for their own slice.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vedette.simulate.activity import (
    ActivityTable,
    activity_rate,
    activity_table,
    is_user_present,
    local_hour,
)
from vedette.simulate.fleet import Fleet, Host
from vedette.simulate.machine import SECOND_US, Machine
from vedette.simulate.play import assign_hosts, play
from vedette.simulate.stories import STORIES
from vedette.simulate.story import Story
from vedette.simulate.stream import Event, time_of
from vedette.simulate.unix import linux_day, mac_day
from vedette.simulate.unix.linux import LinuxMachine
from vedette.simulate.unix.mac import MacMachine
from vedette.simulate.windows import day
from vedette.simulate.windows.machine import WindowsMachine

SLICE_US = 5 * 60 * SECOND_US
HOUR_US = 3600 * SECOND_US

_LEAD_US = 100_000
"""Activities may log events up to this time before their start (a DNS query, a pipe)."""

_STORY_US = 45 * 60 * SECOND_US
"""A story starts at least this long before the end of the day."""

BATCH_BYTES = 2_500_000


@dataclass(frozen=True, slots=True)
class Batch:
    """A body for `_bulk`."""

    body: bytes
    events: int
    until_us: int
    """Time of the newest event."""
    encoding: str = ""
    """The body's Content-Encoding, if any."""


def iter_batches(
    fleet: Fleet,
    start_us: int,
    *,
    hours: float = 24,
    events: int = 1_000_000,
    stories: Sequence[Story] = STORIES,
    batch_bytes: int = BATCH_BYTES,
) -> Iterator[Batch]:
    """Yields about `events` events from `hours` hours after `start_us` (epoch microseconds), in
    time order, in bodies of about `batch_bytes`. The same arguments give the same bytes."""
    pieces: list[bytes] = []
    count = size = 0
    at_us = start_us
    for at_us, stream, body in iter_events(
        fleet, start_us, hours=hours, events=events, stories=stories
    ):
        pieces += stream.frame(at_us, body)
        size += stream.framing_bytes + len(body)
        count += 1
        if size >= batch_bytes:
            yield Batch(b"".join(pieces), count, at_us)
            pieces.clear()
            count = size = 0
    if pieces:
        yield Batch(b"".join(pieces), count, at_us)


def iter_events(
    fleet: Fleet,
    start_us: int,
    *,
    hours: float = 24,
    events: int = 1_000_000,
    stories: Sequence[Story] = STORIES,
) -> Iterator[Event]:
    """Yields the events of `iter_batches` before framing. Frame them in this order."""
    end_us = start_us + int(hours * HOUR_US)
    actors = [_Actor(host, fleet.seed, start_us) for host in fleet.hosts]
    machines = {actor.machine.host.name: actor.machine for actor in actors}
    plan = sorted(
        ((_story_start(story, fleet, start_us, end_us), story) for story in stories),
        key=lambda entry: entry[0],
    )
    slices = range(start_us, end_us, SLICE_US)
    scale = events / max(1e-9, sum(actor.event_rate(at) for at in slices for actor in actors))
    waiting: list[Event] = []
    for at in slices:
        until = min(at + SLICE_US, end_us)
        for actor in actors:
            actor.act(at, until, scale)
        while plan and plan[0][0] < until:
            begin, story = plan.pop(0)
            play(story, assign_hosts(story, fleet, machines), begin)
        for actor in actors:
            waiting += actor.machine.out
            actor.machine.out.clear()
        waiting.sort(key=time_of)
        cut = bisect_left(waiting, until, key=time_of)
        yield from waiting[:cut]
        del waiting[:cut]


def _story_start(story: Story, fleet: Fleet, start_us: int, end_us: int) -> int:
    """Returns the start time of a story: its hour in the local time of its first host, within the
    simulated time."""
    host = fleet.first(story.hosts[0][1])
    wait_hours = (story.hour - local_hour(host, start_us)) % 24
    latest = max(start_us + _LEAD_US, end_us - _STORY_US)
    return min(start_us + int(wait_hours * HOUR_US), latest)


class _Actor:
    """A machine with its current activities and event budget."""

    def __init__(self, host: Host, seed: int, start_us: int) -> None:
        self._day = _DAYS[host.os_type]
        self.machine: Machine = self._day.machine(host, seed, start_us)
        self._day.boot(self.machine)
        if is_user_present(host, start_us):
            self._day.resume_session(self.machine)
            self.machine.logged_on = True
        self._unattended = activity_table(self._day.activities, host.role, has_user=False)
        self._attended = activity_table(self._day.activities, host.role, has_user=True)
        self._credit = 0.0

    def event_rate(self, at_us: int) -> float:
        return activity_rate(self.machine.host, at_us)

    def act(self, at_us: int, until_us: int, scale: float) -> None:
        """Appends the events of one slice to the machine's `out`."""
        machine = self.machine
        self._update_session(at_us)
        table: ActivityTable[Any] = self._attended if machine.logged_on else self._unattended
        self._credit += self.event_rate(at_us) * scale - len(machine.out)
        span = until_us - at_us - _LEAD_US
        before = len(machine.out)
        while self._credit > 0:
            table.sample(machine)(machine, at_us + _LEAD_US + int(machine.rng.random() * span))
            self._credit -= len(machine.out) - before
            before = len(machine.out)

    def _update_session(self, at_us: int) -> None:
        machine = self.machine
        present = is_user_present(machine.host, at_us)
        if present and not machine.logged_on:
            self._day.log_on(machine, at_us + _LEAD_US)
        elif machine.logged_on and not present:
            self._day.log_off(machine, at_us + _LEAD_US)
        machine.logged_on = present


@dataclass(frozen=True, slots=True)
class _Day:
    """The activities of one operating system."""

    machine: Callable[[Host, int, int], Machine]
    boot: Callable[[Any], None]
    activities: Sequence[Any]
    resume_session: Callable[[Any], None]
    log_on: Callable[[Any, int], None]
    log_off: Callable[[Any, int], None]


def _nobody(_machine: Machine, _at_us: int = 0) -> None:
    """Does nothing, because servers have no interactive session."""


_DAYS: dict[str, _Day] = {
    "windows": _Day(
        WindowsMachine,
        day.boot,
        day.ACTIVITIES,
        day.resume_session,
        day.log_on,
        day.log_off,
    ),
    "linux": _Day(LinuxMachine, linux_day.boot, linux_day.ACTIVITIES, _nobody, _nobody, _nobody),
    "osx": _Day(
        MacMachine,
        mac_day.boot,
        mac_day.ACTIVITIES,
        mac_day.resume_session,
        mac_day.log_on,
        mac_day.log_off,
    ),
}
