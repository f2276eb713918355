"""Asks `/healthz` all the time, from a process of its own that the load of the attackers does not
slow down: `python -m tests.fault.hostile.prober URL CERTIFICATE PID`, until its input is closed.
It runs before everybody on its cores, so that it measures the server's time and not its own; where
it may not (CAP_SYS_NICE), it measures both, and says so.

Prints JSON: milliseconds of every probe, what the slowest was spent with, statuses that were not
200, and megabytes of the server.
"""

import json
import os
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

from bench.watch import watched
from tests.support.cores import come_first, stolen_ms, turns_ms

_PAUSE_S = 0.05
_TIMEOUT_S = 30.0
_SLOWEST = 5
"""Number of slowest probes that are reported."""


@dataclass
class Probes:
    """Results of the prober; `times_ms` in ascending order."""

    times_ms: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)
    slowest: list[str] = field(default_factory=list)
    """Activity of the event loop and the prober during the slowest probes, and whether the prober
    waited for cores."""

    def share_ms(self, share: float) -> float:
        """The time that this share of the probes does not exceed."""
        return self.times_ms[min(int(len(self.times_ms) * share), len(self.times_ms) - 1)]

    def text(self) -> str:
        return (
            f"{len(self.times_ms)} probes of /healthz: p50 {self.share_ms(0.5):.0f} ms,"
            f" p99 {self.share_ms(0.99):.0f} ms, max {self.times_ms[-1]:.0f} ms;"
            f" memory {max(self.memory_mb):.0f} MB; the slowest: {self.slowest[0]}"
        )


@contextmanager
def probing(url: str, certificate: Path, pid: int) -> Iterator[Probes]:
    """The prober at work during the block; what it found is there once the block has ended."""
    found = Probes()
    command = [sys.executable, "-m", "tests.fault.hostile.prober", url, str(certificate), str(pid)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield found
        reported = json.loads(process.communicate(timeout=2 * _TIMEOUT_S)[0])
    found.times_ms = sorted(reported["times_ms"])
    found.failures, found.memory_mb = reported["failures"], reported["memory_mb"]
    found.slowest = reported["slowest"]


def _spent(pid: int) -> tuple[float, ...]:
    return (*turns_ms(pid), *turns_ms(os.getpid()), stolen_ms())


def _reported(time_ms: float, before: tuple[float, ...], after: tuple[float, ...]) -> str:
    """The rest of a probe the loop waited for the interpreter lock, or had nothing to do."""
    spent = [end - begin for begin, end in zip(before, after, strict=True)]
    return (
        f"{time_ms:.0f} ms: the loop ran {spent[0]:.0f} ms and waited {spent[1]:.0f} ms for a core,"
        f" the prober {spent[2]:.0f} and {spent[3]:.0f} ms; the host took {spent[4]:.0f} ms"
    )


def _probe(host: str, port: int, context: ssl.SSLContext) -> int:
    connection = HTTPSConnection(host, port, timeout=_TIMEOUT_S, context=context)
    try:
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def main(url: str, certificate: str, pid: int) -> None:
    where = urlsplit(url)
    context = ssl.create_default_context(cafile=certificate)
    is_first = come_first()
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    times_ms: list[float] = []
    failures: list[str] = []
    slowest: list[tuple[float, str]] = []
    with watched(pid, is_timed=True) as watch:
        while not ended.wait(_PAUSE_S):
            before = _spent(pid)
            began = time.perf_counter()
            try:
                status = _probe(where.hostname or "", where.port or 0, context)
            except (OSError, HTTPException) as error:
                failures.append(repr(error))
                continue
            times_ms.append(1_000 * (time.perf_counter() - began))
            reported = _reported(times_ms[-1], before, _spent(pid))
            slowest = sorted([*slowest, (times_ms[-1], reported)], reverse=True)[:_SLOWEST]
            if status != 200:
                failures.append(str(status))
    reported_slowest = [reported for _, reported in slowest]
    if not is_first:
        reported_slowest.append("the prober waited for its turn at the cores (no CAP_SYS_NICE)")
    memory_mb = watch.memory_mb
    print(
        json.dumps(
            {
                "times_ms": times_ms,
                "failures": failures,
                "memory_mb": memory_mb,
                "slowest": reported_slowest,
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
