"""Measures ingest and check-ins while a user runs 40 of the most expensive searches.

Measures the same fleet without and with searches. Searches and check-ins come from separate
processes, so that they slow down the load generator only through shared cores: `python -m
bench.starve searches|checkins ...`.
"""

import json
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx

from bench.figure import Figure, Outcome, Part
from tests.support.sensor import enrol
from vedette.bootstrap.local_access import LocalAccess
from vedette.cli.server_process import ServerProcess
from vedette.simulate.bulk_client import Target
from vedette.simulate.load import LoadPlan, LoadResult, run_load
from vedette.state.db.database import open_database
from vedette.state.policy.groups import DEFAULT_GROUP_ID
from vedette.state.sensors.enrolment import current_secret

SEARCHES: Final = 40
SECONDS: Final = 12.0
ENDPOINTS: Final = 200
INGEST_SHARE_MIN: Final = 0.5
CHECKIN_P95_TIMES_MAX: Final = 2.0
CHECKIN_PAUSE_S: Final = 0.02

WORDS: Final = " OR ".join(
    f"cmdline:({' '.join(f'w{group}x{number}' for number in range(120))})" for group in range(15)
)
QUERIES: Final = (
    WORDS,
    " OR ".join(f"word{number}" for number in range(1_900)),
    "cmdline:*a*e*i* OR cmdline:*o*u*",
    "-path:*\\x\\* filemod:*a*b* OR regmod:*c*d*",
    " ".join(f"cmdline:*{first}*{second}*" for first in "aei" for second in "ntsr"),
    "*",
)
"""Long to plan, or read every row; each with facets and highlights of a large page."""


def run(room: Path) -> Outcome:
    data = room / "server"
    server = ServerProcess(data, 0)
    try:
        access = server.wait_until_ready()
        secret = _secret(data)
        quiet, quiet_ms = _measured(access, secret, 1)
        with _other("searches", access.url, access.certificate, access.token) as reported:
            starved, starved_ms = _measured(access, secret, 2)
    finally:
        server.stop()
    searches = reported[0]
    return Outcome(
        f"{ENDPOINTS} simulated endpoints, as fast as they are acknowledged, for {SECONDS:.0f} s"
        f" without and {SECONDS:.0f} s under {SEARCHES} searches of one user",
        (
            Figure("ingest alone", quiet.events_per_s, "events/s"),
            Figure("ingest under searches", starved.events_per_s, "events/s"),
            Figure(
                "share that ingest keeps",
                starved.events_per_s / quiet.events_per_s,
                "of 1",
                at_least=INGEST_SHARE_MIN,
            ),
            Figure("check-in alone, p95", _share(quiet_ms, 0.95), "ms"),
            Figure("check-in under searches, p95", _share(starved_ms, 0.95), "ms"),
            Figure(
                "check-in under searches, p95 to that alone",
                _share(starved_ms, 0.95) / _share(quiet_ms, 0.95),
                "times",
                at_most=CHECKIN_P95_TIMES_MAX,
            ),
        ),
        (
            f"searches answered: {searches}",
            f"{len(quiet_ms)} and {len(starved_ms)} check-ins; events refused:"
            f" {quiet.refused + starved.refused}; errors: {[*quiet.errors, *starved.errors][:3]}",
        ),
    )


def _secret(data: Path) -> str:
    database = open_database("", data)
    try:
        return current_secret(database, DEFAULT_GROUP_ID)
    finally:
        database.close()


def _measured(access: LocalAccess, secret: str, seed: int) -> tuple[LoadResult, list[float]]:
    """The load, and milliseconds of the check-ins of one sensor meanwhile."""
    plan = LoadPlan(ENDPOINTS, 0, SECONDS, seed=seed)
    target = Target(access.url, access.ingest_token, Path(access.certificate))
    with _other("checkins", access.url, access.certificate, secret) as reported:
        result = run_load(plan, target)
    return result, sorted(reported[0])


@contextmanager
def _other(*words: str) -> Iterator[list[list[float]]]:
    """A further process at work during the block; what it tells is there once it has ended."""
    reported: list[list[float]] = []
    command = [sys.executable, "-m", "bench.starve", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield reported
        reported.append(json.loads(process.communicate(timeout=180)[0]))


def _share(times_ms: Sequence[float], share: float) -> float:
    return times_ms[min(int(len(times_ms) * share), len(times_ms) - 1)]


def _client(url: str, certificate: str) -> httpx.Client:
    context = ssl.create_default_context(cafile=certificate)
    return httpx.Client(base_url=url, verify=context, timeout=120)


def _until_reported() -> threading.Event:
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    return ended


def checkins(url: str, certificate: str, secret: str) -> list[float]:
    """Check-ins of one sensor over one connection, one after the other."""
    ended, times_ms = _until_reported(), []
    with _client(url, certificate) as client:
        sensor = enrol(client, f"starved-{time.time_ns()}.example", secret)
        while not ended.wait(CHECKIN_PAUSE_S):
            began = time.perf_counter()
            sensor.check_in().raise_for_status()
            times_ms.append(1_000 * (time.perf_counter() - began))
    return times_ms


def searches(url: str, certificate: str, token: str) -> dict[str, int]:
    """So many searches of one user at a time, each followed by the next; statuses with counts."""
    ended, seen, lock = _until_reported(), Counter[str](), threading.Lock()

    def search(number: int) -> None:
        with _client(url, certificate) as client:
            turn = number
            while not ended.is_set():
                turn += 1
                asked = {"q": QUERIES[turn % len(QUERIES)], "rows": 1_000, "facet": "true"}
                try:
                    status = str(
                        client.post(
                            "/api/v1/process", json=asked, headers={"X-Auth-Token": token}
                        ).status_code
                    )
                except httpx.HTTPError as error:
                    status = type(error).__name__
                with lock:
                    seen[status] += 1

    threads = [threading.Thread(target=search, args=(n,), daemon=True) for n in range(SEARCHES)]
    for thread in threads:
        thread.start()
    ended.wait()
    return dict(seen)


PART = Part("starve", run)


if __name__ == "__main__":
    print(json.dumps({"searches": searches, "checkins": checkins}[sys.argv[1]](*sys.argv[2:5])))
