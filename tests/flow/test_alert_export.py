"""`vedette alerts export` against a real server: months, pages, a killed run, the next run."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.served import Server, start_server
from tests.support.written_detections import write_detections
from vedette.model.findings.detection import Detection, Source

ALERTS = 150
AGES = (70, 5)
"""Days ago at which alerts were made: two searches by month lie between them."""


def detections(age: int) -> list[Detection]:
    return [
        Detection(
            source=Source("rule", f"rule-{age}-{number}"),
            source_name="Rule",
            alert_type="watchlist.hit.query.process",
            subject=f"subject {age} {number}",
            time_us=1_700_000_000_000_000 + number,
            sensor_id=1,
            title="Rule",
            severity=50,
            seq=number + 1,
        )
        for number in range(ALERTS)
    ]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("exported")
    first = start_server(data)
    next(first)
    first.close()
    for age in AGES:
        write_detections(data, detections(age), age)
    yield from start_server(data)


def command(server: Server, output: Path, *words: str) -> list[str]:
    base = [sys.executable, "-m", "vedette", "alerts", "export", str(output)]
    return [*base, "--data", str(server.data), "--rows", "10", *words]


def run(server: Server, output: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(server, output, *words), capture_output=True, text=True, timeout=120, check=False
    )


def days_ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


def ids(output: Path) -> list[str]:
    return [json.loads(line)["id"] for line in output.read_text().splitlines()]


def test_a_second_run_goes_on_where_the_first_ended(server: Server, tmp_path: Path) -> None:
    output = tmp_path / "alerts.jsonl"
    first = run(server, output, "--from", days_ago(100), "--to", days_ago(40))
    assert first.returncode == 0, first.stderr
    assert len(set(ids(output))) == len(ids(output)) == ALERTS
    assert "━" not in first.stderr
    second = run(server, output)
    assert second.returncode == 0, second.stderr
    assert len(set(ids(output))) == len(ids(output)) == 2 * ALERTS
    assert run(server, output).returncode == 0
    assert len(ids(output)) == 2 * ALERTS


def test_a_killed_run_is_completed_by_the_next(server: Server, tmp_path: Path) -> None:
    output, kept = tmp_path / "alerts.jsonl", tmp_path / "alerts.jsonl.checkpoint"
    process = subprocess.Popen(command(server, output, "--from", days_ago(100)))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if kept.exists() and json.loads(kept.read_text())["rows"] >= 20:
            break
        time.sleep(0.002)
    process.kill()
    assert process.wait() == -9, "it ended before it was killed"
    assert 20 <= json.loads(kept.read_text())["rows"] < 2 * ALERTS
    with output.open("ab") as file:
        file.write(b'{"id": "half a li')
    again = run(server, output)
    assert again.returncode == 0, again.stderr
    assert len(set(ids(output))) == len(ids(output)) == 2 * ALERTS


def test_files_of_others_are_not_touched(server: Server, tmp_path: Path) -> None:
    output = tmp_path / "notes.txt"
    output.write_text("mine\n")
    assert run(server, output, "--from", days_ago(9)).returncode == 2
    assert output.read_text() == "mine\n"
    assert run(server, tmp_path / "new", "--from", "yesterday").returncode == 2
    assert run(server, tmp_path / "new").returncode == 2
