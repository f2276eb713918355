"""Stopping in order, and a second server on the same data."""

import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.fault.crash import forked, launched
from tests.fault.senders import Sender, check_stored_once, stored_paths
from tests.support.served import STOP_S, Server, listening, wait_for

SLOW_COMMITS = ("--set", "commit_wait_ms=2500")
REQUESTS = 6


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_requests_in_flight_are_stored_and_answered_before_the_server_stops(
    tmp_path: Path, number: signal.Signals
) -> None:
    senders = [Sender(f"flight-{n}.example", numbered=n % 2 == 0) for n in range(REQUESTS)]
    with launched(tmp_path, *SLOW_COMMITS) as process, ExitStack() as opened:
        server = listening(tmp_path, process)
        analyst = opened.enter_context(server.analyst())
        clients = [opened.enter_context(server.sender()) for _ in senders]
        threads = opened.enter_context(ThreadPoolExecutor(REQUESTS))
        answers = [
            threads.submit(sender.deliver, client)
            for sender, client in zip(senders, clients, strict=True)
        ]
        assert wait_for(lambda: in_progress(analyst), REQUESTS) == REQUESTS
        process.send_signal(number)
        for answer in answers:
            answer.result(STOP_S)
        assert process.wait(STOP_S) == 0
    assert [sender.batch for sender in senders] == [1] * REQUESTS
    assert not (tmp_path / "server.json").exists()
    assert '"stopped"' in (tmp_path / "server.log").read_text().splitlines()[-1]
    with forked(tmp_path) as process:
        check_stored_once(senders, listening(tmp_path, process))


def test_a_data_directory_that_others_could_read_is_theirs_no_more_after_the_start(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o755)
    with launched(tmp_path) as process:
        listening(tmp_path, process)
        assert tmp_path.stat().st_mode & 0o777 == 0o700
    assert "was accessible to other users" in (tmp_path / "server.log").read_text()


def in_progress(analyst: httpx.Client) -> int:
    """Requests that wait for their answer, without the one that asks."""
    for line in analyst.get("/metrics").text.splitlines():
        if line.startswith("vedette_http_requests_in_progress "):
            return round(float(line.split()[1])) - 1
    return -1


def test_a_stopped_server_lets_go_of_idle_connections(tmp_path: Path) -> None:
    with launched(tmp_path) as process:
        server = listening(tmp_path, process)
        with server.analyst() as client:
            assert client.get("/api/v1/process").status_code == 200
            began = time.monotonic()
            process.terminate()
            assert process.wait(STOP_S) == 0
            assert time.monotonic() - began < STOP_S / 2


def test_a_second_server_on_the_same_data_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    sender = Sender("alone.example", numbered=True)
    with forked(tmp_path) as process:
        server = listening(tmp_path, process)
        deliver(server, sender)
        second = subprocess.run(
            [sys.executable, "-m", "vedette", "serve", "--data", str(tmp_path), "--port", "0"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert second.returncode == 2
        assert f"in use by process {process.pid}" in second.stderr
        assert "Traceback" not in second.stderr
        assert listening(tmp_path, process) == server
        deliver(server, sender)
        with server.analyst() as client:
            assert len(stored_paths(client, sender)) == len(sender.paths())


def deliver(server: Server, sender: Sender) -> None:
    with server.sender() as client:
        sender.deliver(client)
