"""Twenty minutes of steady telemetry: does the server's memory come to rest?

What the write path remembers of processes and what the engine caches is bounded, but it takes
some minutes to fill, so the minute of `ingest` cannot tell. `VEDETTE_SOAK_S` shortens it.
"""

import os
from pathlib import Path

from bench.figure import Figure, Outcome, Part
from bench.watch import watched
from vedette.cli.server_process import ServerProcess
from vedette.simulate.bulk_client import Target
from vedette.simulate.load import LoadPlan, run_load

SECONDS = int(os.environ.get("VEDETTE_SOAK_S", "1200"))
ENDPOINTS = 200
EVENTS_PER_S = 10_000


def run(room: Path) -> Outcome:
    server = ServerProcess(room / "server", 0)
    try:
        access = server.wait_until_ready()
        target = Target(access.url, access.ingest_token, Path(access.certificate))
        with watched(server.pid) as watch:
            result = run_load(LoadPlan(ENDPOINTS, EVENTS_PER_S, SECONDS), target)
    finally:
        server.stop()
    watch = watch.last(result.seconds)
    middle, end = watch.memory_between(0.45, 0.55), watch.memory_between(0.9, 1.0)
    tenths = [watch.memory_between(n / 10, (n + 1) / 10) for n in range(10)]
    return Outcome(
        f"{EVENTS_PER_S:,} events/s from {ENDPOINTS} simulated endpoints, {result.seconds:.0f} s",
        (
            Figure("events acknowledged", result.events_per_s, "events/s", 0.95 * EVENTS_PER_S),
            Figure("server memory, peak", max(watch.memory_mb), "MB", at_most=2_000),
            Figure("server memory, end to middle", end / middle, "of 1", at_most=1.15),
        ),
        ("MB in each tenth of the time: " + ", ".join(f"{mb:.0f}" for mb in tenths),),
    )


PART = Part("soak", run)
