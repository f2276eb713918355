"""`vedette doctor` on data directories with real damage, and on running servers."""

import json
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.fault.crash import forked
from tests.fault.senders import Sender, drain
from tests.fault.test_kill import workers
from tests.fault.test_store_integrity import Filled, corrupt, segment_files
from tests.support.commands import program, vedette
from tests.support.served import Server, hire, listening, wait_for
from vedette.model.principal import Role
from vedette.pipeline.workers.worker_pool import WORKER_SILENT_S
from vedette.state.policy.groups import DEFAULT_GROUP_ID
from vedette.web.policy.openapi import POLICY

DAY_US = 86_400 * 1_000_000
CODES = {"ok": 0, "warning": 1, "error": 2}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, filled: Filled) -> Path:
    """The data directory of a stopped server that has stored something."""
    data = tmp_path_factory.mktemp("whole") / "data"
    filled(data, "one.example", "two.example", batches=2)
    return data


@pytest.fixture
def data(whole: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    copied = tmp_path / "data"
    shutil.copytree(whole, copied, symlinks=True)
    return copied


def doctor(data: Path, *flags: str) -> dict[str, list[dict[str, Any]]]:
    """Findings by check; exit code and severity agree."""
    done = vedette("doctor", "--data", data, "--json", *flags)
    assert "Traceback" not in done.stderr
    reported = json.loads(done.stdout)
    assert done.returncode == CODES[reported["severity"]], done.stderr
    findings: dict[str, list[dict[str, Any]]] = {}
    for one in reported["findings"]:
        findings.setdefault(one["check"], []).append(one)
        assert one["severity"] == "ok" or one["remedy"]
    assert reported["severity"] == max(
        (one["severity"] for one in reported["findings"]), key=list(CODES).index
    )
    return findings


def severities(findings: dict[str, list[dict[str, Any]]], *besides: str) -> dict[str, str]:
    """The gravest of each check, without `disk`, which is the machine's, and `besides`."""
    return {
        check: max((one["severity"] for one in found), key=list(CODES).index)
        for check, found in findings.items()
        if check not in ("disk", *besides)
    }


def state(data: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(data / "state.db") as database:
        assert database.execute(statement, values).rowcount
    database.close()


def now_us() -> int:
    return int(datetime.now(UTC).timestamp() * 1_000_000)


def test_nothing_is_wrong_with_a_whole_directory(data: Path) -> None:
    found = severities(doctor(data, "--verify"))
    assert set(found.values()) == {"ok"}, found
    assert found.keys() == {
        "certificate",
        "clock",
        "identity",
        "modes",
        "names",
        "partitions",
        "parts",
        "quotas",
        "sensors",
        "state",
        "tokens",
    }


def test_a_directory_without_a_server_is_refused(tmp_path: Path) -> None:
    done = vedette("doctor", "--data", tmp_path / "none")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no server data" in done.stderr
    assert not (tmp_path / "none").exists()


def test_an_empty_directory_lacks_both_stores_and_none_is_made(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    found = doctor(tmp_path)
    assert severities(found)["state"] == severities(found)["telemetry"] == "error"
    assert not list(tmp_path.iterdir())


def test_parts_whose_files_are_gone_are_named_with_rows_and_period(data: Path) -> None:
    for path in segment_files(data, "*/data.bin"):
        path.unlink()
    found = doctor(data)
    assert severities(found)["parts"] == "error"
    assert all(" rows, 20" in one["text"] for one in found["parts"])
    assert all("--accept-store" in one["remedy"] for one in found["parts"])


def test_bytes_that_changed_on_the_disk_are_found_by_verifying(data: Path) -> None:
    corrupt(segment_files(data, "*/data.bin"), 1_500, 2_500)
    assert severities(doctor(data))["parts"] == "ok"
    found = doctor(data, "--verify")
    assert severities(found)["parts"] == "error"
    assert "checksum mismatch" in found["parts"][0]["text"]


def _lose_state(data: Path) -> None:
    for path in data.glob("state.db*"):
        path.unlink()


def _garble_state(data: Path) -> None:
    content = (data / "state.db").read_bytes()
    (data / "state.db").write_bytes(content[:4_096] + b"x" * 40_000 + content[44_096:])


def _lose_telemetry(data: Path) -> None:
    shutil.rmtree(data / "telemetry")


def _lose_definition(data: Path) -> None:
    (data / "telemetry/clickhouse/metadata/vedette/segment.sql").unlink()


def _forget_sensors(data: Path) -> None:
    state(data, "DELETE FROM sensor")


def _another_store(data: Path) -> None:
    state(data, "UPDATE kept_value SET value = 'other' WHERE name = 'store_id'")


def _older_state(data: Path) -> None:
    state(data, "UPDATE alembic_version SET version_num = '0006'")


@pytest.mark.parametrize(
    ("damage", "check", "said"),
    [
        (_lose_state, "state", "is missing"),
        (_garble_state, "state", "database"),
        (_older_state, "state", "older version"),
        (_lose_telemetry, "telemetry", "holds no store"),
        (_lose_definition, "telemetry", "definition of segment"),
        (_another_store, "identity", "different servers"),
        (_forget_sensors, "identity", "older than the telemetry"),
    ],
)
def test_stores_that_are_not_whole_or_not_a_pair_are_errors(
    data: Path, damage: Callable[[Path], None], check: str, said: str
) -> None:
    damage(data)
    found = doctor(data)
    assert severities(found)[check] == "error"
    assert said in " ".join(one["text"] for one in found[check])
    assert severities(found)["certificate"] == "ok"


def test_a_clock_that_was_set_since_the_server_stopped_is_in_doubt(data: Path) -> None:
    with sqlite3.connect(data / "state.db") as database:
        query = "SELECT value FROM kept_value WHERE name = 'clock_reading'"
        reading = json.loads(database.execute(query).fetchone()[0])
    database.close()
    reading["wall_us"] -= 40 * DAY_US
    state(data, "UPDATE kept_value SET value = ? WHERE name = 'clock_reading'", json.dumps(reading))
    found = doctor(data)
    assert severities(found)["clock"] == "error"
    assert "vedette clock confirm" in found["clock"][0]["remedy"]


OLD_PARTITIONS = """
import sys
from pathlib import Path
from vedette.store.engine.open import open_engine
engine = open_engine(Path(sys.argv[1]))
added = ((1_600_000_000_000, "hot", 0), (1_500_000_000_000, "warm", 1_500_000_009_000))
for opened, state, closed in added:
    engine.command(
        f"INSERT INTO partition SELECT {opened}, '{state}', {closed}, 0, "
        "(SELECT max(version) + 1 FROM partition)"
    )
engine.close()
"""


def test_partitions_that_were_not_closed_or_deleted_in_time_are_named(data: Path) -> None:
    program(OLD_PARTITIONS, data / "telemetry")
    found = doctor(data)
    assert severities(found)["partitions"] == "error"
    said = " ".join(one["text"] for one in found["partitions"])
    assert "2 partitions are written to" in said
    assert "events_2017_07_14_024000 is older than retention_days" in said


def test_damage_of_several_kinds_is_told_at_once(data: Path) -> None:
    (data / "tls/cert.pem").write_text("no certificate")
    data.chmod(0o755)
    (data / "vedette.toml").write_text("copied_files_bytes_max = 1000\n")
    state(data, "INSERT INTO stored_file (sha256, sensor_id, copied) VALUES ('a', 0, 900)")
    state(data, "UPDATE sensor SET last_seen_us = 1")
    state(
        data,
        "UPDATE token SET last_used_us = ?, expires_us = ? WHERE name = 'first sender'",
        now_us() - DAY_US,
        now_us() + 3 * DAY_US,
    )
    found = severities(doctor(data))
    assert (found["certificate"], found["modes"]) == ("error", "error")
    assert (found["quotas"], found["sensors"], found["tokens"]) == ("warning",) * 3


@pytest.fixture
def server(data: Path) -> Any:
    with forked(data) as process:
        yield listening(data, process), process.pid


def test_a_running_server_is_asked_and_finds_nothing_wrong(
    server: tuple[Server, int],
) -> None:
    found = severities(doctor(server[0].data))
    assert set(found.values()) == {"ok"}, found
    assert "workers" in found


def test_only_administrators_may_ask(server: tuple[Server, int]) -> None:
    here = server[0]
    token = hire(here, "vera", {DEFAULT_GROUP_ID: Role.ADMINISTRATOR})
    with here.client(**{"X-Auth-Token": token}) as client:
        assert client.get("/api/v1/doctor").status_code == 403
    with here.client() as client:
        assert client.get("/api/v1/doctor").status_code == 401
    with here.analyst() as client:
        reported = client.get("/api/v1/doctor").json()
        assert reported.keys() == POLICY["Diagnosis"]["properties"].keys()
        assert client.get("/api/v1/doctor", params={"verify": "perhaps"}).status_code == 400


def test_a_running_server_names_what_changed_while_it_ran(server: tuple[Server, int]) -> None:
    here, _ = server
    corrupt(segment_files(here.data, "*/data.bin"), 1_500, 2_500)
    here.data.chmod(0o750)
    found = severities(doctor(here.data, "--verify"))
    assert (found["parts"], found["modes"], found["clock"]) == ("error", "error", "ok")


def test_a_worker_that_stands_still_is_an_error(server: tuple[Server, int]) -> None:
    here, pid = server
    drain([Sender("three.example", numbered=True)], here)
    for worker in workers(pid):
        os.kill(worker, signal.SIGSTOP)
    with here.client() as client:  # each doctor is a program that starts
        status = lambda: client.get("/readyz").status_code  # noqa: E731
        wait_for(status, 503, WORKER_SILENT_S + 20, pause_max_s=0.05)
    found = wait_for(
        lambda: severities(doctor(here.data))["workers"], "error", WORKER_SILENT_S + 20
    )
    assert found == "error"


def test_a_server_that_does_not_answer_is_an_error_and_its_files_are_still_checked(
    data: Path,
) -> None:
    gone = {
        "url": "https://127.0.0.1:9",
        "token": "t",
        "ingest_token": "t",
        "certificate": str(data / "tls/cert.pem"),
        "pid": os.getpid(),
    }
    (data / "server.json").write_text(json.dumps(gone))
    (data / "server.json").chmod(0o600)
    found = severities(doctor(data))
    assert found == {"server": "error", "modes": "ok", "certificate": "ok"}
