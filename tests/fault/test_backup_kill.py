"""The server is killed while it is being backed up: nothing is lost, no half backup counts as one,
and the next is whole."""

import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE

import pytest

from tests.fault.crash import forked
from tests.fault.rounds import is_long
from tests.support.commands import done
from tests.support.served import Server, listening, wait_for
from tests.support.sysmon import Host

COUNT = 300


def stored(server: Server) -> int:
    query = {"q": "hostname:backed-up process_name:cmd.exe", "rows": "0"}
    with server.analyst() as client:
        return int(client.get("/api/v1/process", params=query).json()["total_results"])


@pytest.mark.parametrize("after_s", [0.0, 0.3] if is_long() else [0.1])
def test_a_server_killed_while_it_is_backed_up_loses_nothing(
    tmp_path: Path, after_s: float
) -> None:
    data, place = tmp_path / "data", tmp_path / "place"
    data.mkdir()
    host = Host("backed-up", int(time.time()) - 60)
    parent = host.process(400, r"C:\Windows\explorer.exe")
    children = [host.process(1000 + n, r"C:\x\cmd.exe", f"cmd {n}", 1) for n in range(COUNT)]
    with forked(data) as process:
        server = listening(data, process)
        with server.sender() as sender:
            records = [host.created(child, parent) for child in children]
            assert sender.post("/api/v1/ingest", json=records).json()["rejected"] == 0
        command = [sys.executable, "-m", "vedette", "backup", "create", place, "--data", data]
        running = subprocess.Popen(command, text=True, stdout=PIPE, stderr=PIPE)
        begun = lambda: any((data / "snapshots").glob("*"))  # noqa: E731
        assert wait_for(begun, True, 60, pause_max_s=0.05)
        time.sleep(after_s)
        process.kill()
        process.wait()
        _, complained = running.communicate(timeout=300)
        assert "Traceback" not in complained
    whole_before = running.returncode == 0
    # The engine counts its snapshots, and can be killed before it has written the number.
    shadow = data / "telemetry" / "clickhouse" / "shadow"
    shadow.mkdir(exist_ok=True)
    (shadow / "increment.txt").write_bytes(b"")
    with forked(data) as process:
        server = listening(data, process)
        assert stored(server) == COUNT
        listed = done("backup", "list", place) if place.exists() else ""
        assert (listed.count("\n") > 1) is whole_before
        done("backup", "create", place, "--data", data)
    assert "is intact" in done("backup", "verify", place)
    done("restore", place, "--data", tmp_path / "copy")
    with forked(tmp_path / "copy") as process:
        assert stored(listening(tmp_path / "copy", process)) == COUNT
