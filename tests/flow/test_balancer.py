"""Servers behind a real HAProxy with the configuration of `deploy/cluster`: it passes TLS on, says
where connections come from, and goes on at once when a server does not."""

import random
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import httpx
import pytest

from tests.fault.senders import Sender, check_stored_once
from tests.support.clickhouse_front import PASSWORD, USER
from tests.support.haproxy import ADDRESS, haproxy
from tests.support.ports import free_port
from tests.support.served import Server, wait_for
from tests.support.server_cluster import ServerCluster, server_cluster
from tests.support.threads import at_work

CALLS = 12
"""Each on a connection of its own, so that both servers would get some."""
CLICKHOUSE = ("clickhouse-1-1", "clickhouse-1-2", "clickhouse-2-1", "clickhouse-2-2")


@dataclass
class Balanced:
    """Two servers, and the balancer before them."""

    cluster: ServerCluster
    url: str
    token: str
    ingest_token: str

    @property
    def servers(self) -> list[Server]:
        return [one.server for one in self.cluster.members if one.server]

    def client(self, address: str = "127.0.0.1", **headers: str) -> httpx.Client:
        """Trusts the certificates of the servers, and nothing else."""
        trusted = ssl.create_default_context(cafile=str(self.servers[0].certificate))
        trusted.load_verify_locations(self.servers[1].certificate)
        return httpx.Client(
            base_url=self.url,
            headers=headers,
            transport=httpx.HTTPTransport(verify=trusted, local_address=address),
            timeout=60,
        )

    def calls(self) -> list[int]:
        """Returns the status codes of CALLS requests, each on a separate connection."""
        found = []
        for _ in range(CALLS):
            with self.client(**{"X-Auth-Token": self.token}) as client:
                found.append(client.get("/api/v1/sensor").status_code)
        return found


@pytest.fixture(scope="module")
def balanced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Balanced]:
    folder = tmp_path_factory.mktemp("balanced")
    port, store_port = free_port(), free_port()
    settings = (
        f"trusted_proxies={ADDRESS}",
        "proxy_protocol=true",
        f"clickhouse_dsn=clickhouse://{USER}:{PASSWORD}@127.0.0.1:{store_port}/vedette",
    )
    with server_cluster(folder, 2, *settings) as cluster:
        ports = {f"vedette-{n}": one.port for n, one in enumerate(cluster.members, 1)}
        ports |= dict.fromkeys(CLICKHOUSE, cluster.front.port)
        with haproxy(folder, ports, {8443: port, 8123: store_port}):
            cluster.start()
            assert wait_for(cluster.is_shared_out, True, 60)
            first = cluster.members[0].server
            assert first is not None
            url = f"https://127.0.0.1:{port}"
            found = Balanced(cluster, url, first.token, cluster.ingest_token())
            assert wait_for(found.calls, [200] * CALLS, 60)
            yield found


def test_a_client_is_told_by_its_address_and_speaks_tls_with_a_server(balanced: Balanced) -> None:
    token = {"X-Auth-Token": balanced.token}
    for address in ("127.0.0.7", "127.0.0.8"):
        for _ in range(4):
            with balanced.client(address, **token) as client:
                answer = client.get("/api/v1/approvedlist/locked_out").raise_for_status()
            assert answer.json()["caller"]["address"] == address


def test_guesses_of_one_client_lock_no_other_out(balanced: Balanced) -> None:
    def guess(address: str) -> int:
        with balanced.client(address) as client:
            body = {"username": "nobody", "password": "a wrong password"}
            return client.post("/api/v1/session", json=body).status_code

    assert wait_for(lambda: guess("127.0.0.66"), 429, 60) == 429
    assert guess("127.0.0.67") == 401


def test_no_call_waits_for_a_server_that_was_killed(balanced: Balanced) -> None:
    """Its connections are refused before the balancer's checks notice: the other one has them."""
    member = balanced.cluster.members[1]
    member.kill()
    try:
        assert balanced.calls() == [200] * CALLS
    finally:
        member.start()
    assert wait_for(balanced.cluster.is_shared_out, True, 60)


def test_what_is_sent_through_it_while_servers_die_is_stored_once(balanced: Balanced) -> None:
    senders = [Sender(f"balanced-{n}.example", numbered=n % 2 == 0) for n in range(4)]

    def work(sender: Sender, dice: random.Random, ends: threading.Event) -> None:
        while not ends.is_set():
            try:
                with balanced.client(Authorization=f"Bearer {balanced.ingest_token}") as client:
                    while not ends.is_set() and dice.random() < 0.8:
                        sender.deliver(client)
                        ends.wait(0.2)
            except httpx.HTTPError:
                ends.wait(0.2)

    def goes_on() -> bool:
        before = [one.batch for one in senders]
        later = lambda: all(one.batch > n for one, n in zip(senders, before, strict=True))  # noqa: E731
        return bool(wait_for(later, True, 60))

    with at_work(partial(work, one, random.Random(n)) for n, one in enumerate(senders)):
        assert goes_on()
        for member in balanced.cluster.members:
            member.kill()
            assert goes_on()
            member.start()
            assert wait_for(balanced.cluster.is_shared_out, True, 60)
            assert goes_on()
    with balanced.client(Authorization=f"Bearer {balanced.ingest_token}") as client:
        for sender in senders:
            batch = sender.batch
            while sender.batch == batch and not sender.refused:
                sender.deliver(client)
    check_stored_once(senders, balanced.servers[0])
