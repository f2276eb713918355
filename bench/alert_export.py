"""A million alerts of a year through search v7 by `vedette alerts export`: alerts a second from the
start of the command to its end, and the memory of both sides meanwhile."""

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Final

from bench.alerts import ALERTS
from bench.figure import Figure, Outcome, Part
from bench.watch import Watch, wait_idle, watched
from vedette.cli.server_process import ServerProcess

_REST_S: Final = 20
_RATE: Final = 20_000


def run(room: Path) -> Outcome:
    data, output = room / "server", room / "alerts.jsonl"
    subprocess.run([sys.executable, "-m", "bench.alerts", str(data / "telemetry")], check=True)
    server = ServerProcess(data, 0)
    try:
        server.wait_until_ready(120)
        wait_idle(data, _REST_S)
        with watched(server.pid) as of_server:
            seconds, of_command = _export(data, output)
    finally:
        server.stop()
    _check(output)
    figures = (
        Figure("alerts exported", ALERTS / seconds, "/s", at_least=_RATE),
        Figure("memory of the command, last third to first", _growth(of_command), "", at_most=1.2),
        Figure("memory of the server, last third to first", _growth(of_server), "", at_most=1.2),
        Figure("memory of the command, most", max(of_command.memory_mb), "MB", at_most=512),
        Figure("file", output.stat().st_size / 1e6, "MB"),
    )
    return Outcome(f"{ALERTS:,} alerts to JSON lines, 10,000 a search, by month", figures)


def _export(data: Path, output: Path) -> tuple[float, Watch]:
    words = ["alerts", "export", str(output), "--from", "2025-06-01", "--data", str(data)]
    began = time.monotonic()
    command = subprocess.Popen([sys.executable, "-m", "vedette", *words])
    with watched(command.pid) as watch:
        if command.wait() != 0:
            raise RuntimeError("the export failed")
    return time.monotonic() - began, watch


def _growth(watch: Watch) -> float:
    return watch.memory_between(2 / 3, 1.0) / watch.memory_between(0.1, 1 / 3)


def _check(output: Path) -> None:
    """Each alert is there once."""
    with output.open("rb") as lines:
        counts = Counter(json.loads(line)["id"] for line in lines)
    if len(counts) != ALERTS or max(counts.values()) != 1:
        raise RuntimeError(f"{len(counts):,} alerts, one of them {max(counts.values())} times")


PART = Part("alert-export", run)
