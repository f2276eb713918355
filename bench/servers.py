"""Two servers on one machine, on PostgreSQL and a ClickHouse front: whether one waits for another.

Each server is sent records of hosts that it has: one server alone, both at once, and one while the
other is stopped for less than its lease. Senders, servers, PostgreSQL and the front share cores.
"""

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from bench.figure import Figure, Outcome, Part
from tests.fault.senders import RECORDS_PER_BATCH, Sender
from tests.support.served import Server, wait_for
from tests.support.server_cluster import ServerCluster, server_cluster
from vedette.model.ids import slot_of
from vedette.state.sensors.host_registry import all_sensors
from vedette.state.servers import server_list, slots

HOSTS: Final = 16
SECONDS: Final = 15.0
STOPPED_S: Final = 5.0
LEASE: Final = "server_lease_s=30"


def run(room: Path) -> Outcome:
    with server_cluster(room, 2, LEASE) as cluster:
        servers = cluster.start()
        if not wait_for(cluster.is_shared_out, True, 60):
            raise RuntimeError("the servers do not share the hosts out")
        token = cluster.ingest_token()
        servers = [replace(one, ingest_token=token) for one in servers]
        own = _hosts_of(cluster, servers)
        alone = _send(servers[:1], own[:1], SECONDS)[0]
        both = _send(servers, own, SECONDS)
        with _stopped(cluster):
            alongside = _send(servers[:1], own[:1], STOPPED_S)[0]
    return Outcome(
        f"{HOSTS} hosts, {RECORDS_PER_BATCH + 1} records a request, one of a host in flight",
        (
            Figure("one server alone", _rate(alone, SECONDS), "events/s"),
            Figure("both together", sum(_rate(one, SECONDS) for one in both), "events/s"),
            Figure("one server alone, p95", _p95_ms(alone), "ms"),
            Figure("beside a server that is stopped, p95", _p95_ms(alongside), "ms"),
            Figure(
                "slowest beside a server that is stopped",
                1_000 * max(alongside),
                "ms",
                at_most=1_000 * STOPPED_S,
            ),
        ),
        ("servers prepare in one process each; fsync of PostgreSQL is off",),
    )


def _hosts_of(cluster: ServerCluster, servers: Sequence[Server]) -> list[list[Sender]]:
    """Returns the senders of each server whose hosts it owns, after one request of each sender."""
    senders = [Sender(f"bench-{n}.example", numbered=True) for n in range(HOSTS)]
    with servers[0].sender() as client:
        for sender in senders:
            sender.deliver(client)
    ids = {ref.hostname: ref.id for ref in all_sensors(cluster.state).values()}
    holders = {one.slot: one.server_id for one in slots.all_slots(cluster.state)}
    ports = [str(member.links["peers"].port) for member in cluster.members]
    server_ids = [
        next(one.id for one in server_list.running(cluster.state) if one.url.endswith(port))
        for port in ports
    ]
    return [
        [one for one in senders if holders[slot_of(ids[one.name])] == server_id]
        for server_id in server_ids
    ]


def _send(
    servers: Sequence[Server], own: Sequence[Sequence[Sender]], seconds: float
) -> list[list[float]]:
    """Returns the durations (s) of the requests by server."""
    took: list[list[float]] = [[] for _ in servers]
    until = time.monotonic() + seconds

    def work(number: int, sender: Sender) -> None:
        with servers[number].sender() as client:
            while time.monotonic() < until:
                began = time.monotonic()
                sender.deliver(client)
                took[number].append(time.monotonic() - began)

    threads = [
        threading.Thread(target=work, args=(number, sender))
        for number, some in enumerate(own)
        for sender in some
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took


@contextmanager
def _stopped(cluster: ServerCluster) -> Iterator[None]:
    cluster.members[1].signal(signal.SIGSTOP)
    try:
        yield
    finally:
        cluster.members[1].signal(signal.SIGCONT)


def _rate(took: Sequence[float], seconds: float) -> float:
    return len(took) * (RECORDS_PER_BATCH + 1) / seconds


def _p95_ms(took: Sequence[float]) -> float:
    return 1_000 * sorted(took)[int(len(took) * 0.95)]


PART = Part("servers", run)
