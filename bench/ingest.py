"""`_bulk` over HTTPS, acknowledged when durable, for a minute, merges running.

The load generator runs in this process, on the same cores; its share is reported. What the server
acknowledged is compared with what its store holds once it has stopped.
"""

import json
import subprocess
import sys
from pathlib import Path

from bench.figure import Figure, Outcome, Part
from bench.store_count import count_records
from bench.watch import Watch, wait_idle, watched
from vedette.cli.server_process import ServerProcess, api_client
from vedette.simulate.bulk_client import Target
from vedette.simulate.load import LoadPlan, LoadResult, run_load

SECONDS = 60
ENDPOINTS = 200


def run(room: Path) -> Outcome:
    plan = LoadPlan(ENDPOINTS, 0, SECONDS)
    data = room / "server"
    server = ServerProcess(data, 0)
    try:
        access = server.wait_until_ready()
        target = Target(access.url, access.ingest_token, Path(access.certificate))
        with watched(server.pid) as watch:
            result = run_load(plan, target)
        watch = watch.last(result.seconds)
        with api_client(access) as client:
            answer = client.get("/api/v1/process", params={"q": "", "rows": 0}).json()
        wait_idle(data, 75)
    finally:
        server.stop()
    if result.errors:
        raise RuntimeError(f"the load generator gave up: {result.errors}")
    stored, disk = count_records(data / "telemetry")
    raw = _raw_events_per_s(data, room)
    return Outcome(
        f"Sysmon JSON of {result.bytes_per_event:,.0f} bytes an event from {ENDPOINTS} simulated"
        f" endpoints, {result.seconds:.0f} s, {plan.events_per_request:,} events a request,"
        f" {plan.connections} requests in flight",
        _figures(result, watch, stored, disk, raw),
        (
            f"{result.acknowledged:,} events acknowledged, {result.refused:,} refused,"
            f" {result.waits:,} backpressure responses; {answer['total_results']:,} segments",
            f"the server used {watch.cores():.2f} cores, the sender {result.sender_cpu_share:.2f}",
        ),
    )


def _figures(
    result: LoadResult, watch: Watch, stored: int, disk: int, raw: float
) -> tuple[Figure, ...]:
    early, late = watch.memory_between(0.3, 0.5), watch.memory_between(0.8, 1.0)
    return (
        Figure("acknowledged", result.events_per_s, "events/s", at_least=60_000),
        Figure("share of raw chDB insert", result.events_per_s / raw, "of 1"),
        Figure("raw chDB insert of such rows", raw, "events/s"),
        Figure("acknowledged events found in the store", stored / result.acknowledged, "of 1", 1),
        Figure("acknowledge p50", result.latency_p50_ms, "ms"),
        Figure("acknowledge p95", result.latency_p95_ms, "ms"),
        Figure("disk", disk / result.stored, "bytes/event", at_most=20),
        Figure("server memory, peak", max(watch.memory_mb), "MB", at_most=2_000),
        Figure("server memory, second half to first", late / early, "of 1", at_most=1.15),
    )


def _raw_events_per_s(data: Path, room: Path) -> float:
    rows = room / "rows.arrow"
    _python("bench.raw_insert", "export", str(data / "telemetry"), str(rows))
    answer = _python("bench.raw_insert", "insert", str(rows), str(room / "raw"))
    return float(json.loads(answer)["events_per_s"])


def _python(module: str, *arguments: str) -> str:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


PART = Part("ingest", run)
