"""A server that is killed while it upgrades its data starts again, with all of it."""

import tarfile
import time
from pathlib import Path

import pytest

from tests.fault.crash import forked
from tests.support.served import Server, start_server
from vedette.store.schema.tables import SCHEMA_VERSION
from vedette.store.schema.upgrade import OLDEST_VERSION

STORES = Path(__file__).parents[1] / "data" / "stores"


def total(server: Server) -> int:
    with server.analyst() as client:
        assert client.get("/readyz").json()["ready"] is True
        return int(client.get("/api/v1/process", params={"rows": 0}).json()["total_results"])


@pytest.mark.parametrize("version", range(OLDEST_VERSION, SCHEMA_VERSION))
def test_a_server_killed_during_an_upgrade_starts_again(version: int, tmp_path: Path) -> None:
    """At any time of the first second, in which state and telemetry are upgraded."""
    with tarfile.open(STORES / f"v{version}.tar.xz") as archive:
        archive.extractall(tmp_path)
    flags = ("--set", "retention_days=0")
    for after_s in (0.1, 0.25, 0.4, 0.6, 0.9):
        with forked(tmp_path, *flags):
            time.sleep(after_s)
    for server in start_server(tmp_path, *flags):
        assert total(server) > 0
        with server.sender() as sender:
            assert sender.post("/api/v1/ingest", json=[]).status_code < 500
