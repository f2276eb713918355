"""`kill -9` at random moments while alerts are forwarded to a real object store whose connections
break: each alert is there exactly once."""

import time
from pathlib import Path
from typing import Any

import httpx

from tests.fault.crash import forked
from tests.fault.rounds import is_long, rounds, seeded
from tests.support.cloud import ORG
from tests.support.object_store import RealBucket, make_bucket, object_store
from tests.support.served import Server, listening, start_server, wait_for
from tests.support.unsteady_proxy import Mode, Unsteady, unsteady
from tests.support.written_detections import write_detections
from vedette.model.findings.detection import Detection, Source

ALERTS = 9_000
"""Several reads and files."""
ROUND_ALERTS = 500
"""New ones in each round of the long form: there is something to forward in all of them."""
FLAGS = ("--set", "egress_allow=127.0.0.1")
CONFIGS = f"/data_forwarder/v2/orgs/{ORG}/configs"
MODES: tuple[Mode, ...] = ("pass", "cut answer", "cut answer", "hang", "error", "cut request")
TIMEOUT_S = 180.0
ROUND_S = 20.0
"""For the first connection of a round: there is none when all was forwarded at once."""


def detections(first: int, count: int) -> list[Detection]:
    return [
        Detection(
            source=Source("rule", f"rule-{number}"),
            source_name="Rule",
            alert_type="watchlist.hit.query.process",
            subject=f"subject {number}",
            time_us=1_700_000_000_000_000 + number,
            sensor_id=1,
            title="Rule",
            seq=number + 1,
        )
        for number in range(first, first + count)
    ]


def forwarder(server: Server, bucket: RealBucket, proxy: Unsteady) -> None:
    body = {
        "name": "killed",
        "types": ["alert"],
        "since": "1970-01-01",
        "interval_s": 1,
        "destination": bucket.destination(proxy.url),
    }
    with server.analyst() as admin:
        admin.post(CONFIGS, json=body).raise_for_status()


def stream(server: Server) -> dict[str, Any]:
    with server.analyst() as admin:
        answer = admin.get(CONFIGS)
    found: dict[str, Any] = answer.json()["results"][0]["streams"][0]
    return found


def touch(server: Server) -> None:
    """Changes the forwarder, so that it retries failed deliveries immediately."""
    with server.analyst() as admin:
        (known,) = admin.get(CONFIGS).json()["results"]
        admin.put(f"{CONFIGS}/{known['id']}", json={}).raise_for_status()


def test_a_server_that_is_killed_forwards_each_alert_once(tmp_path: Path) -> None:
    draw = seeded()
    first = start_server(tmp_path, *FLAGS)
    next(first)
    first.close()
    alerts = ALERTS
    write_detections(tmp_path, detections(0, alerts))
    with object_store() as url, unsteady(url) as proxy:
        httpx.get(f"{url}/moto-api/").raise_for_status()
        bucket = RealBucket(url, make_bucket(url))
        proxy.mode = draw.choice(MODES[1:])
        for number in range(rounds(2)):
            if is_long():
                write_detections(tmp_path, detections(alerts, ROUND_ALERTS))
                alerts += ROUND_ALERTS
            with forked(tmp_path, *FLAGS) as process:
                server = listening(tmp_path, process)
                if number == 0:
                    forwarder(server, bucket, proxy)
                else:
                    touch(server)
                reached = sum(proxy.counts.values())
                wait_for(lambda at=reached: sum(proxy.counts.values()) > at, True, ROUND_S)  # type: ignore[misc]
                proxy.mode = draw.choice(MODES)
                time.sleep(draw.random() * 3)
                process.kill()
                assert process.wait() == -9
        proxy.mode = "pass"
        proxy.ends.set()
        with forked(tmp_path, *FLAGS) as process:
            server = listening(tmp_path, process)
            touch(server)
            newest = wait_for(lambda: stream(server)["state"], "working", TIMEOUT_S)
            assert newest == "working"
            ids: list[str] = []
            deadline = time.monotonic() + TIMEOUT_S
            while len(set(ids)) < alerts and time.monotonic() < deadline:
                time.sleep(1)
                ids = bucket.ids()
            process.terminate()
            process.wait(60)
    assert len(ids) == len(set(ids)) == alerts
