"""A simulated fleet that checks in over HTTPS, and the list of 100,000 sensors.

The fleet is enrolled by writing its rows, then started; every sensor has a connection of its own
only for as long as a check-in takes, as many at once as there are workers, which is what a server
behind keep-alive sees of a fleet with one check-in in half a minute each. The load comes from a
process of its own on the same cores. A check-in is timed from the moment it was due.
"""

import asyncio
import random
import ssl
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
from sqlalchemy import insert

from bench.figure import Figure, Outcome, Part
from bench.watch import watched
from vedette.bootstrap.local_access import LocalAccess
from vedette.cli.server_process import ServerProcess, api_client
from vedette.clock import SystemClock
from vedette.state.db.database import open_database
from vedette.state.db.schema import SENSOR
from vedette.state.sensors.sensor_selection import SORTS

SENSORS: Final = 100_000
CHECKINS_PER_S: Final = 500
SECONDS: Final = 30
WARM_S: Final = 20
"""Until every sensor has come once, as after a start of the server."""
CONNECTIONS: Final = 64
KEY: Final = "key of sensor {number}"
PAGES: Final = (0, 50_000, 99_900)
DAY_US: Final = 86_400 * 1_000_000
"""Since when the fleet is there."""

SERVED: Final = 10_000
"""Number of sensors that check in, in turn."""


def run(room: Path) -> Outcome:
    data = room / "server"
    fill(data)
    server = ServerProcess(data, 0)
    try:
        access = server.wait_until_ready()
        with watched(server.pid) as watch:
            rate, times_ms = _checkins(access)
        lists_ms = _lists(access)
    finally:
        server.stop()
    slowest = max(lists_ms)
    return Outcome(
        f"{SENSORS:,} sensors; {SERVED:,} of them check in over {CONNECTIONS} TLS connections,"
        f" {CHECKINS_PER_S} times a second for {SECONDS} s; SQLite",
        (
            Figure("check-ins", rate, "/s", at_least=0.99 * CHECKINS_PER_S),
            Figure("check-in, p50", _share(times_ms, 0.5), "ms"),
            Figure("check-in, p95", _share(times_ms, 0.95), "ms", at_most=50),
            Figure("processor time of a check-in", 1_000 * watch.cores() / CHECKINS_PER_S, "ms"),
            Figure(
                "sensor list, any sort, any page, p50", _share([t for t, _ in lists_ms], 0.5), "ms"
            ),
            Figure(
                "sensor list, any sort, any page, p95",
                _share([t for t, _ in lists_ms], 0.95),
                "ms",
                at_most=200,
            ),
        ),
        (
            f"the slowest page was that of {slowest[1]}: {slowest[0]:.0f} ms",
            f"the server used {watch.cores():.2f} cores while sensors checked in",
        ),
    )


def fill(data: Path) -> None:
    """Starts a server once, for its schema, and writes the fleet into it."""
    server = ServerProcess(data, 0)
    server.wait_until_ready()
    server.stop()
    database = open_database("", data)
    chance, now_us = random.Random(5), SystemClock().now_us()
    with database.writing() as connection:
        for begin in range(1, SENSORS + 1, 5_000):
            rows = [fleet_row(number, chance, now_us) for number in range(begin, begin + 5_000)]
            connection.execute(insert(SENSOR), rows)
    database.close()


def fleet_row(number: int, chance: random.Random, now_us: int) -> dict[str, Any]:
    """A row of an enrolled sensor, whose key is `KEY`."""
    address = f"10.{chance.randrange(256)}.{chance.randrange(256)}.{chance.randrange(256)}"
    return {
        "id": number,
        "hostname": f"{chance.randrange(10**9)}-host-{number}.corp.example",
        "computer_name": f"{chance.randrange(10**9)}-host-{number}",
        "group_id": 1,
        "os_type": chance.choice(("linux", "windows", "osx")),
        "interface_ip": address,
        "first_seen_us": now_us - chance.randrange(10**13),
        "last_seen_us": now_us - chance.randrange(10**10),
        "changed_us": now_us - DAY_US,
        "network_isolation_enabled": chance.random() < 0.01,
        "is_isolating": False,
        "restart_queued": False,
        "uninstall": False,
        "enrolled_us": now_us,
        "key_sha256": sha256(KEY.format(number=number).encode()).digest(),
        "machine_id": f"{chance.getrandbits(128):032x}",
        "checkin_us": now_us - chance.randrange(10**9),
        "next_checkin_us": now_us + chance.randrange(10**8),
        "sensor_version": "1.0.0",
        "boot_id": f"{chance.getrandbits(128):032x}",
        "uptime_s": chance.randrange(10**7),
        "sensor_uptime_s": chance.randrange(10**7),
        "health_status": chance.randrange(101),
        "health_message": "Healthy",
        "eventlog_bytes": chance.randrange(10**7),
        "volume_total_bytes": 2**40,
        "volume_free_bytes": chance.randrange(2**40),
        "memory_bytes": 2**34,
        "network_adapters": f"{address},00155d019c08|",
        "addresses": address,
        "os_version": "Debian GNU/Linux 12 (bookworm)",
        "kernel": "6.1.0-18-amd64",
        "arch": "x86_64",
    }


