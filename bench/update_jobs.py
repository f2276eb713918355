"""A sensor-update job of 10,000 devices: how long it takes to create, list and show it while it
runs, and a fleet that carries it out by checking in over HTTPS, of which a tenth refuses the kit.

The load comes from a process of its own on the same cores: `python -m bench.update_jobs`.
"""

import asyncio
import random
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import orjson
from sqlalchemy import insert

from bench.figure import Figure, Outcome, Part
from bench.fleet import KEY, fleet_row
from vedette.blobs.local_directory import LocalDirectory
from vedette.bootstrap.local_access import LocalAccess
from vedette.cli.server_process import ServerProcess, api_client
from vedette.clock import SystemClock
from vedette.respond.package_files import add_sensor_package
from vedette.state.db.database import open_database
from vedette.state.db.schema import SENSOR

DEVICES: Final = 10_000
REFUSING: Final = 1_000
CONNECTIONS: Final = 32
RUNS: Final = 20
OLD: Final = "1.0.0"
NEW: Final = "9.0.0.1"
_JOBS: Final = "/sus/v2/orgs/VEDETTE/jobs"
_REFUSAL: Final = "update: UpdateError: not signed"


def run(room: Path) -> Outcome:
    data = room / "server"
    _fill(data, room / "kit")
    server = ServerProcess(data, 0)
    try:
        access = server.wait_until_ready()
        with api_client(access) as client:
            figures = _measured(client)
            began = time.monotonic()
            requests = _carry_out(access)
            rate = requests / (time.monotonic() - began)
            _check(client)
            figures.append(Figure("list of jobs when it is over", _p95_ms(client, _JOBS), "ms"))
    finally:
        server.stop()
    figures.append(Figure("check-ins and downloads meanwhile", rate, "/s"))
    return Outcome(
        f"{DEVICES:,} devices, of which {REFUSING:,} refuse the kit; {CONNECTIONS} TLS connections;"
        " SQLite",
        tuple(figures),
    )


def _fill(data: Path, kit: Path) -> None:
    """Starts a server once, for its schema, and writes the fleet and the kit into it."""
    server = ServerProcess(data, 0)
    server.wait_until_ready()
    server.stop()
    database = open_database("", data)
    chance, now_us = random.Random(5), SystemClock().now_us()
    with database.writing() as connection:
        for number in range(1, DEVICES + 1):
            host = {"os_type": "linux", "os_version": "Ubuntu 24.04", "sensor_version": OLD}
            connection.execute(insert(SENSOR), fleet_row(number, chance, now_us) | host)
    kit.write_bytes(b"a new sensor")
    add_sensor_package(database, LocalDirectory(data / "blobs"), kit, "linux", NEW)
    database.close()


def _measured(client: httpx.Client) -> list[Figure]:
    """Creates the job, and looks at it."""
    body = {
        "action_type": "UPDATE_SENSOR_VERSION",
        "device_id": list(range(1, DEVICES + 1)),
        "options": {"sensor_version": {"UBUNTU": NEW}},
    }
    began = time.monotonic()
    job = client.post(_JOBS, json=body).raise_for_status().json()["job"]
    created_s = time.monotonic() - began
    if len(job["sensors"]) != DEVICES:
        raise RuntimeError("devices are missing")
    one = f"{_JOBS}/{job['id']}"
    csv_ms = _p95_ms(client, f"{one}/sensors?format=csv")
    return [
        Figure("create", created_s, "s", at_most=2),
        Figure("status (list of jobs), p95", _p95_ms(client, _JOBS), "ms", at_most=50),
        Figure("the job with its devices, p95", _p95_ms(client, one), "ms"),
        Figure("devices as CSV, p95", csv_ms / 1_000, "s", at_most=1),
    ]


def _p95_ms(client: httpx.Client, path: str) -> float:
    times = []
    for _ in range(RUNS):
        began = time.monotonic()
        client.get(path).raise_for_status()
        times.append((time.monotonic() - began) * 1_000)
    return sorted(times)[int(RUNS * 0.95) - 1]


def _check(client: httpx.Client) -> None:
    (job,) = client.get(_JOBS).raise_for_status().json()
    refused = len(job["failed_sensors_per_reason"]["UPDATE_REFUSED"])
    found = (job["status"], job["updated"], refused, job["percent_complete"])
    if found != ("COMPLETED", DEVICES - REFUSING, REFUSING, 100):
        raise RuntimeError(f"the job is {found}")


# --- the fleet --------------------------------------------------------------------------


def _carry_out(access: LocalAccess) -> int:
    """Every device checks in, fetches the kit, and checks in again; how many requests that was."""
    command = [sys.executable, "-m", "bench.update_jobs", access.url, access.certificate]
    return int(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


async def _fleet(url: str, certificate: str) -> int:
    found = await asyncio.gather(
        *(
            _devices(url, certificate, range(first, DEVICES + 1, CONNECTIONS))
            for first in range(1, CONNECTIONS + 1)
        )
    )
    return sum(found)


async def _devices(url: str, certificate: str, numbers: range) -> int:
    address = urlsplit(url)
    context = ssl.create_default_context(cafile=certificate)
    streams = await asyncio.open_connection(address.hostname, address.port, ssl=context)
    sent = 0
    for number in numbers:
        order = (await _exchange(streams, _check_in(number, OLD)))["update"]
        if number <= REFUSING:
            await _exchange(streams, _check_in(number, OLD, _REFUSAL))
            sent += 2
            continue
        await _exchange(streams, _fetch(number, order["url_path"]), bytes)
        await _exchange(streams, _check_in(number, NEW))
        sent += 3
    streams[1].close()
    return sent


async def _exchange(
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    request: bytes,
    read: Callable[[bytes], Any] = orjson.loads,
) -> Any:
    reader, writer = streams
    while True:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        body = await reader.readexactly(length)
        if head.startswith(b"HTTP/1.1 200"):
            return read(body)
        if head[9:12] != b"503":
            raise RuntimeError(f"{head.decode()}{body.decode()}")
        await asyncio.sleep(1)  # as sensors do


def _check_in(number: int, version: str, health: str = "Healthy") -> bytes:
    body = orjson.dumps(
        {
            "sensor_version": version,
            "clock_us": time.time_ns() // 1_000,
            "health_status": 100,
            "health_message": health,
        }
    )
    head = f"POST /sensor/v1/checkin HTTP/1.1\r\nContent-Length: {len(body)}\r\n"
    return (head + _usual(number)).encode() + body


def _fetch(number: int, path: str) -> bytes:
    return (f"GET {path} HTTP/1.1\r\n" + _usual(number)).encode()


def _usual(number: int) -> str:
    key = KEY.format(number=number)
    return (
        f"Host: x\r\nContent-Type: application/json\r\nAuthorization: Sensor {number}:{key}\r\n\r\n"
    )


PART = Part("update-jobs", run)


if __name__ == "__main__":
    print(asyncio.run(_fleet(sys.argv[1], sys.argv[2])))
