"""`vedette demo` and `vedette simulate` against real servers, as a newcomer runs them."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import done
from tests.support.served import Server

READY_S = 120


@pytest.fixture(scope="module")
def demo_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "made-by-the-demo"


@pytest.fixture(scope="module")
def first_run(demo_directory: Path) -> str:
    arguments = ("--data", str(demo_directory), "--port", "0", "--events", "2000")
    return done("demo", *arguments, "--exit-when-ready")


def test_every_query_that_the_demo_prints_finds_its_attack(first_run: str) -> None:
    searches = first_run.partition("The starter pack")[0]
    found = re.findall(r"^ (\S.*?) {2,}([\d,?]+) {2,}\S", searches, re.MULTILINE)
    assert len(found) == 5
    assert not [query for query, count in found if not count.isdigit() or count == "0"]
    assert "https://127.0.0.1:" in first_run


def test_a_finished_demo_just_starts_and_stops_in_order(
    first_run: str, demo_directory: Path
) -> None:
    assert json.loads((demo_directory / "demo.json").read_text())["is_finished"]
    command = [sys.executable, "-m", "vedette", "demo", "--data", str(demo_directory)]
    command += ["--events", "3000"]
    printed = []
    with subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            printed.append(line)
            if line.startswith("Ctrl-C"):
                process.send_signal(signal.SIGINT)
    assert process.returncode == 0
    assert any(line.startswith("Ready") for line in printed)
    assert not any("a day of" in line for line in printed)
    assert any("--events ignored" in line and "2,000 events" in line for line in printed)
    assert not any("password" in line for line in printed)
    assert not (demo_directory / "server.json").exists()


def test_what_the_demo_makes_is_for_the_owner_only(first_run: str, demo_directory: Path) -> None:
    assert os.stat(demo_directory).st_mode & 0o077 == 0
    assert os.stat(demo_directory / "server.log").st_mode & 0o077 == 0


def test_the_secrets_of_a_first_start_are_printed_and_not_logged(
    first_run: str, demo_directory: Path
) -> None:
    labels = ("password", "API token", "ingest token")
    found = {label: re.search(rf"^ *{label} +(\S+)$", first_run, re.MULTILINE) for label in labels}
    log = (demo_directory / "server.log").read_text()
    for label, secret in found.items():
        assert secret is not None, label
        assert secret[1].rpartition(":")[2] not in log


def test_the_load_generator_keeps_its_rate_and_everything_is_stored(server: Server) -> None:
    printed = done(
        "simulate",
        "--to",
        server.url,
        "--token",
        server.ingest_token,
        "--ca",
        str(server.certificate),
        "--endpoints",
        "20",
        "--rate",
        "200",
        "--seconds",
        "4",
        "--json",
    )
    result = json.loads(printed)
    assert result["refused"] == result["known"] == 0
    assert 0 < result["stored"] == result["sent"] <= 200 * 4 + 200
