"""The store at its size: generated segments, 33 million by default (a billion events), and the
published kinds of queries that cost the most, each with cold and with warm caches.

`VEDETTE_BENCH_BILLION_SEGMENTS` sets the number of segments, `VEDETTE_BENCH_STORE` a directory that
keeps the store for further runs. Cold means: the server is started anew, and the pages of its files
are dropped from the page cache, those of the store's files alone, because other programs use the
rest. Bytes read from the disk are those that the kernel counts for the server's process.
"""

import os
import time
from pathlib import Path
from statistics import median
from typing import Any, Final

import httpx

from bench.figure import Figure, Outcome, Part
from bench.segments import ACCEPT, EVENTS_A_SEGMENT, generate
from vedette.cli.server_process import ServerProcess, api_client

SEGMENTS: Final = int(os.environ.get("VEDETTE_BENCH_BILLION_SEGMENTS", "33333334"))
STORE: Final = os.environ.get("VEDETTE_BENCH_STORE", "")
GENERATED_A_SECOND: Final = 10_000_000 / 600
START_S: Final = 600.0
_WARM_RUNS: Final = 5
_MARKER: Final = "generated"
"""Holds the number of segments of a store that is complete."""

_NO_PATH: Final = r"c:\programdata\vendor\nowhere\missing-file.exe"
_THREE_LEAVES: Final = (
    r"filemod:item-0001.tmp modload:c:\windows\system32\ntdll.dll domain:example.net"
)

QUERIES: Final[tuple[tuple[str, dict[str, Any], float, float], ...]] = (
    ("md5 prefix without a match", {"q": "md5:712402*"}, 300, 300),
    ("domain:.com", {"q": "domain:.com"}, 500, 500),
    ("a path without a field, no match", {"q": _NO_PATH}, 500, 500),
    (
        "comprehensive search, three terms",
        {"q": _THREE_LEAVES, "svc.comprehensive_search": "true"},
        1_000,
        1_000,
    ),
    ("group by process, all", {"svc.group": "id"}, 1_000, 1_000),
)
"""Name, request, and targets in ms: cold, warm."""


def run(room: Path) -> Outcome:
    data = Path(STORE) if STORE else room / "server"
    telemetry = data / "telemetry"
    generated_s = _generated_s(telemetry)
    figures: list[Figure] = []
    if generated_s:
        rate = SEGMENTS / generated_s
        figures.append(Figure("generated", rate, "segments/s", at_least=GENERATED_A_SECOND))
    size = sum(file.stat().st_size for file in telemetry.rglob("*") if file.is_file())
    figures.append(Figure("store on disk", size / (SEGMENTS * EVENTS_A_SEGMENT), "bytes/event"))
    notes = [f"{size / 1e9:,.1f} GB on disk, generated in {generated_s:.0f} s"]
    for name, asked, cold_ms, warm_ms in QUERIES:
        cold, warm, read_mb, problem = _ask_both(data, telemetry, asked)
        figures += [
            Figure(f"{name}, cold", cold, "ms", at_most=cold_ms),
            Figure(f"{name}, warm", warm, "ms", at_most=warm_ms),
            Figure(f"{name}, read from disk when cold", read_mb, "MB"),
            Figure(f"{name}, requests without an answer", len(problem), "", at_most=0),
        ]
        notes += [f"{name}: {one}" for one in problem[:1]]
    return Outcome(
        f"{SEGMENTS:,} segments of {EVENTS_A_SEGMENT} events", tuple(figures), tuple(notes)
    )


def _generated_s(telemetry: Path) -> float:
    """Seconds; 0 where the store was there."""
    marker = telemetry.parent / _MARKER
    if marker.exists() and marker.read_text() == str(SEGMENTS):
        return 0.0
    begin = time.monotonic()
    generate(telemetry, SEGMENTS)
    seconds = time.monotonic() - begin
    marker.write_text(str(SEGMENTS))
    return seconds


def _ask_both(
    data: Path, telemetry: Path, asked: dict[str, Any]
) -> tuple[float, float, float, list[str]]:
    """Milliseconds cold and warm (the median of some), MB read by the cold request, and the answers
    that were no result."""
    drop_pages(telemetry)
    server = ServerProcess(data, 0, [ACCEPT])
    problems: list[str] = []
    try:
        access = server.wait_until_ready(START_S)
        drop_pages(telemetry)  # what the start has read
        with api_client(access, timeout_s=120) as client:
            before = _read_bytes(server.pid)
            cold = _ask_ms(client, asked, problems)
            read = _read_bytes(server.pid) - before
            warm = median(_ask_ms(client, asked, problems) for _ in range(_WARM_RUNS))
    finally:
        server.stop()
    return cold, warm, read / 1e6, problems


def _ask_ms(client: httpx.Client, asked: dict[str, Any], problems: list[str]) -> float:
    begin = time.perf_counter()
    answer = client.get("/api/v1/process", params={"rows": 10, **asked})
    took_ms = 1_000 * (time.perf_counter() - begin)
    if answer.status_code != 200:
        problems.append(f"{answer.status_code}: {answer.text[:200]}")
    return took_ms


def drop_pages(folder: Path) -> None:
    """Drops the clean pages of all files below from the page cache."""
    os.sync()
    for file in folder.rglob("*"):
        if file.is_file():
            descriptor = os.open(file, os.O_RDONLY)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def _read_bytes(pid: int) -> int:
    """Bytes that the process has fetched from the disk."""
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["read_bytes"])


PART = Part("billion", run)
