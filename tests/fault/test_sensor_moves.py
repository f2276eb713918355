"""Sensors move from shard to shard while two servers store and search, and the command that moves
them is killed between any two of its steps: every read sees each row once, and nothing is lost."""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from tests.fault.rounds import is_long, seeded
from tests.fault.senders import Sender
from tests.fault.test_servers import drain, load, stored_files
from tests.support.forked import FORKS
from tests.support.served import Server, wait_for
from tests.support.server_cluster import ServerCluster, server_cluster
from tests.support.sysmon import Story, story
from vedette.cli.main import app
from vedette.cluster import sensor_moves
from vedette.state.accounts import audit_trail
from vedette.state.db.database import open_database
from vedette.state.sensors import shard_moves
from vedette.state.sensors.host_registry import all_sensors
from vedette.store.engine.capabilities import replicated
from vedette.store.engine.open import connect_engine

TIMEOUT_S = 60.0
LEASE_S = 10
STEPS = 28
"""Steps of a command that moves one sensor."""
KILLS = 1
"""Kills of each sensor's move in the short form."""
READ_EVERY_S = 0.05 if is_long() else 0.6
"""The pause of a reader. Two that read without one take most of the machine."""

STILL = [f"still-{n}.example" for n in range(3)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerCluster]:
    settings = f"server_lease_s={LEASE_S}", "requests_per_minute=100000"
    flags = "--shards", "2", "--all-rights"
    folder = tmp_path_factory.mktemp("moves")
    with server_cluster(folder, 2, *settings, front_flags=flags) as cluster:
        cluster.start()
        assert wait_for(cluster.is_shared_out, True, TIMEOUT_S)
        yield cluster


@pytest.fixture(scope="module")
def still(cluster: ServerCluster) -> list[Story]:
    """Stories of hosts that send no more records."""
    tales = [story(host) for host in STILL]
    assert cluster.members[0].server is not None
    with cluster.members[0].server.sender() as sender:
        for tale in tales:

            def posted(records: list[dict[str, Any]] = tale.records) -> int:
                answer = sender.post("/api/v1/ingest", json=records)
                print(answer.text[:300])
                return answer.status_code

            assert wait_for(posted, 200, TIMEOUT_S) == 200
    return tales


def sensor_of(cluster: ServerCluster, host: str) -> int:
    return next(one.id for one in all_sensors(cluster.state).values() if one.hostname == host)


def move(
    state_dsn: str, store_dsn: str, folder: str, sensors: list[int], to: int, dies_at: int
) -> None:
    """The command in a process of its own, which is killed before its `dies_at`th step."""
    state = open_database(state_dsn, Path(folder))
    engine = connect_engine(store_dsn, replicated("vedette", 1), creates=False)
    steps: list[str] = []

    def note(text: str) -> None:
        steps.append(text)
        if len(steps) == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    sensor_moves.move(engine, state, sensors, to, note)
    os._exit(0)


def killed_moves(
    cluster: ServerCluster, folder: Path, sensors: list[int], to: int, kills: Sequence[int]
) -> None:
    """Moves sensors by one command after the other: each is killed before the step of its number,
    the last one ends."""
    dsns = cluster.postgres.dsn, cluster.front.dsn
    for dies_at in (*kills, 0):
        mover = FORKS.Process(target=move, args=(*dsns, str(folder), sensors, to, dies_at))
        mover.start()
        mover.join(TIMEOUT_S + 5 * LEASE_S)
        assert mover.exitcode in (0, -signal.SIGKILL), mover.exitcode
        if mover.exitcode == 0:
            return
    raise AssertionError("it did not end")


def seen(client: httpx.Client, tale: Story) -> dict[str, Any]:
    """Returns the data of a host that a reader sees: the number of processes, and the counts of one
    process."""
    query = {"q": f"hostname:{tale.host.name}", "rows": 100}
    answer = client.get("/api/v1/process", params=query)
    assert answer.status_code == 200, answer.text
    page = answer.json()
    shell = next(row for row in page["results"] if row["process_name"] == "powershell.exe")
    answer = client.get(f"/api/v1/process/{shell['id']}/0")
    assert answer.status_code == 200, answer.text
    process = answer.json()["process"]
    counts = {name: value for name, value in process.items() if name.endswith("_count")}
    events = client.get(f"/api/v1/process/{shell['id']}/0/event").json()["process"]
    lists = {name: len(value) for name, value in events.items() if name.endswith("_complete")}
    return {"processes": page["total_results"], **counts, **lists}


