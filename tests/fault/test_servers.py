"""Several servers under load, while servers, PostgreSQL, the store and networks between them fail:
what was acknowledged is stored once, and each alert exists once."""

import random
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import httpx

from tests.fault.detected import DUE, RULES, Starter
from tests.fault.rounds import is_long, rounds, seeded
from tests.fault.senders import Sender, check_stored_once
from tests.support.served import Server, wait_for
from tests.support.server_cluster import LEASE_S, Member, ServerCluster, server_cluster
from tests.support.threads import at_work
from vedette.state.sensors.host_registry import all_sensors

SERVERS = 2
SERVERS_LONG = 3
ROUNDS = 2
LONG = 200
PAUSE_S = 0.1 if is_long() else 0.8
"""After each batch of a sender. In the short form most of the processor was for senders."""
TIMEOUT_S = 90.0
QUIET_S = 3.0
"""Two rounds of all that follows commits."""

Alert = tuple[str, str, str, str]
"""Kind of its source, rule, type, host."""

Fault = Callable[[ServerCluster, Member, float], None]


def kill(_cluster: ServerCluster, member: Member, span_s: float) -> None:
    member.kill()
    time.sleep(span_s)
    member.start()


def stop(_cluster: ServerCluster, member: Member, span_s: float) -> None:
    member.stop()
    time.sleep(span_s / 2)
    member.start()


def pause(_cluster: ServerCluster, member: Member, span_s: float) -> None:
    member.signal(signal.SIGSTOP)
    time.sleep(span_s)
    member.signal(signal.SIGCONT)


def part_from(name: str) -> Fault:
    def part(_cluster: ServerCluster, member: Member, span_s: float) -> None:
        member.links[name].part()
        time.sleep(span_s)
        member.links[name].join()

    part.__name__ = f"part_from_{name}"
    return part


def kill_postgres(cluster: ServerCluster, _member: Member, span_s: float) -> None:
    cluster.postgres.kill()
    time.sleep(span_s / 4)
    cluster.postgres.restart()


def pause_postgres(cluster: ServerCluster, _member: Member, span_s: float) -> None:
    cluster.postgres.signal(signal.SIGSTOP)
    time.sleep(span_s)
    cluster.postgres.signal(signal.SIGCONT)


def kill_store(cluster: ServerCluster, _member: Member, span_s: float) -> None:
    cluster.front.kill()
    time.sleep(span_s / 4)
    cluster.front.restart()


def pause_store(cluster: ServerCluster, _member: Member, span_s: float) -> None:
    cluster.front.process.send_signal(signal.SIGSTOP)
    time.sleep(span_s)
    cluster.front.process.send_signal(signal.SIGCONT)


def store_that(kind: str) -> Fault:
    """Whose inserts fail in one way for a while, two of three."""

    def fail(cluster: ServerCluster, _member: Member, span_s: float) -> None:
        until = time.monotonic() + span_s
        while time.monotonic() < until:
            cluster.front.fail({"kind": kind, "pattern": "^INSERT INTO", "times": 2})
            time.sleep(0.3)
        cluster.front.fail()

    fail.__name__ = f"store_that_{kind}s"
    return fail


FAULTS: tuple[Fault, ...] = (
    kill,
    pause,
    part_from("postgres"),
    part_from("store"),
    part_from("peers"),
    kill_postgres,
    pause_postgres,
    kill_store,
    pause_store,
    store_that("lose"),
    store_that("refuse"),
    store_that("slow"),
    stop,
)
SHORT = FAULTS[:-1]
"""`stop` has a test among the flows."""


def load(senders: list[Sender], cluster: ServerCluster, token: str) -> AbstractContextManager[None]:
    """All senders at work, each with whichever server answers, until the block ends."""

    def work(sender: Sender, dice: random.Random, ends: threading.Event) -> None:
        while not ends.is_set():
            server = dice.choice(cluster.members).server
            assert server is not None
            try:
                with client_of(server, token, 2 * LEASE_S + 5) as client:
                    while not ends.is_set():
                        before = sender.batch
                        sender.deliver(client)
                        if sender.batch == before:
                            ends.wait(PAUSE_S)
                            break
                        ends.wait(PAUSE_S)
                        if dice.random() < 0.1:
                            break
            except (httpx.HTTPError, OSError):
                ends.wait(PAUSE_S)

    return at_work(
        partial(work, sender, random.Random(number)) for number, sender in enumerate(senders)
    )


def client_of(server: Server, token: str, timeout_s: float) -> httpx.Client:
    client = server.client(Authorization=f"Bearer {token}")
    client.timeout = httpx.Timeout(timeout_s)
    return client


def drain(senders: list[Sender], server: Server, token: str) -> None:
    """Every sender delivers the batch that is under way."""
    until = time.monotonic() + TIMEOUT_S
    with client_of(server, token, 30) as client:
        for sender in senders:
            batch = sender.batch
            while sender.batch == batch and not sender.refused and time.monotonic() < until:
                sender.deliver(client)
            assert sender.batch > batch, f"{sender.name}: {sender.refused}"


