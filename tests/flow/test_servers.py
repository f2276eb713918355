"""Two servers on one PostgreSQL and one ClickHouse: any takes any request, both know the same."""

import asyncio
import json
import secrets
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.test_sessions import PASSWORD, browser, sign_in
from tests.fault.detected import Starter
from tests.fault.senders import Sender, drain, stored_paths
from tests.fault.test_servers import alerts, due_alerts, stored_files, watch_shells
from tests.support.served import Server, wait_for
from tests.support.server_cluster import Member, ServerCluster, server_cluster
from tests.support.sysmon import Host
from vedette.clock import SystemClock
from vedette.errors import UnavailableError
from vedette.limits import SERVER_GRACE_S
from vedette.model.ids import slot_of
from vedette.pipeline.submission import Submission
from vedette.servers.forwarding import PATH, Forwarding
from vedette.servers.server_token import ServerTokens
from vedette.state.accounts import tokens, users
from vedette.state.sensors.host_registry import all_sensors
from vedette.state.servers import server_list, slots
from vedette.state.servers.server_list import RunningServer

REQUESTS_PER_MINUTE = 300
LEASE_S = 20
"""Longer than a starved machine keeps a server from renewing it."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerCluster]:
    settings = (
        f"requests_per_minute={REQUESTS_PER_MINUTE}",
        "trusted_proxies=127.0.0.1",
        f"server_lease_s={LEASE_S}",
    )
    with server_cluster(tmp_path_factory.mktemp("servers"), 2, *settings) as cluster:
        cluster.start()
        watch_shells(cluster)
        assert wait_for(cluster.is_shared_out, True, 30), [one.log for one in cluster.members]
        yield cluster


@pytest.fixture(scope="module")
def token(cluster: ServerCluster) -> str:
    return cluster.ingest_token()


def servers(cluster: ServerCluster, token: str = "") -> list[Server]:
    found = [one.server for one in cluster.members]
    return [replace(one, ingest_token=token or one.ingest_token) for one in found if one]


def post(server: Server, records: list[dict[str, Any]]) -> dict[str, Any]:
    body = b"".join(b'{"create":{}}\n' + json.dumps(one).encode() + b"\n" for one in records)
    with server.sender() as client:
        answer = client.post("/_bulk", content=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def running(cluster: ServerCluster, member: Member) -> RunningServer:
    """Returns a member once it has published its certificate, some time after it has hosts."""
    address = f":{member.links['peers'].port}"

    def published() -> list[RunningServer]:
        servers = server_list.running(cluster.state)
        return [one for one in servers if one.url.endswith(address) and one.certificate]

    assert wait_for(lambda: len(published()), 1, 30) == 1
    return published()[0]


def administrator(cluster: ServerCluster) -> str:
    """The API token of a new one, whose requests nobody has counted."""
    now_us = SystemClock().now_us()
    name = f"administrator-{secrets.token_hex(4)}"
    user = users.add(cluster.state, users.NewUser(name, is_global_admin=True), now_us)
    return tokens.issue(cluster.state, tokens.NewToken("api", user_id=user.id), now_us).secret


def submission(host: Host) -> Submission:
    process = host.process(4, "C:\\a.exe")
    text = json.dumps(host.of(process, 11, 1.0, TargetFilename="C:\\x")).encode()
    return Submission([text], 1, 7, len(text), any_group=True, parts=[1])


def test_records_of_any_host_can_be_sent_to_any_server(cluster: ServerCluster, token: str) -> None:
    senders = [Sender(f"any-{n}.example", numbered=n % 2 == 0) for n in range(8)]
    for _ in range(2):
        for server in servers(cluster, token):
            drain(senders, server)
    assert [(one.batch, one.refused) for one in senders] == [(4, [])] * 8
    holders = {one.slot: one.server_id for one in slots.all_slots(cluster.state)}
    ids = {ref.hostname: ref.id for ref in all_sensors(cluster.state).values()}
    assert len({holders[slot_of(ids[one.name])] for one in senders}) == 2
    for sender in senders:
        assert stored_files(cluster, sender) == Counter(sender.paths())
    for server, sender in zip(servers(cluster), senders, strict=False):
        with server.analyst() as client:
            assert sorted(stored_paths(client, sender)) == sorted(sender.paths())


def test_one_request_with_many_hosts_is_answered_in_its_order(
    cluster: ServerCluster, token: str
) -> None:
    hosts = [Host(f"many-{n}.example") for n in range(12)]
    records = [
        host.of(host.process(4, "C:\\many.exe"), 11, 1.0, TargetFilename=f"C:\\{n}-{time}")
        for time in range(3)
        for n, host in enumerate(hosts)
    ]
    records.insert(7, {"winlog": {"channel": "x"}})
    for server in servers(cluster, token):
        statuses = [item["create"]["status"] for item in post(server, records)["items"]]
        assert statuses.pop(7) == 400
        assert set(statuses) == ({201} if server.data.name == "server-0" else {200})


@pytest.mark.parametrize("numbered", [True, False])
def test_what_one_server_has_taken_is_a_duplicate_at_the_other(
    cluster: ServerCluster, token: str, numbered: bool
) -> None:
    hosts = [Host(f"twice-{numbered}-{n}.example") for n in range(6)]
    records = [
        host.of(host.process(4, "C:\\twice.exe"), 11, 1.0, TargetFilename=f"C:\\{n}")
        for n, host in enumerate(hosts)
    ]
    for record in records if not numbered else ():
        del record["winlog"]["record_id"]
    results = [
        {item["create"]["status"] for item in post(server, records)["items"]}
        for server in (*servers(cluster, token), *servers(cluster, token))
    ]
    assert results == [{201}, {200}, {200}, {200}]


def test_what_fires_on_either_server_is_one_alert(cluster: ServerCluster, token: str) -> None:
    starters = [Starter(f"fires-{n}.example", numbered=True) for n in range(3)]
    for server in servers(cluster, token):
        with server.sender() as client:
            for starter in starters:
                starter.deliver(client)
    due = due_alerts(starters)
    assert wait_for(lambda: alerts(cluster), due, 30) == due


def test_nobody_else_can_send_records_as_a_server(cluster: ServerCluster, token: str) -> None:
    server, receiver = servers(cluster, token)[0], running(cluster, cluster.members[0])
    signing, now_us = ServerTokens(cluster.state), SystemClock().now_us()
    body = b"\x91\x90"
    good = signing.sign("x", receiver.id, body, now_us)
    other = running(cluster, cluster.members[1]).id
    refused = (
        {},
        {"authorization": f"Bearer {server.ingest_token}"},
        {"x-auth-token": server.token},
        {"authorization": signing.sign("x", other, body, now_us)},
        {"authorization": signing.sign("x", receiver.id, body + b"!", now_us)},
        {"authorization": signing.sign("x", receiver.id, body, now_us - 120_000_000)},
    )
    with server.client() as client:
        for headers in refused:
            assert client.post(PATH, content=body, headers=headers).status_code == 401, headers
        headers = {"authorization": good}
        assert client.post(PATH, content=body, headers=headers).status_code == 400


def test_records_go_to_the_certificate_of_the_receiver_alone(cluster: ServerCluster) -> None:
    receiver = running(cluster, cluster.members[1])
    sent = submission(Host("pinned.example"))
    sender = running(cluster, cluster.members[0]).id

    async def send(to: RunningServer) -> None:
        forwarding = Forwarding(ServerTokens(cluster.state), SystemClock().now_us)
        try:
            await forwarding.send(sender, to, sent)
        finally:
            await forwarding.close()

    asyncio.run(send(receiver))
    others = running(cluster, cluster.members[0]).certificate
    other = replace(receiver, certificate=others)
    with pytest.raises(UnavailableError, match="cannot reach"):
        asyncio.run(send(other))
    with pytest.raises(UnavailableError, match="starting"):
        asyncio.run(send(replace(receiver, certificate="")))


def is_refused(client: httpx.Client, requests: int, pause_s: float = 0.0) -> bool:
    """Whether one of so many requests is above the rate."""
    for _ in range(requests):
        if client.get("/api/info").status_code == 429:
            return True
        time.sleep(pause_s)
    return False


def test_sessions_lock_outs_and_limits_hold_on_all_servers(cluster: ServerCluster) -> None:
    one, two = servers(cluster)
    now_us = SystemClock().now_us()
    for name in ("ann", "bob"):
        users.add(cluster.state, users.NewUser(name, password=PASSWORD), now_us)
    with browser(one) as here, browser(two) as there:
        assert sign_in(here, "ann").status_code == 200
        there.cookies = here.cookies
        assert there.get("/api/v1/session").json()["username"] == "ann"
    address = "10.9.9.9"
    with browser(one, address) as here, browser(two, address) as there:
        tries = [sign_in(client, "bob", "wrong") for client in (here, there) for _ in range(4)]
        assert {answer.status_code for answer in tries} == {401}
        for client in (here, there):
            assert sign_in(client, "bob").json()["reason"] == "locked_out"
    with one.analyst() as here, two.analyst() as there:
        there.headers["X-Auth-Token"] = here.headers["X-Auth-Token"]
        # A bucket is filled while it is emptied: one refusal says nothing of the next request.
        assert is_refused(here, 2 * REQUESTS_PER_MINUTE)
        assert is_refused(there, REQUESTS_PER_MINUTE // 2, pause_s=0.1)  # its own would hold twice


def test_the_approved_list_of_one_server_is_in_force_on_the_other(cluster: ServerCluster) -> None:
    one, two = servers(cluster)
    token = administrator(cluster)
    with one.client(**{"X-Auth-Token": token}) as here, two.client() as there:
        there.headers.update({"X-Auth-Token": token, "X-Forwarded-For": "192.0.2.7"})
        assert there.get("/api/info").status_code == 200
        here.post("/api/v1/approvedlist/entries", json={"ipaddr": ["127.0.0.1"]}).raise_for_status()
        here.patch("/api/v1/approvedlist/enabled", json={"state": True}).raise_for_status()
        try:
            assert wait_for(lambda: there.get("/api/info").status_code, 403, 30) == 403
        finally:
            here.patch("/api/v1/approvedlist/enabled", json={"state": False}).raise_for_status()


def test_a_partition_that_one_server_begins_is_written_to_by_both(
    cluster: ServerCluster, token: str
) -> None:
    with servers(cluster)[0].client(**{"X-Auth-Token": administrator(cluster)}) as client:
        client.post("/api/v1/storage/events/new_partition").raise_for_status()
    newest = cluster.front.ask("SELECT max(opened_ms) FROM vedette.partition")[0][0]
    host = Host("rolled.example")

    def places() -> set[str]:
        for server in servers(cluster, token):
            records = [host.of(host.process(4, "C:\\r.exe"), 11, 1.0, TargetFilename="C:\\r")]
            post(server, records)
        rows = cluster.front.ask(
            "SELECT DISTINCT partition_ms FROM vedette.segment WHERE hostname = 'rolled.example' "
            "AND window_ms = (SELECT max(window_ms) FROM vedette.segment)"
        )
        return {row[0] for row in rows}

    assert wait_for(places, {newest}, 15) == {newest}


def test_a_server_does_not_wait_for_one_that_hangs(cluster: ServerCluster, token: str) -> None:
    hosts = [Host(f"alone-{n}.example") for n in range(8)]
    first = servers(cluster, token)[0]
    post(first, [record for host in hosts for record in one_file(host)])
    own_id = running(cluster, cluster.members[0]).id
    holders = {one.slot: one.server_id for one in slots.all_slots(cluster.state)}
    ids = {ref.hostname: ref.id for ref in all_sensors(cluster.state).values()}
    own = [host for host in hosts if holders[slot_of(ids[host.name])] == own_id]
    assert own
    assert len(own) < len(hosts)
    cluster.members[1].signal(signal.SIGSTOP)
    try:
        began = time.monotonic()
        post(first, [record for host in own for record in one_file(host)])
        assert time.monotonic() - began < LEASE_S + SERVER_GRACE_S
    finally:
        cluster.members[1].signal(signal.SIGCONT)
    assert wait_for(cluster.is_shared_out, True, 30)


def one_file(host: Host) -> list[dict[str, Any]]:
    return [host.of(host.process(4, "C:\\a.exe"), 11, 1.0, TargetFilename="C:\\a")]


def test_a_server_with_another_key_for_secrets_does_not_start(
    cluster: ServerCluster, tmp_path: Path
) -> None:
    stranger = Member(tmp_path, 0, ("--port", "0", *cluster.members[0].flags[2:]))
    stranger.launch()
    assert stranger.process is not None
    assert stranger.process.wait(60) != 0
    assert "secrets.key: copy it" in stranger.log


def test_a_server_that_is_stopped_leaves_its_hosts_to_the_other_at_once(
    cluster: ServerCluster, token: str
) -> None:
    hosts = [Host(f"left-{n}.example") for n in range(4)]
    records = [
        host.of(host.process(4, "C:\\left.exe"), 11, 1.0, TargetFilename="C:\\l") for host in hosts
    ]
    post(servers(cluster, token)[0], records)
    cluster.members[1].stop()
    began = time.monotonic()

    def taken() -> bool:
        return {one.server_id for one in slots.all_slots(cluster.state)} == {
            running(cluster, cluster.members[0]).id
        }

    assert wait_for(taken, True, 10)
    assert time.monotonic() - began < 3

    def statuses() -> set[int]:
        try:
            answer = post(servers(cluster, token)[0], records)
        except AssertionError:
            return set()
        return {item["create"]["status"] for item in answer["items"]}

    assert wait_for(statuses, {200}, 10) == {200}
    cluster.members[1].start()
    assert wait_for(cluster.is_shared_out, True, 20)
