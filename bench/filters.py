"""Measures the cost of 1,000 ingress filters at ingest: the ratio of acknowledged events per second
with and without them.

No filter matches the sent events: dropping an event costs less than storing it, which would improve
the figure.
"""

import random
import string
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.figure import Outcome, Part
from bench.switched_load import SwitchedLoad
from vedette.bootstrap.local_access import LocalAccess
from vedette.cli.server_process import ServerProcess, api_client
from vedette.simulate.bulk_client import Target
from vedette.simulate.load import LoadPlan, run_load

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
"""Maximum time (s) of a switch."""

ROUTE = "/api/v1/ingress_approvedlist"


@dataclass(frozen=True, slots=True)
class _Share:
    """Number of filters in a hundred that have each list."""

    globs: int = 40
    path_expressions: int = 20
    command_lines: int = 20
    md5s: int = 10
    single_events: int = 10


def run(room: Path) -> Outcome:
    server = ServerProcess(room / "server", 0)
    try:
        access = server.wait_until_ready()
        ids = _create(access)
        turns = SwitchedLoad(
            server.pid,
            lambda is_on: _switch(access, ids, enabled=is_on),
            warm_s=WARM_S,
            turn_s=TURN_S,
            settle_s=SETTLE_S,
        )
        target = Target(access.url, access.ingest_token, Path(access.certificate))
        seconds = WARM_S + 2 * TURNS * (TURN_S + SWITCH_S + SETTLE_S)
        plan = LoadPlan(ENDPOINTS, 0, seconds, events_per_request=EVENTS_PER_REQUEST)
        result = run_load(plan, target, turns.watch)
    finally:
        server.stop()
    if result.errors:
        raise RuntimeError(f"the load generator gave up: {result.errors}")
    mix = ", ".join(f"{name} {count}%" for name, count in asdict(_Share()).items())
    return Outcome(
        f"{FILTERS:,} ingress filters ({mix}; one in ten for all descendants), Sysmon JSON from"
        f" {ENDPOINTS} simulated endpoints, {len(turns.done)} turns of {TURN_S} s without and with"
        " them, medians",
        turns.figures("filters", target=0.9),
        (turns.note(),),
    )


def _switch(access: LocalAccess, ids: list[str], *, enabled: bool) -> None:
    body = [{"id": one, "enabled": enabled, "track_metrics": enabled} for one in ids]
    with api_client(access) as client:
        client.put(ROUTE, json=body).raise_for_status()


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