def watch_shells(cluster: ServerCluster) -> None:
    """Rules and a watchlist that alert of what `Starter` does, in force on every server."""
    first = cluster.members[0].server
    assert first is not None
    with first.analyst() as client:
        answer = client.post("/api/v1/sigma", json={"text": RULES})
        assert [one["change"] for one in answer.json()["results"]] == ["added"] * 3, answer.text
        body = {"name": "shells", "search_query": "q=process_name:shell.exe"}
        watchlist = client.post("/api/v1/watchlist", json=body).json()["id"]
        for path in ("sigma/*", f"watchlist/{watchlist}"):
            path = f"/api/v1/{path}/action_type/alert"
            assert client.put(path, json={"enabled": True}).status_code == 200
    # The other servers load rules some seconds later; what they store before is not judged.
    for member in cluster.members:
        assert wait_for(lambda one=member: '"rules": 3' in one.log, True, 30), member.log[-2_000:]


def alerts(cluster: ServerCluster) -> Counter[Alert]:
    rows = cluster.front.ask(
        "SELECT source_kind, source_id, alert_type, hostname, count() FROM vedette.alert FINAL "
        "GROUP BY ALL"
    )
    return Counter(
        {
            (kind, source[:8] if kind == "rule" else "", alert_type, host): int(count)
            for kind, source, alert_type, host, count in rows
        }
    )


def due_alerts(starters: list[Starter]) -> Counter[Alert]:
    """Returns the expected alerts of all acknowledged batches."""
    due: Counter[Alert] = Counter()
    for sender in starters:
        for batch in range(sender.batch):
            for (kind, rule, alert_type), count in DUE.items():
                if kind != "feed":
                    due[kind, rule, alert_type, sender.host_of(batch)] += count
    return due


def check_all(
    cluster: ServerCluster, plain: list[Sender], starters: list[Starter], token: str
) -> None:
    """Nothing lost, nothing doubled, as every server reports it."""
    assert wait_for(cluster.is_shared_out, True, 30), [one.log[-2_000:] for one in cluster.members]
    first = cluster.members[0].server
    assert first is not None
    drain([*plain, *starters], first, token)
    due = due_alerts(starters)
    found = wait_for(lambda: alerts(cluster), due, 60)
    assert (due - found, found - due) == (Counter(), Counter())
    time.sleep(QUIET_S)
    assert alerts(cluster) == due
    for sender in plain:
        assert sender.refused == []
        assert stored_files(cluster, sender) == Counter(sender.paths())
        services = {f"service-{batch}" for batch in range(sender.batch)}
        assert stored_services(cluster, sender) == Counter(services)
    for member, sender in zip(cluster.members, plain, strict=False):
        assert member.server is not None
        check_stored_once([sender], member.server)


def stored_files(cluster: ServerCluster, sender: Sender) -> Counter[str]:
    """The files that a sender reported, as often as they lie in the store."""
    return _stored(cluster, sender, "filemod_path", "path")


def stored_services(cluster: ServerCluster, sender: Sender) -> Counter[str]:
    name = "splitByChar('\\\\', path)[-2]"
    return _stored(cluster, sender, "regmod_path", name)


def _stored(cluster: ServerCluster, sender: Sender, column: str, what: str) -> Counter[str]:
    sensor = next(one for one in all_sensors(cluster.state).values() if one.hostname == sender.name)
    rows = cluster.front.ask(
        f"SELECT {what} AS found, count() FROM (SELECT arrayJoin({column}) AS path "
        f"FROM vedette.segment WHERE sensor_id = {sensor.id}) GROUP BY found"
    )
    return Counter({found: int(count) for found, count in rows})


def test_whatever_fails_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    dice, count = seeded(), rounds(ROUNDS, LONG)
    plain = [Sender(f"shared-{n}.example", numbered=n % 2 == 0) for n in range(5)]
    starters = [Starter(f"detected-{n}.example", numbered=True) for n in range(2)]
    with server_cluster(tmp_path, SERVERS_LONG if is_long() else SERVERS) as cluster:
        cluster.start()
        watch_shells(cluster)
        token = cluster.ingest_token()
        assert wait_for(cluster.is_shared_out, True, 30)
        faults = list(FAULTS) if is_long() else dice.sample(SHORT, count)
        with load([*plain, *starters], cluster, token):
            for number in range(count):
                fault = faults[number % len(faults)]
                member = dice.choice(cluster.members)
                # Some end before others take over, some after.
                span_s = dice.uniform(0.2, (2.5 if is_long() else 1.5) * LEASE_S)
                name = getattr(fault, "__name__", "")
                print(f"round {number}: {name} of {member.data.name} for {span_s:.1f} s")
                time.sleep(dice.uniform(0.2, 1.0))
                fault(cluster, member, span_s)
                wait_for(cluster.is_shared_out, True, 20)
        check_all(cluster, plain, starters, token)
        assert all(sender.batch for sender in [*plain, *starters])


def test_alerts_that_a_killed_server_has_sent_are_not_made_again(tmp_path: Path) -> None:
    """The store takes them later than the next server looks whether they are there."""
    starter = Starter("detected.example", numbered=True)
    with server_cluster(tmp_path, 1) as cluster:
        (member,) = cluster.members
        member.start()
        watch_shells(cluster)
        token = cluster.ingest_token()
        assert wait_for(cluster.is_shared_out, True, 30)
        insert = "INSERT INTO `?alert`?"
        cluster.front.fail({"kind": "slow", "pattern": f"^{insert}", "times": 1, "seconds": 300.0})
        assert member.server is not None
        drain([starter], member.server, token)
        sent = lambda: any(re.match(insert, one) for one in cluster.front.statements())  # noqa: E731
        assert wait_for(sent, True, 60)
        member.kill()
        member.start()
        due = due_alerts([starter])
        assert wait_for(lambda: alerts(cluster), due, 60) == due
        cluster.front.fail()
        time.sleep(QUIET_S)
        assert alerts(cluster) == due
