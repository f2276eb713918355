"""`vedette cluster`: a cluster is made ready, grows and keeps every sensor whole."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from tests.flow.test_clickhouse_cluster import found, on_front
from tests.support.clickhouse_front import PASSWORD, USER, Front, clickhouse_front
from tests.support.served import Server, start_server
from tests.support.sysmon import story
from vedette.cli.main import app
from vedette.state.db.database import open_database
from vedette.state.sensors.sensor_shards import begin_shard_map
from vedette.state.start import migrate
from vedette.store.engine.capabilities import replicated
from vedette.store.engine.grants import RIGHTS
from vedette.store.engine.open import connect_engine

_GROUPS = re.compile(
    r"^SELECT process_id.*GROUP BY process_id( ORDER BY| LIMIT| HAVING|, child_id|$)"
)
"""Groups that are the answer: those within another SELECT are not seen by whoever asks."""


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    flags = ("--shards", "3", "--all-rights")
    with clickhouse_front(tmp_path_factory.mktemp("front"), *flags) as started:
        yield started


@pytest.fixture(scope="module")
def data(front: Front, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return on_front(tmp_path_factory.mktemp("grown") / "data", front)


@pytest.fixture
def administrator(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VEDETTE_CLUSTER_ADMIN_DSN", front.dsn)


def run(data: Path, *words: str, exit_code: int = 0) -> str:
    reported = CliRunner().invoke(app, ["cluster", *words, "--data", str(data)])
    assert reported.exit_code == exit_code, (reported.output, reported.exception)
    return str(reported.output)


def test_an_administrator_has_to_be_named(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VEDETTE_CLUSTER_ADMIN_DSN", raising=False)
    assert "VEDETTE_CLUSTER_ADMIN_DSN is not set" in run(data, "init", exit_code=2)
    for dsn in ("nonsense", "clickhouse://root:a-secret@127.0.0.1:1/vedette"):
        monkeypatch.setenv("VEDETTE_CLUSTER_ADMIN_DSN", dsn)
        reported = run(data, "init", exit_code=2)
        assert "VEDETTE_CLUSTER_ADMIN_DSN: " in reported
        assert "clickhouse_dsn" not in reported
        assert "a-secret" not in reported


@pytest.mark.usefixtures("administrator")
def test_a_dry_run_prints_statements_that_the_engine_parses_and_runs_none(
    data: Path, front: Front
) -> None:
    text = run(data, "init", "--dry-run", "--set-password")
    assert front.ask("SELECT count() FROM system.databases WHERE name = 'vedette'") == [[0]]
    statements = [one.strip() for one in text.split(";\n\n")]
    assert len(statements) > 30
    for statement in statements:
        front.ask(f"EXPLAIN AST {statement.removesuffix(';').strip()}")
    assert PASSWORD not in text
    [grant] = [one for one in statements if one.startswith("GRANT")]
    assert all(right.sql("vedette") in grant for right in RIGHTS)
    assert grant.count(" ON ") == len(RIGHTS) + 1
    assert grant.endswith("WITH REPLACE OPTION")
    made = [one for one in statements if one.startswith("CREATE TABLE")]
    assert all(" ON CLUSTER 'vedette' " in one for one in made)
    assert all("Replicated" in one or "Distributed(" in one for one in made)


@pytest.mark.usefixtures("administrator")
def test_a_cluster_is_made_ready_twice_and_a_server_starts_on_it(data: Path, front: Front) -> None:
    state = open_database("", data)
    migrate(state)
    begin_shard_map(state, 2)  # as before the third was in remote_servers
    state.close()
    for _ in range(2):
        assert "ready" in run(data, "init")
    sent = [one for one in front.statements() if one.startswith("CREATE USER")]
    assert len(sent) == 2
    assert all(re.search(r"BY '[0-9a-f]{64}' SALT '[0-9a-f]{32}'$", one) for one in sent)
    assert PASSWORD not in "".join(front.statements())


@pytest.fixture(scope="module")
def grown(data: Path) -> Iterator[Server]:
    yield from start_server(data)


@pytest.mark.usefixtures("administrator")
def test_new_sensors_go_to_a_shard_that_is_added_and_old_ones_stay(
    grown: Server, data: Path, front: Front
) -> None:
    old, new = [f"old{n}.corp.example" for n in range(4)], [f"new{n}.corp" for n in range(3)]
    with grown.analyst() as analyst, grown.sender() as sender:
        tales = {host: story(host) for host in (*old, *new)}
        for host in old:
            sender.post("/api/v1/ingest", json=tales[host].records).raise_for_status()
        before, _ = front.placement()
        assert set(before.values()) == {1, 2}
        assert "CREATE OR REPLACE" in run(data, "add-shard", "--dry-run")
        assert "go to shard 3" in run(data, "add-shard")
        assert "all hold sensors" in run(data, "add-shard", exit_code=2)
        for host, tale in tales.items():
            tale.host.record_id += 5_000
            later = tale.host.process(7_007, tale.powershell.image, f"later.exe {host}", 90)
            created = tale.host.created(later, tale.word)
            records = [created] if host in old else [*tale.records, created]
            sender.post("/api/v1/ingest", json=records).raise_for_status()
        after, split = front.placement()
        assert split == []
        assert {one: after[one] for one in before} == before
        assert {shard for one, shard in after.items() if one not in before} == {3}
        for host in (*old, *new):
            assert found(analyst, f"hostname:{host}") == 5, host
            assert found(analyst, f"hostname:{host} cmdline:later.exe") == 1, host
        assert found(analyst, "") == 5 * len(tales)


def test_a_read_of_one_process_asks_only_the_shard_that_holds_it(
    grown: Server, front: Front
) -> None:
    with grown.analyst() as analyst:
        page = analyst.get("/api/v1/process", params={"q": "hostname:new0.corp"}).json()
        process_id = page["results"][0]["id"]
        answer = analyst.get(f"/api/v1/process/{process_id}/0")
        assert answer.status_code == 200, answer.text
        assert answer.json()["process"]["hostname"] == "new0.corp"
    reads = front.settings_of(r"reinterpretAsUInt32\(reverse\(|id_sensors")
    assert reads
    assert {one["optimize_skip_unused_shards"] for one in reads} == {"1"}
    grouped = [one for one in reads if "distributed_group_by_no_merge" in one]
    assert {one["distributed_group_by_no_merge"] for one in grouped} == {"2"}


def test_every_shard_ends_its_own_groups_of_processes(grown: Server, front: Front) -> None:
    """Each statement requires it, because no process is on two shards."""
    with grown.analyst() as analyst:
        query = {"q": "hostname:new0.corp"}
        for more in ({}, {"cb.group": "id"}, {"cb.comprehensive_search": "1"}):
            found = analyst.get("/api/v1/process", params={**query, **more})
            assert found.status_code == 200, found.text
        for row in found.json()["results"]:
            for view in ("0", "0/event", "tree"):
                path = f"/api/v1/process/{row['id']}/{view}"
                assert analyst.get(path).status_code == 200, path
    sent = httpx.get(f"{front.url}/settings", timeout=60).json()
    grouped = {text: of for text, of in sent if _GROUPS.search(" ".join(text.split()))}
    assert len(grouped) >= 3
    for text, of in grouped.items():
        assert of.get("distributed_group_by_no_merge") == "2", text
        assert of.get("optimize_skip_unused_shards") == "1", text


def test_only_shards_that_hold_the_sensors_of_a_question_are_asked(
    grown: Server, data: Path, front: Front
) -> None:
    assert grown.data == data
    places, _ = front.placement()
    of_shard = {shard: sensor for sensor, shard in places.items()}
    assert set(of_shard) == {1, 2, 3}
    with closing(connect_engine(front.dsn, replicated("vedette", 1))) as engine:

        def asked(condition: str) -> set[int]:
            """Shards that answer; each ends its own groups, so each has a row."""
            counts = engine.query(
                f"SELECT shardNum(), count() FROM segment WHERE {condition}",
                settings={"distributed_group_by_no_merge": 1},
            )
            assert all(count for _, count in counts.rows)
            return {shard for shard, _ in counts.rows}

        assert asked("1") == {1, 2, 3}
        for shard, sensor in of_shard.items():
            assert asked(f"sensor_id = {sensor}") == {shard}
        assert asked(f"sensor_id IN ({of_shard[1]}, {of_shard[3]})") == {1, 3}


def test_inserts_wait_for_the_quorum_and_carry_a_token_of_their_own(
    grown: Server, front: Front
) -> None:
    with grown.sender() as sender:
        records = story("quorum.corp.example").records
        sender.post("/api/v1/ingest", json=records).raise_for_status()
    found = front.settings_of("^INSERT INTO `?(segment|process|hit)`?")
    assert found
    assert {one["insert_quorum"] for one in found} == {"1"}
    assert {one["distributed_foreground_insert"] for one in found} == {"1"}
    assert {one["insert_shard_id"] for one in found} == {"1", "2", "3"}
    tokens = [one["insert_deduplication_token"] for one in found]
    assert all(tokens)
    assert len(set(tokens)) == len(tokens)


def test_no_server_goes_by_partitions_as_a_replica_that_lags_has_them(
    grown: Server, front: Front
) -> None:
    """Whoever unmounts one waits until the others know it: each asks every replica."""
    with grown.analyst() as analyst:
        assert analyst.get("/api/v1/storage/events/partition").status_code == 200
    sent = httpx.get(f"{front.url}/settings", timeout=60).json()
    asked = [(text, of) for text, of in sent if re.search(r"opened_ms.*FROM.*\bpartition\b", text)]
    assert asked
    for text, of in asked:
        assert "FROM clusterAllReplicas('vedette', currentDatabase(), partition)" in text
        assert of["skip_unavailable_shards"] == "1"
        assert of["max_replica_delay_for_distributed_queries"] == "0"
        assert of["connections_with_failover_max_tries"] == "1"


@pytest.mark.usefixtures("administrator")
def test_sensors_move_only_where_servers_can_be_waited_for(data: Path) -> None:
    assert "PostgreSQL" in run(data, "move", "--from", "1", "--to", "2", exit_code=2)


def verified(data: Path, *words: str, exit_code: int) -> dict[str, list[dict[str, str]]]:
    """The findings of `verify`, by check."""
    found: dict[str, list[dict[str, str]]] = {}
    for one in json.loads(run(data, "verify", "--json", *words, exit_code=exit_code)):
        found.setdefault(one["check"], []).append(one)
    return found


def test_a_sound_cluster_is_verified_while_its_server_runs(grown: Server, data: Path) -> None:
    found = verified(data, exit_code=1)
    assert {one["severity"] for one in found.pop("rights")} == {"ok", "warning"}  # has all rights
    balance = found.pop("balance")
    assert [one["text"].split(":")[0] for one in balance] == ["shard 1", "shard 2", "shard 3"]
    assert {one["severity"] for many in found.values() for one in many} == {"ok"}
    assert len(found["read"]) == 3
    with grown.analyst() as analyst:
        assert analyst.get("/readyz").status_code == 200


def test_verify_touches_its_own_table_alone(data: Path, front: Front) -> None:
    before = len(front.statements())
    verified(data, exit_code=1)
    changing = [
        one
        for one in front.statements()[before:]
        # The server that runs beside merges what it stored.
        if not re.match(r"\s*(SELECT|SHOW GRANTS|CHECK GRANT|DESCRIBE|OPTIMIZE)", one)
    ]
    assert changing
    assert all("`cluster_probe" in one for one in changing), changing


def test_what_is_wrong_with_a_cluster_is_told_with_what_to_do(data: Path, front: Front) -> None:
    settings = "clickhouse_quorum=3"
    found = verified(data, "--set", settings, exit_code=2)
    assert found["quorum"][0]["text"] == "shard 1 has 1 replicas, inserts wait for 3"
    assert "clickhouse_quorum" in found["quorum"][0]["remedy"]
    found = verified(data, "--away", "nowhere.example", exit_code=2)
    assert found["servers"][0]["text"] == "nowhere.example is not a server of the cluster"
    front.fail({"kind": "error", "code": 286, "pattern": "INSERT INTO `cluster_probe`", "times": 4})
    found = verified(data, exit_code=2)
    assert found["insert"][0]["text"].startswith("shard 1: the telemetry store is unavailable")
    assert [one["text"].split(" has")[0] for one in found["read"]] == [
        "replica 1 of shard 2 (localhost)",
        "replica 1 of shard 3 (Localhost)",
    ]
    found = verified(data, "--set", "clickhouse_cluster=elsewhere", exit_code=2)
    assert found["cluster"][0]["text"] == "cluster 'elsewhere' not found"


def test_a_table_that_is_routed_by_another_map_is_found(data: Path, front: Front) -> None:
    made = front.ask("SELECT create_table_query FROM system.tables WHERE name = 'hit'")[0][0]
    other = made.replace("CREATE TABLE", "CREATE OR REPLACE TABLE")
    changed = other[: other.rindex("if(")] + "sensor_id)"
    for statement, severity in ((changed, "error"), (other, "ok")):
        httpx.post(front.url, content=statement, auth=(USER, PASSWORD)).raise_for_status()
        [route] = verified(data, exit_code=2 if severity == "error" else 1)["routes"]
        assert route["severity"] == severity
        assert ("hit" in route["text"]) == (severity == "error")


def test_a_server_that_was_stopped_on_purpose_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with clickhouse_front(tmp_path / "front", "--shards", "2", "--all-rights") as other:
        data = on_front(tmp_path / "data", other)
        monkeypatch.setenv("VEDETTE_CLUSTER_ADMIN_DSN", other.dsn)
        run(data, "init")
        other.kill()
        other.flags = ("--shards", "2", "--absent-replica")
        other.restart()
        [first, *_] = verified(data, exit_code=2)["servers"]
        assert first["text"] == "replica 2 of shard 2 (127.0.0.9) does not answer"
        found = verified(data, "--away", "127.0.0.9", exit_code=1)
        assert {one["severity"] for one in found["servers"]} == {"ok"}
        assert len(found["read"]) == 2
        [_, more] = found["rights"]
        assert more["text"].endswith(": FILE ON *.*, SELECT ON system.*, TRUNCATE ON vedette.*")
