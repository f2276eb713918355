"""`vedette cluster migrate`: an embedded store moves into a cluster whole, whatever kills it."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from tests.api.test_sigma_rules import SIGMA, alerted, rule
from tests.support.clickhouse_front import PASSWORD, USER, Front, clickhouse_front
from tests.support.commands import vedette
from tests.support.postgres_server import Postgres, postgres_server
from tests.support.served import Server, start_server, wait_for
from tests.support.sysmon import story
from vedette.cli.main import app
from vedette.state.db.database import open_database
from vedette.state.servers import server_list

FREE_PORT = ("--set", "listen_port=0")
HOSTS = [f"moved{number}.corp.example" for number in range(5)]


def answers(server: Server) -> dict[str, Any]:
    """Returns the data of all hosts that an analyst sees."""
    with server.analyst() as analyst:
        page = analyst.get("/api/v1/process", params={"q": "", "rows": 100}).json()
        alerts = analyst.get("/api/v2/alert", params={"rows": 100}).json()
        binaries = analyst.get("/api/v1/binary", params={"q": "", "rows": 100}).json()
        rows = sorted(page["results"], key=lambda one: str(one["unique_id"]))
        events = [
            analyst.get(f"/api/v1/process/{one['id']}/0/event").json()["process"] for one in rows
        ]
    return {
        "processes": rows,
        "events": [{k: v for k, v in one.items() if k.endswith("_complete")} for one in events],
        "alerts": sorted(one["unique_id"] for one in alerts["results"]),
        "binaries": sorted(one["md5"] for one in binaries["results"]),
    }


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    with clickhouse_front(tmp_path / "front", "--shards", "2") as started:
        yield started


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with postgres_server() as started:
        yield started


def _is_reported(server: Server) -> bool:
    """Whether all that was sent can be searched and has made its alerts."""
    with server.analyst() as analyst:
        page = analyst.get("/api/v1/process", params={"q": "", "rows": 0}).json()
    return int(page["total_results"]) == 2 * 4 * len(HOSTS) and alerted(server) == 2


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The data of a server that has stopped, and what it answered."""
    data = tmp_path_factory.mktemp("embedded")
    for server in start_server(data):
        with server.analyst() as analyst, server.sender() as sender:
            text = rule(1, HOSTS[0])
            analyst.post(SIGMA, json={"text": text}).raise_for_status()
            for step in range(2):
                time.sleep(1.1 * step)  # a process is known by the second in which it began
                for host in HOSTS:
                    sender.post("/api/v1/ingest", json=story(host).records).raise_for_status()
        assert wait_for(partial(_is_reported, server), True, 60.0)
        seen = answers(server)
    assert len(seen["processes"]) == 2 * 4 * len(HOSTS)
    assert seen["alerts"]
    return data, seen


@pytest.fixture
def data(stopped: tuple[Path, dict[str, Any]], front: Front, tmp_path: Path) -> Path:
    return copy_for(front, stopped[0], tmp_path / "data")


@pytest.fixture(scope="module")
def migrated(
    stopped: tuple[Path, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, Front]]:
    """A copy of it that was moved whole, and the cluster that has it now."""
    folder = tmp_path_factory.mktemp("migrated")
    with clickhouse_front(folder / "front", "--shards", "2") as started:
        copied = copy_for(started, stopped[0], folder / "data")
        run(copied, "migrate")
        yield copied, started


def copy_for(front: Front, stopped: Path, copied: Path) -> Path:
    """A copy of the data, with settings that name an empty cluster."""
    shutil.copytree(stopped, copied, symlinks=True)
    (copied / "vedette.toml").write_text(settings_of(front))
    return copied


def settings_of(front: Front) -> str:
    return f'clickhouse_dsn = "{front.dsn}"\nclickhouse_quorum = 1\n'


def run(data: Path, *words: str, exit_code: int = 0) -> str:
    """In a process of its own: it opens the embedded store, and this process may have another."""
    reported = vedette("cluster", *words, "--data", data)
    assert reported.returncode == exit_code, reported.stdout + reported.stderr
    return reported.stdout + reported.stderr


