"""Reading one process of a million events in 5,000 segments, over HTTPS, one request at a time.

Other processes have 200,000 segments in the same windows. Every read of events asks for another
place than the one before. What is cached of a process until it is written to answers the second
question for its metadata and summaries; the cost of the first
is in the others, each asked for once. The floor is a route that asks the store nothing.
"""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import httpx

from bench.figure import Figure, Outcome, Part
from bench.long_process import EVENTS_A_SEGMENT, NEIGHBOUR_IDS, PROCESS_ID, SEGMENTS, generate
from bench.segments import ACCEPT, BEGIN_MS, WINDOW_MS
from vedette.cli.server_process import ServerProcess, api_client

STREAMS = 200
RUNS = 30
_EVENTS = SEGMENTS * EVENTS_A_SEGMENT
_REST_S = 20
"""A pause after the start, so that reads do not compete with merges."""
_STREAM = "/api/v6/process/stream"


def run(room: Path) -> Outcome:
    begin = time.monotonic()
    generate(room / "server" / "telemetry")
    load_s = time.monotonic() - begin
    arguments = ["--set", "partition_roll_hours=1000000", "--set", "retention_days=0", ACCEPT]
    server = ServerProcess(room / "server", 0, arguments)
    try:
        access = server.wait_until_ready(300)
        time.sleep(_REST_S)
        with api_client(access, timeout_s=120) as client:
            figures = [*_pages(client), *_reads(client), *_filters(client)]
            figures += _many(client, server.pid)
    finally:
        server.stop()
    return Outcome(
        f"a process of {_EVENTS:,} events in {SEGMENTS:,} segments, among {SEGMENTS * 41:,}",
        tuple(figures),
        (f"generated in {load_s:.0f} s; medians of {RUNS} requests, over HTTPS",),
    )


def _pages(client: httpx.Client) -> Iterator[Figure]:
    draw = Random(5)
    floor_ms = _median_ms(lambda: client.get("/api/info").raise_for_status())
    yield Figure("a route that asks the store nothing", floor_ms, "ms")
    yield Figure("create a stream", _median_ms(lambda: _create(client)), "ms")
    fresh = iter([_create(client) for _ in range(RUNS + 1)])
    first_ms = _median_ms(lambda: _page(client, next(fresh)))
    yield Figure("first page of 100 events", first_ms, "ms", at_most=50)
    path = _create(client)
    for name, low, high in (("begin", 0.0, 0.1), ("middle", 0.45, 0.55), ("end", 0.9, 0.9999)):
        spans = int(low * SEGMENTS), int(high * SEGMENTS) - 1

        def jump(spans: tuple[int, int] = spans) -> None:
            to = BEGIN_MS + draw.randint(*spans) * WINDOW_MS
            _page(client, path, jump="", to=to)

        yield Figure(f"jump near the {name}", _median_ms(jump), "ms", at_most=50)
    at = _EVENTS - EVENTS_A_SEGMENT
    _page(client, path, jump="", to=BEGIN_MS + (SEGMENTS - 1) * WINDOW_MS)

    def seek() -> None:
        nonlocal at
        to = draw.randrange(_EVENTS - 100)
        _page(client, path, seek="", by=to - at)
        at = to

    yield Figure("seek anywhere", _median_ms(seek), "ms", at_most=50)


def _reads(client: httpx.Client) -> Iterator[Figure]:
    paths = {
        "metadata": f"/api/v6/process/{PROCESS_ID}/metadata",
        "verify": f"/api/v6/process/{PROCESS_ID}/{BEGIN_MS}/verify",
        "v2 summary of all segments": f"/api/v2/process/{PROCESS_ID}/0",
        "v2 summary of one segment": f"/api/v2/process/{PROCESS_ID}/{BEGIN_MS}",
    }
    for name, path in paths.items():
        ms = _median_ms(lambda path=path: client.get(path).raise_for_status())  # type: ignore[misc]
        yield Figure(name, ms, "ms", at_most=20)
    yield from _first_reads(client)
    bulk = f"/api/v6/process/{PROCESS_ID}/1/bulk"
    bulk_ms = _median_ms(lambda: _whole_bulk(client, bulk), runs=5)
    yield Figure("bulk facets", bulk_ms / 1_000, "s", at_most=2)
    ndjson = f"/api/v6/process/{PROCESS_ID}/1/segment"
    yield Figure("all segments as ndjson", _median_ms(lambda: client.get(ndjson), runs=5), "ms")


