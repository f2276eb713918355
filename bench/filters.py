"""What 1,000 ingress filters cost at ingest: acknowledged events a second with them to without.

One server takes the same load in many short turns, without filters and with them, and each turn is
held against the two beside it: the speed of a machine that does other things too changes by half
within a minute, so the sums of a few long turns say more of that than of the filters. What counts
is the median of those ratios. The time of a switch, and of what is looked up anew after it, is in
no turn. None of the filters means anything that is sent: what a filter drops
costs less than what is stored, and would flatter the figure.
"""

import random
import statistics
import string
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.figure import Figure, Outcome, Part
from bench.watch import cpu_seconds
from vedette.bootstrap.local_access import LocalAccess
from vedette.cli.server_process import ServerProcess, api_client
from vedette.simulate.bulk_client import Target
from vedette.simulate.load import LoadCounters, LoadPlan, run_load

FILTERS = 1_000
ENDPOINTS = 200
WARM_S = 10
TURN_S = 6
SETTLE_S = 1.5
"""After a switch, before the next turn."""

TURNS = 8
"""With the filters and without them, each."""

EVENTS_PER_REQUEST = 1_000
"""Few, so that a turn has many commits, and does not hang on one that falls into the next."""

SWITCH_S = 2
"""What a switch may take."""

ROUTE = "/api/v1/ingress_approvedlist"


@dataclass(frozen=True, slots=True)
class _Share:
    """How many of a hundred filters have which lists."""

    globs: int = 40
    path_expressions: int = 20
    command_lines: int = 20
    md5s: int = 10
    single_events: int = 10


@dataclass(frozen=True, slots=True)
class _Turn:
    is_on: bool
    rate: float
    """Events stored a second."""
    cpu_us: float
    """Microseconds of the server's processors an event."""


@dataclass(slots=True)
class _Turns:
    """Switches the filters while a load runs, and notes what was stored between."""

    access: LocalAccess
    pid: int
    ids: list[str]
    is_on: bool = False
    next_s: float = WARM_S
    begin: tuple[int, float, float] | None = None
    done: list[_Turn] = field(default_factory=list)
    """Without filters and with them, in turn."""

    def watch(self, tally: LoadCounters, gone_s: float) -> None:
        if gone_s < self.next_s:
            return
        now = tally.stored, time.monotonic(), cpu_seconds(self.pid)
        if self.begin is None:
            self.begin, self.next_s = now, gone_s + TURN_S
            return
        stored, wall_s, cpu_s = (new - old for new, old in zip(now, self.begin, strict=True))
        self.done.append(_Turn(self.is_on, stored / wall_s, 1e6 * cpu_s / max(stored, 1)))
        self.is_on = not self.is_on
        self._switch()
        self.begin = None
        self.next_s = gone_s + (time.monotonic() - now[1]) + SETTLE_S

    def median(self, is_on: bool, what: Callable[[_Turn], float]) -> float:
        return statistics.median(what(turn) for turn in self.done if turn.is_on == is_on)

    def ratio(self, what: Callable[[_Turn], float]) -> float:
        """The median over all pairs of neighbours of the one with filters to the one without."""
        return statistics.median(
            what(one) / what(other) if one.is_on else what(other) / what(one)
            for one, other in pairwise(self.done)
        )

    def _switch(self) -> None:
        body = [{"id": one, "enabled": self.is_on, "track_metrics": self.is_on} for one in self.ids]
        with api_client(self.access) as client:
            client.put(ROUTE, json=body).raise_for_status()


def run(room: Path) -> Outcome:
    server = ServerProcess(room / "server", 0)
    try:
        access = server.wait_until_ready()
        turns = _Turns(access, server.pid, _create(access))
        target = Target(access.url, access.ingest_token, Path(access.certificate))
        seconds = WARM_S + 2 * TURNS * (TURN_S + SWITCH_S + SETTLE_S)
        plan = LoadPlan(ENDPOINTS, 0, seconds, events_per_request=EVENTS_PER_REQUEST)
        result = run_load(plan, target, turns.watch)
    finally:
        server.stop()
    if result.errors:
        raise RuntimeError(f"the load generator gave up: {result.errors}")
    mix = ", ".join(f"{name} {count}%" for name, count in asdict(_Share()).items())
    shown = ", ".join(f"{turn.rate:,.0f}" for turn in turns.done)
    return Outcome(
        f"{FILTERS:,} ingress filters ({mix}; one in ten for all descendants), Sysmon JSON from"
        f" {ENDPOINTS} simulated endpoints, {len(turns.done)} turns of {TURN_S} s without and with"
        " them, medians",
        (
            Figure("without filters", turns.median(False, _rate), "events/s"),
            Figure("with 1,000 filters", turns.median(True, _rate), "events/s"),
            Figure("with filters to without", turns.ratio(_rate), "of 1", 0.9),
            Figure("processor time without", turns.median(False, _cpu_us), "us/event"),
            Figure("processor time with", turns.median(True, _cpu_us), "us/event"),
            Figure("processor time, with to without", turns.ratio(_cpu_us), "of 1"),
        ),
        (f"events/s, turn by turn, the first without: {shown}",),
    )


def _rate(turn: _Turn) -> float:
    return turn.rate


def _cpu_us(turn: _Turn) -> float:
    return turn.cpu_us


def _create(access: LocalAccess) -> list[str]:
    """Switched off and not measured, they are not compiled: as if there were none."""
    off = {"enabled": False, "track_metrics": False}
    with api_client(access) as client:
        answer = client.post(ROUTE, json=[one | off for one in make_filters(FILTERS)])
        answer.raise_for_status()
        ids: list[str] = answer.json()
        return ids


def make_filters(count: int) -> list[dict[str, Any]]:
    """Filters as operators write them, for programs that nobody has."""
    chance = random.Random(7)
    share = _Share()
    kinds = [name for name, times in asdict(share).items() for _ in range(times)]
    filters = []
    for number in range(count):
        word = "".join(chance.choices(string.ascii_lowercase, k=8))
        members = _MAKE[kinds[number % len(kinds)]](word, chance)
        level = -1 if number % 10 == 0 else 0
        filters.append({"name": word, "descendant_filtering_level": level} | members)
    return filters


def _md5(chance: random.Random) -> str:
    return f"{chance.getrandbits(128):032x}"


_MAKE: dict[str, Any] = {
    "globs": lambda word, _: {
        "path_filters": [rf"C:\Program Files\{word}\*", rf"*\{word}.exe", f"/opt/{word}/*"]
    },
    "path_expressions": lambda word, _: {
        "path_filters": [rf"^c:\\windows\\(system32|syswow64)\\{word}[0-9]*\.exe$"]
    },
    "command_lines": lambda word, _: {
        "cmdline_filters": [rf"--type=(renderer|{word})-{word}\b", rf"\b{word}\.(ps1|cmd)\b"]
    },
    "md5s": lambda _, chance: {"md5_filters": [_md5(chance) for _ in range(5)]},
    "single_events": lambda word, _: {
        "path_filters": [rf"*\{word}\*.exe"],
        "filter_all_events": False,
        "netconn_filters": [rf"\.{word}\.com$"],
        "filemod_filters": [rf"\\{word}\\.*\.(log|tmp)$"],
    },
}

PART = Part("filters", run)
