"""Reads that are paged or streamed can begin at one server and continue at another."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.flow.conftest import TWO_SERVERS
from tests.flow.test_alert_export import ALERTS, days_ago, detections, ids, run
from tests.flow.test_servers import administrator
from tests.support.cloud import ORG
from tests.support.dropping_proxy import dropping_proxy
from tests.support.served import Server, wait_for
from tests.support.server_cluster import ServerCluster
from tests.support.sysmon import story
from vedette.alerting.detection_writer import DetectionWriter
from vedette.cli.cloud.alerts import ALERT_EXPORT_LAG_S
from vedette.clock import DrivenClock, SystemClock
from vedette.state.accounts import tokens, users
from vedette.store.engine.capabilities import replicated
from vedette.store.engine.open import connect_engine

pytestmark = TWO_SERVERS

TIMEOUT_S = 60.0
HOSTS = 5
DAY_US = 86_400_000_000
SETTLING_US = (ALERT_EXPORT_LAG_S - 12) * 1_000_000
"""An alert of that age is exported 12 seconds later: writing it takes less."""


@pytest.fixture(scope="module")
def cluster(two_servers: ServerCluster) -> ServerCluster:
    one, _ = servers(two_servers)
    with one.sender() as sender:
        for n in range(HOSTS):
            records = story(f"read-{n}.example").records

            def taken(records: list[dict[str, Any]] = records) -> bool:
                return sender.post("/api/v1/ingest", json=records).is_success

            assert wait_for(taken, True, TIMEOUT_S)
    return two_servers


@pytest.fixture
def clients(cluster: ServerCluster) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    """Clients of one user at both servers."""
    word = {"X-Auth-Token": administrator(cluster)}
    one, other = servers(cluster)
    with one.client(**word) as here, other.client(**word) as there:
        yield here, there


def servers(cluster: ServerCluster) -> list[Server]:
    return [one.server for one in cluster.members if one.server]


def answered(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def shell(client: httpx.Client) -> str:
    query = {"q": "hostname:read-0.example process_name:powershell.exe"}
    found: str = answered(client.get("/api/v1/process", params=query))["results"][0]["id"]
    return found


def test_a_stream_of_events_goes_on_at_the_other_server(
    clients: tuple[httpx.Client, httpx.Client],
) -> None:
    here, there = clients
    asked = {"process_id": shell(here), "segment_id": 1}
    begun = answered(here.post("/api/v6/process/stream", json=asked))
    path = f"/api/v6/process/stream/{begun['stream_id']}"
    whole = answered(there.get(path, params={"rows": 100}))["events"]
    assert len(whole) > 3
    read = answered(here.get(path, params={"rows": 1}))["events"]
    for number in range(1, len(whole)):
        client = (here, there)[number % 2]
        page = answered(client.get(path, params={"seek": "", "by": 1, "rows": 1}))
        read += page["events"]
    assert read == whole
    criteria = {"criteria": {"event_type": ["filemod"]}}
    answered(there.patch(path, json=criteria, params={"rows": 0}))
    page = answered(here.get(path))
    assert {event["type"] for event in page["events"]} <= {"filemod"}
    assert there.post(path).is_success
    gone = here.get(path)
    assert (gone.status_code, begun["stream_id"] in gone.json()["message"]) == (404, True)


def test_a_tree_goes_on_at_the_other_server(clients: tuple[httpx.Client, httpx.Client]) -> None:
    here, there = clients
    query = {"q": "hostname:read-1.example process_name:winword.exe"}
    root = answered(here.get("/api/v1/process", params=query))["results"][0]["id"]
    path = f"/api/v1/process/{root}/tree"
    whole = [node["id"] for node in answered(here.get(path))["nodes"]]
    assert len(whole) == 3
    token, read = None, []
    for turn in range(2 * len(whole)):
        asked = {"max_nodes": 1, **({"continue": token} if token else {})}
        page = answered((here, there)[turn % 2].get(path, params=asked))
        read += [node["id"] for node in page["nodes"]]
        token = page["continue"]
        if token is None:
            break
    assert read == whole


def test_pages_of_devices_and_a_job_are_read_at_the_other_server(
    clients: tuple[httpx.Client, httpx.Client],
) -> None:
    here, there = clients
    base = f"/appservices/v6/orgs/{ORG}/devices"
    read: list[str] = []
    body: dict[str, Any] = {"rows": 2}
    for turn in range(HOSTS):
        page = answered((here, there)[turn % 2].post(f"{base}/_scroll", json=body))
        read += [one["name"] for one in page["results"]]
        body["search_after"] = page["search_after"]
    assert len(read) == len(set(read)) == HOSTS
    job = answered(here.post(f"{base}/_export", json={}))
    path = f"/jobs/v1/orgs/{ORG}/jobs/{job['id']}/download"

    def exported() -> int:
        answer = there.get(path)
        return answer.text.count("read-") if answer.is_success else 0

    assert wait_for(lambda: exported() >= HOSTS, True, TIMEOUT_S)


def test_an_export_of_alerts_goes_on_with_the_other_server(
    cluster: ServerCluster, tmp_path: Path
) -> None:
    then = DrivenClock(SystemClock().now_us() - 5 * DAY_US)
    with closing(connect_engine(cluster.front.dsn, replicated("vedette", 1))) as engine:
        DetectionWriter(engine, cluster.state, then).write(detections(5))
    one, other = servers(cluster)
    output = tmp_path / "alerts.jsonl"
    first = run(one, output, "--from", days_ago(9), "--to", days_ago(1))
    assert first.returncode == 0, first.stderr
    assert len(set(ids(output))) == len(ids(output)) == ALERTS
    later = DrivenClock(SystemClock().now_us() - DAY_US // 2)
    with closing(connect_engine(cluster.front.dsn, replicated("vedette", 1))) as engine:
        DetectionWriter(engine, cluster.state, later).write(detections(1))
    second = run(other, output)
    assert second.returncode == 0, second.stderr
    assert len(set(ids(output))) == len(ids(output)) == 2 * ALERTS
    assert json.loads(output.read_text().splitlines()[-1])["id"]


def made(cluster: ServerCluster, number: int, clock: DrivenClock) -> None:
    """Alerts, as a server makes them."""
    with closing(connect_engine(cluster.front.dsn, replicated("vedette", 1))) as engine:
        DetectionWriter(engine, cluster.state, clock).write(detections(number))


def seen(output: Path) -> list[str]:
    return ids(output) if output.exists() else []


def two_minutes_ago() -> str:
    return (datetime.now(UTC) - timedelta(minutes=2)).isoformat()


def issued(cluster: ServerCluster, name: str) -> str:
    """The secret of a new API token."""
    admin = next(one for one in users.all_users(cluster.state) if one.is_global_admin)
    new = tokens.NewToken("api", name, user_id=admin.id)
    return tokens.issue(cluster.state, new, SystemClock().now_us()).secret


def revoke(cluster: ServerCluster, name: str) -> None:
    now_us = SystemClock().now_us()
    for token in tokens.all_tokens(cluster.state):
        if token.name == name:
            tokens.revoke(cluster.state, token.id, now_us)


def test_who_follows_alerts_through_a_balancer_goes_on_when_a_server_dies(
    cluster: ServerCluster, tmp_path: Path
) -> None:
    output, token, trusted = (tmp_path / name for name in ("alerts.jsonl", "token", "trusted.pem"))
    one, other = cluster.members
    certificates = [member.data / "tls" / "cert.pem" for member in cluster.members]
    trusted.write_text("".join(path.read_text() for path in certificates))
    token.write_text(issued(cluster, "first") + "\n")
    with dropping_proxy(one.port) as balancer:
        address = f"https://127.0.0.1:{balancer.port}"
        words = ["--server", address, "--token-file", token, "--ca", trusted, "--follow"]
        command = [sys.executable, "-m", "vedette", "alerts", "export", output, *words]
        following = subprocess.Popen([*map(str, command), "--from", two_minutes_ago()])
        try:
            for number, change in enumerate((None, "server", "token")):
                if change == "server":
                    one.kill()
                    balancer.target_port = other.port
                elif change == "token":
                    token.write_text(issued(cluster, "second"))
                    revoke(cluster, "first")
                made(cluster, 100 + number, DrivenClock(SystemClock().now_us() - SETTLING_US))
                due = (number + 1) * ALERTS
                assert wait_for(lambda: len(seen(output)), due, 2 * TIMEOUT_S) == due
        finally:
            following.terminate()
            following.wait(TIMEOUT_S)
    assert len(set(seen(output))) == len(seen(output))
    one.start()