def _first_reads(client: httpx.Client) -> Iterator[Figure]:
    """The same of what was not asked for before: what was is cached until it changes."""
    segments = iter(range(1, SEGMENTS))
    others = iter(NEIGHBOUR_IDS)

    def segment() -> None:
        named = BEGIN_MS + next(segments) * WINDOW_MS
        client.get(f"/api/v2/process/{PROCESS_ID}/{named}").raise_for_status()

    def whole() -> None:
        client.get(f"/api/v2/process/{next(others)}/0").raise_for_status()

    def metadata() -> None:
        client.get(f"/api/v6/process/{next(others)}/metadata").raise_for_status()

    yield Figure("v2 summary of another segment each time", _median_ms(segment), "ms", at_most=20)
    yield Figure("v2 summary of another process each time", _median_ms(whole, 15), "ms", at_most=20)
    yield Figure(
        "metadata of another process each time", _median_ms(metadata, 15), "ms", at_most=20
    )


def _whole_bulk(client: httpx.Client, path: str) -> None:
    body = client.get(path).raise_for_status().json()
    assert body["facets"]["num_found"] == _EVENTS, body["facets"]["num_found"]
    assert not body["partial_results"]


def _filters(client: httpx.Client) -> Iterator[Figure]:
    """A filter that has to look at every event, when it is new and afterwards."""
    path = _create(client)
    numbers = iter(range(100))

    def refilter() -> None:
        folder = rf"C:\ProgramData\Vendor\Agent\cache\{next(numbers):03d}" + "\\"
        body = {"criteria": {"directory": [folder]}}
        answer = client.patch(path, params={"rows": 100}, json=body).raise_for_status()
        assert len(answer.json()["events"]) == 100

    yield Figure("new criteria on paths, with a page", _median_ms(refilter, runs=8), "ms")
    again_ms = _median_ms(lambda: _page(client, path, seek="", by=7))
    yield Figure("seek under these criteria", again_ms, "ms")


def _many(client: httpx.Client, pid: int) -> Iterator[Figure]:
    """Streams that are open at once, each at its own place, read in turn."""
    _page(client, _create(client))
    before = _memory_mb(pid)
    draw = Random(7)
    paths = [_create(client) for _ in range(STREAMS)]
    took = []
    for turn in range(3):
        for path in paths:
            by = draw.randrange(_EVENTS // 4)
            move: dict[str, Any] = {"seek": "", "by": by} if turn != 1 else {}
            began = time.perf_counter()
            _page(client, path, **move)
            took.append((time.perf_counter() - began) * 1_000)
    grown = _memory_mb(pid) - before
    yield Figure(f"{STREAMS} streams read in turn, a read", median(took), "ms")
    yield Figure("memory they add to the server", grown, "MB", at_most=50)


def _memory_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _create(client: httpx.Client) -> str:
    body = {"process_id": PROCESS_ID, "segment_id": 1}
    made = client.post(_STREAM, json=body).raise_for_status().json()
    return f"{_STREAM}/{made['stream_id']}"


def _page(client: httpx.Client, path: str, **move: Any) -> None:
    body = client.get(path, params={"rows": 100, **move}).raise_for_status().json()
    assert body["status_fw"] == "void" or body["events"], body


def _median_ms(ask: Callable[[], object], runs: int = RUNS) -> float:
    ask()
    took = []
    for _ in range(runs):
        began = time.perf_counter()
        ask()
        took.append((time.perf_counter() - began) * 1_000)
    return median(took)


PART = Part("analysis", run)