@contextmanager
def reading(cluster: ServerCluster, tales: list[Story]) -> Iterator[list[str]]:
    """Both servers are searched until the block ends; the list gets whatever differs."""
    ends, wrong = threading.Event(), list[str]()

    def work(server: Server) -> None:
        try:
            with server.analyst() as client:
                client.timeout = httpx.Timeout(TIMEOUT_S)
                first = {tale.host.name: seen(client, tale) for tale in tales}
                assert all(one["processes"] >= 4 for one in first.values()), first
                while not ends.wait(READ_EVERY_S):
                    for tale in tales:
                        now = seen(client, tale)
                        if now != first[tale.host.name]:
                            wrong.append(f"{tale.host.name}: {first[tale.host.name]}, then {now}")
        except (AssertionError, httpx.HTTPError, KeyError, StopIteration) as error:
            wrong.append(repr(error))

    servers = [one.server for one in cluster.members if one.server]
    threads = [threading.Thread(target=work, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    try:
        yield wrong
    finally:
        ends.set()
        for thread in threads:
            thread.join()


def test_a_sensor_moves_whole_however_often_the_command_is_killed(
    cluster: ServerCluster, still: list[Story], tmp_path: Path
) -> None:
    dice, token = seeded(), cluster.ingest_token()
    senders = [Sender(f"busy-{n}.example", numbered=n % 2 == 0) for n in range(3)]
    with load(senders, cluster, token), reading(cluster, still[:2]) as wrong:
        assert wait_for(lambda: all(one.batch > 2 for one in senders), True, TIMEOUT_S)
        busy, idle = sensor_of(cluster, senders[0].name), sensor_of(cluster, STILL[0])
        before, split = cluster.front.placement()
        assert split == []
        for sensor in (busy, idle):
            places = range(1, STEPS + 1)
            kills = places if is_long() else sorted(dice.sample(places, KILLS))
            print(f"sensor {sensor}: killed before steps {list(kills)}")
            killed_moves(cluster, tmp_path, [sensor], 3 - before[sensor], kills)
            assert shard_moves.under_way(cluster.state) == []
            after, split = cluster.front.placement()
            assert split == []
            assert after == before | {sensor: 3 - before[sensor]}
            before = after
        taken = [one.batch for one in senders]
        assert wait_for(
            lambda: all(one.batch > was for one, was in zip(senders, taken, strict=True)),
            True,
            TIMEOUT_S,
        )
    assert wrong == []
    first = cluster.members[0].server
    assert first is not None
    drain(list(senders), first, token)
    for sender in senders:
        assert sender.refused == []
        assert stored_files(cluster, sender) == Counter(sender.paths())
    _, noted = audit_trail.search(cluster.state, audit_trail.Search(kind="sensor shard"))
    assert sorted(one.target for one in noted) == sorted((str(busy), str(idle)))


def run(cluster: ServerCluster, folder: Path, *words: str, exit_code: int = 0) -> str:
    own = [f"state_dsn={cluster.postgres.dsn}", f"clickhouse_dsn={cluster.front.dsn}"]
    settings = [word for one in own for word in ("--set", one)]
    reported = CliRunner().invoke(
        app, ["cluster", "move", "--data", str(folder), *settings, *words]
    )
    assert reported.exit_code == exit_code, (reported.output, reported.exception)
    return str(reported.output)


@pytest.mark.usefixtures("still")
def test_the_command_says_what_it_moves(
    cluster: ServerCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VEDETTE_CLUSTER_ADMIN_DSN", cluster.front.dsn)
    sensor = sensor_of(cluster, STILL[1])
    source = cluster.front.placement()[0][sensor]
    there = f"{3 - source}"
    assert "specify sensors with" in run(cluster, tmp_path, "--to", there, exit_code=2)
    assert "shard 9 does not exist" in run(
        cluster, tmp_path, "--to", "9", "--from", "1", exit_code=2
    )
    assert "sensor 77777 not found" in run(
        cluster, tmp_path, "--to", there, "--sensor", "77777", exit_code=2
    )
    words = "--to", there, "--from", str(source), "--sensor", str(sensor)
    reported = run(cluster, tmp_path, *words, "--dry-run")
    assert reported == f"sensor {sensor}: shard {source} to shard {there}\n"
    assert "moved 1 sensors" in run(cluster, tmp_path, *words)
    assert "moved 0 sensors" in run(cluster, tmp_path, *words)
    places, split = cluster.front.placement()
    assert (places[sensor], split) == (3 - source, [])


def test_nothing_moves_while_a_server_does_not_see_it(
    cluster: ServerCluster, still: list[Story], tmp_path: Path
) -> None:
    """A server that hangs has to be ended before a step goes on."""
    sensor = sensor_of(cluster, STILL[2])
    source = cluster.front.placement()[0][sensor]
    other = cluster.members[1]
    other.signal(signal.SIGSTOP)
    dsns = cluster.postgres.dsn, cluster.front.dsn
    mover = FORKS.Process(target=move, args=(*dsns, str(tmp_path), [sensor], 3 - source, 0))
    try:
        mover.start()
        assert wait_for(lambda: bool(shard_moves.behind(cluster.state)), True, TIMEOUT_S)
        time.sleep(LEASE_S / 4)
        # It has not begun where the server was stopped before it had seen the map as it is.
        assert {one.step for one in shard_moves.under_way(cluster.state)} <= {"copy"}
        assert cluster.front.placement()[0][sensor] == source
        mover.join(TIMEOUT_S + 2 * LEASE_S)
        assert mover.exitcode == 0
    finally:
        other.signal(signal.SIGCONT)
    places, split = cluster.front.placement()
    assert (places[sensor], split) == (3 - source, [])
    assert other.server is not None
    with other.server.analyst() as client:
        assert seen(client, still[2])["processes"] >= 4
    assert wait_for(cluster.is_shared_out, True, TIMEOUT_S)
