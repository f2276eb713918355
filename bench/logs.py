"""Two million event records over the HTTP API: the newest ten of a query, facets, a histogram.

The records are thirty days of logons and services of 2,000 hosts, written by statements of the
engine in a child process. `python -m bench.logs DIR` fills a store.
"""

import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import httpx

from bench.figure import Figure, Outcome, Part
from bench.watch import wait_idle
from vedette.cli.server_process import ServerProcess, api_client
from vedette.store.engine.client import Engine
from vedette.store.engine.open import open_engine
from vedette.store.schema.create import create_tables

RECORDS: Final = 2_000_000
HOSTS: Final = 2_000
RUNS: Final = 20
_BLOCKS: Final = 20
_BEGIN_US: Final = 1_750_000_000_000_000
_STEP_US: Final = 1_296_000
_REST_S: Final = 10

_INSERT: Final = """
INSERT INTO record (partition_ms, sensor_id, hostname, time, channel, event_id, record_id, provider,
    fields, committed, seq, record_key, request_key, level)
WITH toUInt32(cityHash64(number) % {hosts} + 1) AS host, cityHash64(number, 1) AS draw,
    fromUnixTimestamp64Micro(toInt64({begin} + number * {step}), 'UTC') AS at,
    draw % 10 = 0 AS is_service
SELECT 1750000000000, host, concat('ws-', toString(host), '.corp.example'), at,
    if(is_service, 'System', 'Security'),
    if(is_service, 7036, [4624, 4624, 4634, 4672, 4625][1 + draw % 5]), number + 1,
    if(is_service, 'Service Control Manager', 'Microsoft-Windows-Security-Auditing'),
    if(is_service,
        map('param1', concat('Service ', toString(draw % 300)), 'param2', 'running'),
        map('TargetUserName', concat('user', toString(draw % 5000)), 'TargetDomainName', 'CORP',
            'LogonType', toString(2 + draw % 9), 'TargetLogonId', concat('0x', hex(draw)),
            'IpAddress', concat('10.', toString(intDiv(draw, 1000) % 200), '.',
                toString(host % 250), '.7'),
            'WorkstationName', concat('WS-', toString(draw % {hosts})),
            'ProcessName', 'C:\\\\Windows\\\\System32\\\\svchost.exe',
            'AuthenticationPackageName', 'Negotiate')),
    at, number, 0, number + 1, 'information'
FROM numbers({first}, {count})
"""


def fill(engine: Engine) -> None:
    """Creates the tables and writes the records."""
    create_tables(engine)
    block = RECORDS // _BLOCKS
    for number in range(_BLOCKS):
        engine.command(
            _INSERT.format(
                hosts=HOSTS, begin=_BEGIN_US, step=_STEP_US, first=number * block, count=block
            )
        )


def run(room: Path) -> Outcome:
    data = room / "server"
    subprocess.run([sys.executable, "-m", "bench.logs", str(data / "telemetry")], check=True)
    server = ServerProcess(data, 0)
    try:
        access = server.wait_until_ready(120)
        wait_idle(data, _REST_S)
        with api_client(access) as client:
            return _measure(client)
    finally:
        server.stop()


def _measure(client: httpx.Client) -> Outcome:
    questions: tuple[tuple[str, dict[str, str]], ...] = (
        ("the newest 10", {}),
        ("a user", {"q": "target_user:user{}"}),
        ("failed logons from a network", {"q": "event_id:4625 src_ip:10.{}.0.0/16"}),
        ("a word", {"q": "user{}"}),
        ("a member of the data", {"q": "data.WorkstationName:ws-{}"}),
        ("a host and a day", {"q": "host:ws-{} time:[2025-06-20 TO 2025-06-21]"}),
        ("nine facets of a host", {"q": "host:ws-{}", "facet": "true", "rows": "0"}),
        ("a histogram of failed logons", {"q": "event_id:4625 OR {}", "svc.histogram": "time"}),
    )
    figures = [Figure(f"p95 of {name}", _p95_ms(client, asked), "ms") for name, asked in questions]
    return Outcome(f"{RECORDS:,} event records of {HOSTS:,} hosts", tuple(figures))


def _p95_ms(client: httpx.Client, asked: dict[str, str]) -> float:
    times = []
    for number in range(RUNS):
        params = {name: value.format(number + 1) for name, value in asked.items()}
        began = time.monotonic()
        answer = client.get("/api/v1/log", params=params)
        times.append((time.monotonic() - began) * 1_000)
        answer.raise_for_status()
        assert answer.json()["total_results"], params
        assert not answer.json()["incomplete_results"], params
    return sorted(times)[int(len(times) * 0.95) - 1]


PART = Part("logs", run)


if __name__ == "__main__":
    opened = open_engine(Path(sys.argv[1]))
    fill(opened)
    opened.close()
