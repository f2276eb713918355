"""A million alerts through a forwarder of a running server to a directory: records a second, and
the memory of the server meanwhile."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import httpx

from bench.alerts import ALERTS
from bench.figure import Figure, Outcome, Part
from bench.watch import wait_idle
from vedette.cli.server_process import ServerProcess, api_client

_CONFIGS: Final = "/data_forwarder/v2/orgs/VEDETTE/configs"
_REST_S: Final = 20
_TIMEOUT_S: Final = 600


def run(room: Path) -> Outcome:
    data = room / "server"
    subprocess.run([sys.executable, "-m", "bench.alerts", str(data / "telemetry")], check=True)
    server = ServerProcess(data, 0)
    try:
        access = server.wait_until_ready(120)
        wait_idle(data, _REST_S)
        before = _resident_mib(access.pid)
        with api_client(access) as client:
            rate = _forward(client)
        grown = _peak_mib(access.pid) - before
    finally:
        server.stop()
    figures = (
        Figure("records forwarded", rate, "/s", at_least=20_000),
        Figure("memory of the server meanwhile", grown, "MiB", at_most=512),
    )
    return Outcome(f"{ALERTS:,} alerts to a directory", figures)


def _forward(client: httpx.Client) -> float:
    body = {
        "name": "bench",
        "types": ["alert"],
        "since": "1970-01-01",
        "path": "{org}/{type}",
        "interval_s": 1,
        "destination": {"kind": "directory"},
    }
    known = client.post(_CONFIGS, json=body).raise_for_status().json()
    began = time.monotonic()
    while (done := _records(client, known)) < ALERTS:
        if time.monotonic() - began > _TIMEOUT_S:
            break
        time.sleep(0.2)
    return done / (time.monotonic() - began)


def _records(client: httpx.Client, known: dict[str, Any]) -> int:
    answer = client.get(f"{_CONFIGS}/{known['id']}").raise_for_status()
    return int(answer.json()["streams"][0]["records"])


def _resident_mib(pid: int) -> float:
    return _status(pid, "VmRSS")


def _peak_mib(pid: int) -> float:
    return _status(pid, "VmHWM")


def _status(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (text,) = (line.split()[1] for line in lines if line.startswith(f"{name}:"))
    return int(text) / 1024


PART = Part("forwarder", run)
