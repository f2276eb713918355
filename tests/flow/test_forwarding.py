"""Records that are forwarded to a server which cannot take them: their sender is told to come again
later, records of other hosts go on, and nothing is lost or doubled."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial

import httpx
import pytest

from tests.fault.senders import Sender
from tests.fault.test_servers import client_of, stored_files
from tests.support.served import Server, wait_for
from tests.support.server_cluster import ServerCluster, server_cluster
from tests.support.threads import at_work
from vedette.model.ids import slot_of
from vedette.state.sensors.host_registry import all_sensors
from vedette.state.servers import server_list, slots

QUEUE_BYTES = 60_000
"""Two batches."""
SENDERS = 12
TIMEOUT_S = 50.0
PAUSE_S = 0.05


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerCluster]:
    settings = (
        f"queue_bytes_max={QUEUE_BYTES}",
        f"commit_bytes_max={QUEUE_BYTES // 2}",
        "server_lease_s=30",
    )
    with server_cluster(tmp_path_factory.mktemp("servers"), 2, *settings) as cluster:
        cluster.start()
        assert wait_for(cluster.is_shared_out, True, 30), [one.log for one in cluster.members]
        yield cluster


@dataclass
class Reported:
    """Statuses that senders were answered with, and those without a time to come again."""

    statuses: Counter[int] = field(default_factory=Counter)
    without_time: int = 0

    def hear(self, answer: httpx.Response) -> None:
        self.statuses[answer.status_code] += 1
        if answer.status_code != 200 and "retry-after" not in answer.headers:
            self.without_time += 1


def sending(
    senders: list[Sender], server: Server, token: str, reported: Reported
) -> AbstractContextManager[None]:
    """All senders at work, until the block ends."""

    def work(sender: Sender, ends: threading.Event) -> None:
        with client_of(server, token, TIMEOUT_S) as client:
            client.event_hooks = {"response": [reported.hear]}
            while not ends.wait(PAUSE_S):
                sender.deliver(client)

    return at_work(partial(work, sender) for sender in senders)


def by_owner(cluster: ServerCluster, senders: list[Sender]) -> tuple[list[Sender], list[Sender]]:
    """Returns (senders whose hosts the first server owns, other senders)."""
    port = cluster.members[0].links["peers"].port
    first = next(one for one in server_list.running(cluster.state) if one.url.endswith(f":{port}"))
    holders = {one.slot: one.server_id for one in slots.all_slots(cluster.state)}
    ids = {ref.hostname: ref.id for ref in all_sensors(cluster.state).values()}
    own = [one for one in senders if holders[slot_of(ids[one.name])] == first.id]
    return own, [one for one in senders if one not in own]


def test_who_sends_to_a_full_server_comes_again_and_nothing_is_lost_or_doubled(
    cluster: ServerCluster,
) -> None:
    token = cluster.ingest_token()
    senders = [Sender(f"pressed-{n}.example", numbered=n % 4 > 1) for n in range(SENDERS)]
    server = cluster.members[0].server
    assert server is not None
    with client_of(server, token, TIMEOUT_S) as client:
        for sender in senders:
            sender.deliver(client)
    own, others = by_owner(cluster, senders)
    assert own
    assert len(others) > 3
    reported, own_reported = Reported(), Reported()
    cluster.members[1].links["store"].part()
    try:
        with sending(others, server, token, reported):
            assert wait_for(lambda: reported.statuses[429] > 0, True, 30), reported
            with sending(own[:1], server, token, own_reported):
                before = own[0].batch
                assert wait_for(lambda: own[0].batch >= before + 3, True, 30), own_reported
            waiting = [one.batch for one in others]
            cluster.members[1].links["store"].join()
            assert wait_for(
                lambda: all(one.batch > was for one, was in zip(others, waiting, strict=True)),
                True,
                60,
            ), reported
    finally:
        cluster.members[1].links["store"].join()
    assert set(reported.statuses) <= {200, 429, 503}
    assert (reported.without_time, own_reported.without_time) == (0, 0)
    with client_of(server, token, TIMEOUT_S) as client:
        for sender in senders:
            sender.deliver(client)
    for sender in senders:
        assert sender.refused == []
        assert stored_files(cluster, sender) == Counter(sender.paths()), sender.name