# --- check-ins --------------------------------------------------------------------------


def _checkins(access: LocalAccess) -> tuple[float, list[float]]:
    """Check-ins a second, and the milliseconds of each; by a process of its own."""
    import subprocess

    command = [sys.executable, "-m", "bench.fleet", access.url, access.certificate]
    output = subprocess.run(command, capture_output=True, check=True).stdout
    rate, times_ms = orjson.loads(output)
    return rate, times_ms


async def _load(url: str, certificate: str) -> tuple[float, list[float]]:
    work: asyncio.Queue[tuple[int, float]] = asyncio.Queue()
    done: list[tuple[float, float]] = []
    workers = [
        asyncio.create_task(_worker(url, certificate, work, done)) for _ in range(CONNECTIONS)
    ]
    began = time.perf_counter() + 1
    for count in range((SECONDS + WARM_S) * CHECKINS_PER_S):
        due = began + count / CHECKINS_PER_S
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        work.put_nowait((count % SERVED + 1, due))
    await work.join()
    for worker in workers:
        worker.cancel()
    measured = [(due, end) for due, end in done if due >= began + WARM_S]
    span = max(end for _, end in measured) - began - WARM_S
    return len(measured) / span, [1_000 * (end - due) for due, end in measured]


async def _worker(
    url: str,
    certificate: str,
    work: "asyncio.Queue[tuple[int, float]]",
    done: list[tuple[float, float]],
) -> None:
    address = urlsplit(url)
    context = ssl.create_default_context(cafile=certificate)
    reader, writer = await asyncio.open_connection(address.hostname, address.port, ssl=context)
    while True:
        number, due = await work.get()
        writer.write(_request(number))
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode())
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        done.append((due, time.perf_counter()))
        work.task_done()


def _request(number: int) -> bytes:
    body = orjson.dumps(
        {
            "boot_id": "6f1d6c2e-8a4b-4c57-9a3e-2b6f0d1c7e55",
            "clock_us": time.time_ns() // 1_000,
            "uptime_s": number,
            "sensor_uptime_s": number,
            "sensor_version": "1.0.0",
            "health_status": 100,
            "health_message": "",
            "event_backlog_bytes": number,
            "file_backlog_bytes": 0,
            "system_volume_total_bytes": 2**40,
            "system_volume_free_bytes": 2**39 + number,
            "physical_memory_size": 2**34,
            "adapters": [{"ip": "10.0.0.5", "mac": "00:15:5d:01:9c:08"}],
            "is_isolating": False,
            "sequence": {"epoch": "e", "next": number},
        }
    )
    return (
        b"POST /sensor/v1/checkin HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Authorization: Sensor %d:%s\r\nContent-Length: %d\r\n\r\n"
        % (number, KEY.format(number=number).encode(), len(body))
    ) + body


# --- lists ------------------------------------------------------------------------------


def _lists(access: LocalAccess) -> list[tuple[float, str]]:
    """Milliseconds of a page of 100, for every sort, both ways, at the begin, middle and end."""
    found = []
    with api_client(access) as client:
        for sort in SORTS:
            for direction in ("asc", "desc"):
                for start in PAGES:
                    asked = {"sort.col": sort, "sort.dir": direction, "start": start, "rows": 100}
                    began = time.perf_counter()
                    answer = client.get("/api/v2/sensor", params=asked)
                    found.append((1_000 * (time.perf_counter() - began), sort))
                    if len(answer.json()["results"]) != 100:
                        raise RuntimeError(answer.text[:200])
    return found


def _share(values: list[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)]


PART = Part("fleet", run)

if __name__ == "__main__":
    sys.stdout.buffer.write(orjson.dumps(asyncio.run(_load(sys.argv[1], sys.argv[2]))))