def checked(data: Path) -> tuple[int, str]:
    reported = CliRunner().invoke(
        app, ["config", "check", "--json", "--data", str(data), *FREE_PORT]
    )
    return reported.exit_code, reported.output


def test_a_run_that_is_killed_is_continued_and_nothing_is_lost_or_doubled(
    stopped: tuple[Path, dict[str, Any]], data: Path, front: Front, postgres: Postgres
) -> None:
    seen = stopped[1]
    front.fail(
        {"kind": "slow", "pattern": "INSERT INTO `process`", "times": 1, "seconds": 2.0},
        {"kind": "lose", "pattern": "INSERT INTO `alert`", "times": 1},
    )
    words = [sys.executable, "-m", "vedette", "cluster", "migrate", "--data", str(data)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    begun = lambda: any("INSERT INTO `process`" in one for one in front.statements())  # noqa: E731
    assert wait_for(begun, True, 60)
    process.kill()
    process.wait()
    assert (data / "migration.json").exists()
    refused = vedette("serve", "--data", data, *FREE_PORT)
    assert refused.returncode == 2
    assert "`vedette cluster migrate`" in refused.stderr, refused.stderr
    refused = vedette("serve", "--accept-store", "--data", data, *FREE_PORT)
    assert refused.returncode == 2
    assert "is being moved to the cluster" in refused.stderr, refused.stderr
    code, text = checked(data)
    assert (code, "`vedette cluster migrate`" in text) == (2, True), text

    reported = run(data, "migrate")
    assert ": there already" in reported
    assert "segment: " in reported
    assert reported.count(": equal") == 14
    assert front.faults_left() == []
    assert not (data / "migration.json").exists()
    again = run(data, "migrate")
    assert "\n0 of " in again
    # The state follows, so that there may be more than one server.
    (data / "vedette.toml").write_text(f'{settings_of(front)}state_dsn = "{postgres.dsn}"\n')
    code, text = checked(data)
    assert (code, "`vedette cluster migrate-state`" in text) == (2, True), text
    assert "shard_range: " in run(data, "migrate-state")
    code, text = checked(data)
    assert code == 0, text
    for server in start_server(data):
        assert answers(server) == seen
        with closing(open_database(postgres.dsn, data)) as state:
            assert len(server_list.running(state)) == 1
        places, split = front.placement()
        assert (set(places.values()), split) == ({1, 2}, [])


def test_rows_of_another_server_in_its_place_are_left_alone(migrated: tuple[Path, Front]) -> None:
    data, front = migrated
    rows = "SELECT count() FROM vedette.process_local"
    before = front.ask(rows)
    write(
        front,
        "INSERT INTO vedette.process_local SELECT * REPLACE([windows[1] + 300000] AS windows) "
        "FROM vedette.process_local",
    )
    reported = run(data, "migrate", exit_code=2)
    assert "was a server started on it?" in reported
    assert front.ask(rows) != before


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("threat_report", "(feed_id, report_id, version) VALUES (9, 'theirs', 1)"),
        ("segment_local", "(of_shard, sensor_id, partition_ms) VALUES (2, 1, 7000)"),
    ],
    ids=["of a small table", "of a partition"],
)
def test_a_cluster_that_holds_something_else_is_refused_before_anything_is_sent(
    migrated: tuple[Path, Front], table: str, row: str
) -> None:
    data, front = migrated
    gone = ("process_local", "alert_local", "threat_report")
    write(front, *(f"TRUNCATE TABLE vedette.{one}" for one in gone))
    write(front, f"INSERT INTO vedette.{table} {row}")
    reported = run(data, "migrate", exit_code=2)
    assert "rows that this store has not: was a server started" in reported
    assert table.removesuffix("_local") in reported
    assert front.ask("SELECT count() FROM vedette.process_local") == [[0]]


def write(front: Front, *statements: str) -> None:
    for one in statements:
        httpx.post(front.url, content=one, auth=(USER, PASSWORD)).raise_for_status()
