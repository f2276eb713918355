"""A million alerts over the HTTP API: searched, counted, grouped, and ten thousand changed at once.

The alerts are a year of 5,000 hosts, written by statements of the engine in a child process, with a
second version of one in fifty. `python -m bench.alerts DIR` fills a store.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import httpx

from bench.figure import Figure, Outcome, Part
from bench.watch import wait_idle
from vedette.cli.server_process import ServerProcess, api_client
from vedette.store.engine.client import Engine
from vedette.store.engine.open import open_engine
from vedette.store.schema.create import create_tables

ALERTS: Final = 1_000_000
CHANGED: Final = 10_000
RUNS: Final = 20
HOSTS: Final = 5_000
_BLOCKS: Final = 20
_BEGIN_US: Final = 1_750_000_000_000_000
_STEP_US: Final = 30_000_000
_REST_S: Final = 20

_INSERT: Final = """
INSERT INTO alert (id, version, first_seq, counted_seq, source_kind, source_id, source_name,
    alert_type, subject, title, description, level, alert_severity, ioc_confidence,
    sensor_criticality, status, created_time, first_event_time, last_event_time, updated_time,
    `count`, sensor_id, hostname, `group`, os_type, username, process_name, process_path,
    process_id, segment_id, cmdline, parent_name, md5, feed_id, feed_name, watchlist_name,
    rule_text, tags, techniques, observed_filename, matched, event)
WITH number % 300 AS rule, toUInt32(number % {hosts} + 1) AS host,
    fromUnixTimestamp64Micro(toInt64({begin} + number * {step}), 'UTC') AS at,
    concat('prog', toString(number % 700), '.exe') AS program,
    concat('c:\\\\program files\\\\vendor\\\\', program) AS path,
    concat(program, ' --run ', toString(number)) AS line,
    concat('rule ', toString(rule), ' ', ['phishing', 'persistence', 'discovery'][1 + rule % 3])
        AS name
SELECT lower(hex(MD5(toString(number)))), {version}, number, number, 'rule', toString(rule), name,
    'watchlist.hit.query.process', toString(number), name, 'What it looks for, and why', 'high',
    toInt32((number * 7 % 100) * 1000), 500, 3000,
    ['Unresolved', 'Resolved', 'Resolved', 'False Positive', 'In Progress'][1 + number % 5],
    at, at, at, at, 1, host, concat('ws-', toString(host), '.corp.example'), 'Default Group',
    'windows', concat('CORP\\\\user', toString(host)), program, path,
    concat(leftPad(lower(hex(host)), 8, '0'), '-0000-0000-0000-',
        leftPad(toString(number), 12, '0')),
    1, line, 'winword.exe', lower(hex(MD5(program))), -1, 'Rules', name,
    repeat('detection: selection: x ', 20), ['attack.execution'], ['T1059.001'], [path],
    map('CommandLine', line), map('Image', path, 'CommandLine', line, 'User', 'CORP\\\\anna')
FROM numbers({first}, {count})
"""


def fill(engine: Engine) -> None:
    """The alerts, and a second version of some of them."""
    create_tables(engine)
    block = ALERTS // _BLOCKS
    fixed = {"hosts": HOSTS, "begin": _BEGIN_US, "step": _STEP_US}
    for number in range(_BLOCKS):
        first = number * block
        engine.command(_INSERT.format(first=first, count=block, version=1, **fixed))
        again = {"first": first, "count": block // 50, "version": 2}
        engine.command(_INSERT.format(**again, **fixed))


def run(room: Path) -> Outcome:
    data = room / "server"
    subprocess.run([sys.executable, "-m", "bench.alerts", str(data / "telemetry")], check=True)
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
        ("the worst open ones", {"q": "status:Unresolved", "sort": "alert_severity desc"}),
        ("a host", {"q": "hostname:ws-{}"}),
        ("a path", {"q": "process_path:prog{}.exe"}),
        ("two words of a title", {"q": 'title:"rule {}"'}),
        ("severity and a day", {"q": "alert_severity:[{} TO *] created_time:[2026-01-01 TO *]"}),
    )
    figures = [
        Figure(f"p95 of {name}", _p95_ms(_search(client, asked)), "ms", at_most=100)
        for name, asked in questions
    ]
    facets = {"facet": "true", "rows": "0", "q": "hostname:ws-{}"}
    figures += [
        Figure("p95 of eleven facets of a host", _p95_ms(_search(client, facets)), "ms"),
        Figure("p95 of groups by rule", _p95_ms(_group(client)), "ms"),
        Figure(f"bulk change of {CHANGED:,} by query", _bulk_s(client), "s", at_most=2),
    ]
    return Outcome(f"{ALERTS:,} alerts of {HOSTS:,} hosts", tuple(figures))


def _search(client: httpx.Client, asked: dict[str, str]) -> Callable[[int], Any]:
    def once(number: int) -> None:
        params = {name: value.format(number + 1) for name, value in asked.items()}
        answer = client.get("/api/v2/alert", params=params)
        answer.raise_for_status()
        assert answer.json()["total_results"]
        assert not answer.json()["incomplete_results"]

    return once


def _group(client: httpx.Client) -> Callable[[int], Any]:
    def once(number: int) -> None:
        query = {"q": f"hostname:ws-{number + 1}", "group.field": "rule"}
        client.get("/api/v2/alert/group", params=query).raise_for_status()

    return once


def _bulk_s(client: httpx.Client) -> float:
    """The slowest of three changes, each of other alerts."""
    slowest = 0.0
    for number in range(3):
        first = number * CHANGED * _STEP_US + _BEGIN_US
        last = first + CHANGED * _STEP_US - 1
        query = f"created_time:[{_instant(first)} TO {_instant(last)}]"
        began = time.monotonic()
        answer = client.post(
            "/api/v1/alerts", json={"query": query, "assigned_to": f"bench {number}"}
        )
        slowest = max(slowest, time.monotonic() - began)
        assert answer.json() == {"result": "success", "changed": CHANGED}, answer.text
    return slowest


def _instant(time_us: int) -> str:
    second, micros = divmod(time_us, 1_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(second))}.{micros:06d}"


def _p95_ms(once: Callable[[int], Any]) -> float:
    times = []
    for number in range(RUNS):
        began = time.monotonic()
        once(number)
        times.append((time.monotonic() - began) * 1_000)
    return sorted(times)[int(len(times) * 0.95) - 1]


PART = Part("alerts", run)


if __name__ == "__main__":
    opened = open_engine(Path(sys.argv[1]))
    fill(opened)
    opened.close()
