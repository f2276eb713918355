"""A real server on a store that is not embedded: telemetry behind ClickHouse's HTTP protocol."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from tests.api.test_sigma_rules import SIGMA, alerted, rule
from tests.support.clickhouse_front import PASSWORD, Front, clickhouse_front
from tests.support.served import Server, start_server, wait_for
from tests.support.sysmon import story
from vedette.cli.main import app
from vedette.store.write.idle_merge import IDLE_MERGE_PARTS_MIN

BANS, EVENTS = "/api/v1/banning/bannedlist", "/api/v1/storage/events"
CHANGES = (("POST", "/unmount", 0), ("POST", "/mount", 4), ("DELETE", "", 0))
"""Changes of a partition, and the number of its processes that a search then finds."""


def on_front(data: Path, front: Front) -> Path:
    """A data directory whose server has its telemetry behind the front."""
    data.mkdir()
    (data / "vedette.toml").write_text(f'clickhouse_dsn = "{front.dsn}"\nclickhouse_quorum = 1\n')
    return data


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    with clickhouse_front(tmp_path_factory.mktemp("front")) as started:
        yield started


@pytest.fixture(scope="module")
def clustered(front: Front, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from start_server(on_front(tmp_path_factory.mktemp("clustered") / "data", front))


def found(client: httpx.Client, query: str) -> int:
    answer = client.get("/api/v1/process", params={"q": query})
    assert answer.status_code == 200, answer.text
    return int(answer.json()["total_results"])


def test_what_is_sent_is_searched_and_alerted(clustered: Server, front: Front) -> None:
    host = "cluster.corp.example"
    with clustered.analyst() as analyst, clustered.sender() as sender:
        before = alerted(clustered)
        analyst.post(SIGMA, json={"text": rule(1, host)}).raise_for_status()
        assert sender.post("/api/v1/ingest", json=story(host).records).is_success
        assert found(analyst, f"hostname:{host}") == 4
        assert wait_for(lambda: alerted(clustered) - before, 1.0) == 1.0
        alerts = analyst.get("/api/v2/alert", params={"q": f"hostname:{host}"}).json()
        assert alerts["total_results"] == 1
    stored = "SELECT uniqExact(process_id) FROM vedette.segment_local WHERE hostname = "
    assert int(front.ask(f"{stored}'{host}'")[0][0]) == 4
    assert not (clustered.data / "telemetry").exists()


def test_a_lost_answer_makes_no_row_twice(clustered: Server, front: Front) -> None:
    host = "lost.corp.example"
    lost = {"kind": "lose", "pattern": r"INSERT INTO `?segment`?"}
    with clustered.analyst() as analyst, clustered.sender() as sender:
        front.fail(lost)
        assert sender.post("/api/v1/ingest", json=story(host).records).status_code == 200
        assert front.faults_left() == []
        assert found(analyst, f"hostname:{host}") == 4
    rows = front.ask(
        f"SELECT sum(length(record_keys)) FROM vedette.segment_local WHERE hostname = '{host}'"
    )
    assert int(rows[0][0]) == len(story(host).records)


def test_statements_that_select_what_they_insert_wait_for_the_quorum(
    clustered: Server, front: Front
) -> None:
    assert clustered.data.exists()
    for table in ("partition", "schema", "identity"):
        (settings, *_) = front.settings_of(f"INSERT INTO {table} ")
        assert settings["insert_quorum"] == "1"


ONE_IS_AWAY = {
    "kind": "slow",
    "pattern": r"^(ALTER|OPTIMIZE) TABLE .* ON CLUSTER (?!.*only_active)",
    "times": 1_000_000,
    "seconds": 600,
}
"""Statements wait minutes for all servers, unless they are only for those that are there."""


def test_what_waits_for_all_servers_of_a_cluster_delays_nothing_else(
    clustered: Server, front: Front
) -> None:
    with clustered.analyst() as analyst, clustered.sender() as sender:
        front.fail({**ONE_IS_AWAY, "times": 1})
        try:
            for number in range(IDLE_MERGE_PARTS_MIN + 1):  # small parts are merged on all servers
                some = story(f"waits-{number}.example").records
                sender.post("/api/v1/ingest", json=some).raise_for_status()
            assert wait_for(front.faults_left, [], 60) == []
            end = datetime.now(UTC) + timedelta(seconds=2)
            body = {"md5hash": "ad" * 16, "expires": end.isoformat()}
            analyst.post(BANS, json=body).raise_for_status()
            one = f"{BANS}/{body['md5hash']}"
            banned = wait_for(lambda: analyst.get(one).json()["enabled"], False, 60)
            assert banned is False
        finally:
            front.fail()


def test_partitions_are_changed_while_a_server_of_a_cluster_is_away_and_records_taken(
    clustered: Server, front: Front
) -> None:
    host = "closed.example"
    with clustered.analyst() as analyst, clustered.sender() as sender:
        sender.post("/api/v1/ingest", json=story(host).records).raise_for_status()
        before = set(analyst.get(f"{EVENTS}/partition").json())
        analyst.post(f"{EVENTS}/new_partition").raise_for_status()
        (closed,) = set(analyst.get(f"{EVENTS}/partition").json()) - before
        front.fail(ONE_IS_AWAY)
        try:
            for method, change, seen in CHANGES:
                analyst.request(method, f"{EVENTS}/{closed}{change}").raise_for_status()
                assert found(analyst, f"hostname:{host}") == seen
                later = f"{method}{change[1:]}.example".lower()
                sender.post("/api/v1/ingest", json=story(later).records).raise_for_status()
                assert found(analyst, f"hostname:{later}") == 4
        finally:
            front.fail()


def test_a_cluster_that_is_away_is_503_and_nothing_is_lost(clustered: Server, front: Front) -> None:
    host = "away.corp.example"
    with clustered.analyst() as analyst, clustered.sender() as sender:
        front.fail({"kind": "refuse", "times": 1_000_000})
        assert analyst.get("/readyz").status_code == 503
        answer = sender.post("/api/v1/ingest", json=story(host).records)
        assert (answer.status_code, "retry-after" in answer.headers) == (503, True)
        refused = analyst.get("/api/v1/process", params={"q": f"hostname:{host}"})
        assert refused.status_code == 503
        front.fail()

        def sent_again() -> int:
            return sender.post("/api/v1/ingest", json=story(host).records).status_code

        assert wait_for(sent_again, 200) == 200
        assert wait_for(lambda: analyst.get("/readyz").status_code, 200) == 200
        assert found(analyst, f"hostname:{host}") == 4


def test_commands_about_files_say_where_telemetry_is(clustered: Server, tmp_path: Path) -> None:
    reported = CliRunner().invoke(
        app, ["backup", "create", str(tmp_path / "copy"), "--data", str(clustered.data)]
    )
    assert reported.exit_code != 0
    assert "ClickHouse" in str(reported.output) + str(reported.exception)
    with clustered.analyst() as analyst:
        body = analyst.get("/api/v1/doctor").json()
    errors = [one for one in body["findings"] if one["severity"] == "error"]
    assert errors == []


def test_the_word_of_the_cluster_is_nowhere(clustered: Server) -> None:
    assert PASSWORD not in (clustered.data / "server.log").read_text()
    with clustered.analyst() as analyst:
        assert PASSWORD not in analyst.get("/api/v1/doctor").text
        assert PASSWORD not in analyst.get("/readyz").text
