"""Reading the story of a process: a wide tree, and a process with a million events.

One question at a time over HTTPS, among 200,000 segments of other processes.
"""

import os
import time
from pathlib import Path
from typing import Any

import httpx

from bench.figure import Figure, Outcome, Part
from bench.segments import ACCEPT
from bench.tree_store import (
    BUSY_ID,
    BUSY_SEGMENT_EVENTS,
    BUSY_SEGMENTS,
    DESCENDANTS,
    ROOT_ID,
    generate,
    member_id,
)
from vedette.cli.server_process import ServerProcess, api_client

SEGMENTS = int(os.environ.get("VEDETTE_BENCH_SEGMENTS", "200000"))
_RUNS = 20
_REST_S = 20
"""A pause after the start, so that reads do not compete with merges."""

_EVENTS = BUSY_SEGMENTS * BUSY_SEGMENT_EVENTS


def run(room: Path) -> Outcome:
    begin = time.monotonic()
    generate(room / "server" / "telemetry", SEGMENTS)
    load_s = time.monotonic() - begin
    server = ServerProcess(room / "server", 0, [ACCEPT])
    try:
        access = server.wait_until_ready(300)
        time.sleep(_REST_S)
        with api_client(access, timeout_s=120) as client:
            figures = _figures(client)
    finally:
        server.stop()
    return Outcome(
        f"a tree of {DESCENDANTS:,} descendants, and a process with {_EVENTS:,} events in"
        f" {BUSY_SEGMENTS:,} segments, among {SEGMENTS:,} segments; {_RUNS} runs a question",
        figures,
        (f"generated in {load_s:.0f} s; one question at a time over HTTPS",),
    )


def _figures(client: httpx.Client) -> tuple[Figure, ...]:
    tree = f"/api/v1/process/{ROOT_ID}/tree"
    leaf = f"/api/v1/process/{member_id(DESCENDANTS)}/tree"
    busy = f"/api/v1/process/{BUSY_ID}"
    hourly, sought = {"interval": "1h"}, {"q": "199.dat"}
    nodes = _get(client, tree, {})["nodes"]
    events = _get(client, f"{busy}/timeline", hourly)["event_counts"]
    if len(nodes) != DESCENDANTS + 1 or sum(events.values()) != _EVENTS:
        raise RuntimeError(f"{len(nodes)} nodes and {events} events")
    return (
        _p95(client, "tree of the root", tree, {}, at_most=300),
        _p95(client, "tree of a leaf", leaf, {}),
        _p95(client, "v2 summary, million events", f"/api/v2/process/{BUSY_ID}/0", {}, at_most=20),
        _p95(client, "v1 summary, million events", f"{busy}/0", {}),
        _p95(client, "segment list, million events", f"{busy}/segment", {}),
        _p95(client, "timeline by the hour, million events", f"{busy}/timeline", hourly),
        _p95(client, "preview with a query, million events", f"{busy}/0/preview", sought),
        _p95(client, "first 10,000 of a million events", f"/api/v4/process/{BUSY_ID}/0/event", {}),
    )


def _p95(
    client: httpx.Client,
    name: str,
    path: str,
    parameters: dict[str, Any],
    at_most: float | None = None,
) -> Figure:
    _get(client, path, parameters)
    seconds = []
    for _ in range(_RUNS):
        begin = time.perf_counter()
        _get(client, path, parameters)
        seconds.append(time.perf_counter() - begin)
    p95_ms = sorted(seconds)[int(_RUNS * 0.95) - 1] * 1000
    return Figure(f"p95 of the {name}", p95_ms, "ms", at_most=at_most)


def _get(client: httpx.Client, path: str, parameters: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = client.get(path, params=parameters).raise_for_status().json()
    return body


PART = Part("tree", run)
