"""Searching ten million events over the HTTP API, and reading a process with ten thousand.

The events are a day of a large simulated fleet, sent through `_bulk`. Every question is asked
with many different words, so that no cache answers it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import httpx

from bench.figure import Figure, Outcome, Part
from bench.watch import wait_idle
from vedette.bootstrap.local_access import LocalAccess
from vedette.cli.server_process import ServerProcess, api_client
from vedette.simulate.addresses import WEB_NAMES
from vedette.simulate.bulk_client import BulkConnection, Target
from vedette.simulate.day import HOUR_US, Batch, iter_batches
from vedette.simulate.fleet import DOMAIN, Fleet, build_fleet
from vedette.simulate.software import WINDOWS_MODULES, WINDOWS_PROGRAMS, file_hashes
from vedette.simulate.windows.machine import WindowsMachine

EVENTS = 10_000_000
HOSTS = 600
RUNS = 40
LONG_PROCESS_EVENTS = 10_000
_START_US = 1_780_300_800 * 1_000_000
_SENDERS = 32
_REST_S = 20
"""At least so long a pause after the load, so that searches do not compete with its merges."""


@dataclass(frozen=True, slots=True)
class Question:
    """A kind of search, with one query per run."""

    name: str
    queries: Sequence[str]
    must_find: bool = True


_WORDS = (
    "msbuild release",
    "renderer ticks",
    "cl.exe nologo",
    "eslint stdin",
    "gcc wall",
    "chrome lang",
    "remotesigned inventory",
    "robocopy mir",
    "csc.exe utf8output",
    "processid dllhost",
    "winword docx",
    "git porcelain",
    "rsync nightly",
    "link.exe machine",
)
_SUFFIXES = tuple(image.path.rsplit("\\", 1)[-1].lower() for image in WINDOWS_PROGRAMS[:40])
_HASHES = tuple(
    file_hashes(image.path, image.versions[0]).md5 for image in WINDOWS_MODULES + WINDOWS_PROGRAMS
)
_RANGES = tuple(
    f"{network}.{first}/{bits}"
    for network in ("192.0.2", "198.51.100", "203.0.113")
    for first, bits in ((0, 24), (64, 26), (128, 25), (192, 28), (224, 27))
)

QUESTIONS: tuple[Question, ...] = (
    Question(
        "two words of a command line",
        [" ".join(f"cmdline:{word}" for word in pair.split()) for pair in _WORDS],
    ),
    Question("a path suffix", [f"path:{name}" for name in _SUFFIXES]),
    Question("a file path suffix", [f"filemod:{name}.lnk" for name in ("offer", "order", "audit")]),
    Question("a domain", [f"domain:{name}" for name in WEB_NAMES]),
    Question("a hash", [f"md5:{digest}" for digest in _HASHES]),
    Question("an IP range", [f"ipaddr:{block}" for block in _RANGES]),
    Question("the newest 10 of all", [""]),
)


def run(room: Path) -> Outcome:
    server = ServerProcess(room / "server", 0)
    try:
        access = server.wait_until_ready(120)
        begin = time.monotonic()
        sent = _load(access)
        load_s = time.monotonic() - begin
        rest_s = wait_idle(room / "server", _REST_S)
        with api_client(access) as client:
            total = client.get("/api/v1/process", params={"rows": 0}).json()["total_results"]
            figures = [_ask(client, question) for question in QUESTIONS]
            figures.append(_read_long_process(client))
    finally:
        server.stop()
    return Outcome(
        f"{sent:,} events of {HOSTS} simulated hosts, {total:,} segments; {RUNS} runs a question",
        tuple(figures),
        (
            f"sent in {load_s:.0f} s through _bulk; rows=10, one question at a time",
            f"asked {rest_s} s after it, once the disk stayed the same or three minutes had gone",
        ),
    )


def _ask(client: httpx.Client, question: Question) -> Figure:
    def once(number: int) -> None:
        query = question.queries[number % len(question.queries)]
        answer = client.get("/api/v1/process", params={"q": query, "rows": 10})
        body = answer.raise_for_status().json()
        if question.must_find and not body["total_results"] and number == 0:
            raise RuntimeError(f"{query!r} finds nothing: {body}")

    return Figure(f"p95 of {question.name}", _p95_ms(once), "ms", at_most=100)


def _read_long_process(client: httpx.Client) -> Figure:
    found = client.get("/api/v1/process", params={"q": "process_name:longrun.exe", "rows": 1})
    identity = found.raise_for_status().json()["results"][0]["id"]

    def once(_number: int) -> None:
        answer = client.get(f"/api/v4/process/{identity}/0/event").raise_for_status()
        events = answer.json()["process"]["filemod_complete"]
        if len(events) != LONG_PROCESS_EVENTS:
            raise RuntimeError(f"{len(events)} events in place of {LONG_PROCESS_EVENTS}")

    return Figure(
        f"p95 of the {LONG_PROCESS_EVENTS:,} events of a process", _p95_ms(once), "ms", at_most=100
    )


def _p95_ms(once: Callable[[int], Any]) -> float:
    once(0)
    seconds = []
    for number in range(RUNS):
        begin = time.perf_counter()
        once(number)
        seconds.append(time.perf_counter() - begin)
    return sorted(seconds)[int(RUNS * 0.95) - 1] * 1000


def _load(access: LocalAccess) -> int:
    """Sends everything; gives the number of events."""
    target = Target(access.url, access.ingest_token, Path(access.certificate))
    batches: Queue[Batch | None] = Queue(_SENDERS * 2)
    counts: list[int] = []

    def work() -> None:
        connection = BulkConnection(target)
        while (batch := batches.get()) is not None:
            counts.append(connection.deliver(batch.body).acknowledged)
        connection.close()

    senders = [Thread(target=work, daemon=True) for _ in range(_SENDERS)]
    for sender in senders:
        sender.start()
    fleet = build_fleet(1, HOSTS)
    for batch in iter_batches(fleet, _START_US, events=EVENTS):
        batches.put(batch)
    batches.put(long_process(fleet))
    for _ in senders:
        batches.put(None)
    for sender in senders:
        sender.join()
    return sum(counts)


def long_process(fleet: Fleet) -> Batch:
    """One process that writes ten thousand files, on a host of its own."""
    host = replace(fleet.first("workstation"), name=f"long-001.{DOMAIN}")
    machine = WindowsMachine(host, fleet.seed, _START_US)
    path = r"C:\Tools\longrun.exe"
    process = machine.run(_START_US + HOUR_US, path, f"{path} --all", machine.root())
    for number in range(LONG_PROCESS_EVENTS):
        at_us = process.start_us + number * 250_000
        machine.write(at_us, process, rf"C:\Data\{number // 100:03d}\item-{number:05d}.dat")
    lines = [b"".join(stream.frame(at_us, body)) for at_us, stream, body in machine.out]
    return Batch(b"".join(lines), len(lines), process.start_us)


PART = Part("search", run)
