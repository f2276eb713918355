"""A server that is killed while it upgrades its data starts again, with all of it."""

import os
import signal
import tarfile
import time
from pathlib import Path

import pytest

from tests.support.served import Server, launch, start_server
from vedette.store.schema.tables import SCHEMA_VERSION

STORES = Path(__file__).parents[1] / "data" / "stores"


def total(server: Server) -> int:
    with server.analyst() as client:
        assert client.get("/readyz").json()["ready"] is True
        return int(client.get("/api/v1/process", params={"rows": 0}).json()["total_results"])


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
def test_a_server_killed_during_an_upgrade_starts_again(version: int, tmp_path: Path) -> None:
    """At any time of the first two seconds, in which state and telemetry are upgraded."""
    with tarfile.open(STORES / f"v{version}.tar.xz") as archive:
        archive.extractall(tmp_path)
    flags = ("--set", "retention_days=0")
    for after_s in (0.6, 0.8, 1.0, 1.3, 1.7):
        process = launch(tmp_path, *flags)
        time.sleep(after_s)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    for server in start_server(tmp_path, *flags):
        assert total(server) > 0
        with server.sender() as sender:
            assert sender.post("/api/v1/ingest", json=[]).status_code < 500
