"""A full disk: nothing is acknowledged that is not stored, and room is all it takes to go on."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests.fault.crash import forked
from tests.fault.rounds import rounds, seeded
from tests.fault.senders import Sender, check_stored_once, drain, lasting_token
from tests.support.children import children
from tests.support.fleet_log import written
from tests.support.served import Server, listening, wait_for

DISK_MB = 160
RECOVERY_S = 60.0
IMPORTED = 30_000
"""Events of a log to import: more than is stored before the disk is full."""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, which a test can fill."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=0700", "tmpfs", str(tmp_path)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("mounting needs root")
    try:
        yield tmp_path
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def fill(disk: Path) -> None:
    """Takes all room that is left, to the last page."""
    piece = bytes(256 * 1024)
    with (disk / "ballast").open("ab", buffering=0) as ballast:
        while piece:
            try:
                ballast.write(piece)
            except OSError:
                piece = piece[: len(piece) // 2]


def test_a_full_disk_refuses_and_takes_again_once_there_is_room(small_disk: Path) -> None:
    senders = [Sender(f"disk-{n}.example", numbered=n % 2 == 0) for n in range(2)]
    dice = seeded()
    with forked(small_disk) as process:
        server = listening(small_disk, process)
        server = replace(server, ingest_token=lasting_token(server))
        drain(senders, server)
        with server.sender() as client:
            for _ in range(rounds(2)):
                _refuse_for_a_while(small_disk, client, senders, dice.uniform(0.5, 3.0))
                check_stored_once(senders, server)
                (small_disk / "ballast").unlink()
                _deliver_without_a_restart(server, senders)
        check_stored_once(senders, server)
        assert process.poll() is None


def test_readiness_names_a_full_disk_until_there_is_room(small_disk: Path) -> None:
    with forked(small_disk) as process:
        server = listening(small_disk, process)
        with server.analyst() as client:
            assert client.get("/readyz").json()["checks"]["disk"] == "ok"
            fill(small_disk)
            answer = client.get("/readyz")
            assert (answer.status_code, answer.json()["ready"]) == (503, False)
            assert answer.json()["checks"]["disk"] == "full"
            assert client.get("/healthz").status_code == 200
            assert client.get("/api/v1/process").status_code == 200
            for method, path, body in (
                ("POST", "/api/group", {"name": "no room"}),
                ("POST", "/api/v1/process", {"q": "*"}),
                ("GET", "/api/v1/sensor", None),
            ):
                assert client.request(method, path, json=body).status_code in (200, 503)
            (small_disk / "ballast").unlink()
            assert wait_for(lambda: client.get("/readyz").status_code, 200, RECOVERY_S) == 200


def test_an_import_waits_for_room(
    small_disk: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = written(tmp_path_factory.mktemp("log") / "events.json", IMPORTED, 5)
    data = small_disk / "data"
    command = [sys.executable, "-m", "vedette", "import", str(log), "--data", str(data), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert wait_for(lambda: bool(children("ingest_workers", process.pid)), True)
        fill(small_disk)
        time.sleep(5.0)
        assert process.poll() is None, "it waits"
        (small_disk / "ballast").unlink()
        reported, complaints = process.communicate(timeout=RECOVERY_S)
    assert process.returncode == 0, complaints[-4_000:]
    assert b"disk is full" in complaints
    summary = json.loads(reported)
    assert (summary["read"], summary["rejected"]) == (IMPORTED, 0)
    assert summary["stored"] + summary["records"] + summary["duplicate"] == IMPORTED


def test_an_import_that_begins_on_a_full_disk_waits_for_room(
    small_disk: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = written(tmp_path_factory.mktemp("log") / "events.json", 100, 5)
    data = small_disk / "data"
    command = [sys.executable, "-m", "vedette", "import", str(log), "--data", str(data), "--json"]
    subprocess.run(command, check=True, capture_output=True)
    fill(small_disk)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert b"disk is full" in process.stderr.readline()
        time.sleep(2.0)
        assert process.poll() is None, "it waits"
        (small_disk / "ballast").unlink()
        reported, complaints = process.communicate(timeout=RECOVERY_S)
    assert process.returncode == 0, complaints[-4_000:]
    summary = json.loads(reported)
    assert (summary["read"], summary["rejected"]) == (100, 0)


def _refuse_for_a_while(
    disk: Path, client: httpx.Client, senders: list[Sender], seconds: float
) -> None:
    """Sends while the disk is full. The engine deletes merged parts in the background, which
    occasionally makes room for a batch, so each delivery fills the disk again."""
    ends = time.monotonic() + seconds
    refused = 0
    while time.monotonic() < ends or not refused:
        for sender in senders:
            fill(disk)
            answer = sender.deliver(client)
            if answer.status_code == 200:
                continue
            assert answer.status_code == 503, answer.text
            assert int(answer.headers["retry-after"]) >= 1
            assert answer.json()["reason"] == "unavailable"
            refused += 1
        time.sleep(0.5)
        assert time.monotonic() < ends + RECOVERY_S, "nothing was refused"


def _deliver_without_a_restart(server: Server, senders: list[Sender]) -> None:
    wanted = [sender.batch + 1 for sender in senders]

    def batches() -> list[int]:
        for sender, batch in zip(senders, wanted, strict=True):
            if sender.batch < batch:
                with server.sender() as client:
                    sender.deliver(client)
        return [sender.batch for sender in senders]

    assert wait_for(batches, wanted, RECOVERY_S) == wanted
