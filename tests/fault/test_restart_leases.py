"""A server that ended, however it ended, keeps no leased job waiting when it comes back."""

from collections.abc import Iterator
from pathlib import Path
from subprocess import TimeoutExpired

import pytest
from sqlalchemy import select

from tests.fault.crash import forked
from tests.support.forked import Forked
from tests.support.postgres_server import postgres_server
from tests.support.served import Server, listening, wait_for
from tests.support.sysmon import story
from vedette.clock import SystemClock
from vedette.jobs.timer import JOB_LEASE_MARGIN_S
from vedette.state.db.database import Database, open_database
from vedette.state.db.schema import LEASE

WITHIN_S = JOB_LEASE_MARGIN_S / 2
"""A round of watchlists takes five seconds; a lease that nobody frees takes a minute."""
LEASE_NAME = "watchlists"


@pytest.fixture(params=["sqlite", "postgresql"])
def flags(request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """Settings of a server with each state database."""
    if request.param == "sqlite":
        yield []
        return
    with postgres_server() as postgres:
        yield ["--set", f"state_dsn={postgres.new_database('leases')}"]


def state_of(data: Path, flags: list[str]) -> Database:
    dsn = flags[1].partition("=")[2] if flags else ""
    return open_database(dsn, data)


def leases_until(data: Path, flags: list[str]) -> dict[str, int]:
    database = state_of(data, flags)
    try:
        with database.reading() as connection:
            rows = connection.execute(select(LEASE.c.name, LEASE.c.until_us)).all()
    finally:
        database.close()
    return {row.name: row.until_us for row in rows}


def is_held(data: Path, flags: list[str]) -> bool:
    return leases_until(data, flags).get(LEASE_NAME, 0) > SystemClock().now_us()


def watched(server: Server) -> str:
    body = {"name": "w", "search_query": "q=process_name:powershell.exe"}
    with server.analyst() as client:
        return str(client.post("/api/v1/watchlist", json=body).json()["id"])


def tags_of(server: Server, watchlist_id: str) -> str:
    with server.analyst() as client:
        return str(client.get(f"/api/v1/watchlist/{watchlist_id}").json()["total_tags"])


def end(process: Forked, how: str) -> None:
    if how == "kill":
        process.kill()
    else:
        process.terminate()
    try:
        process.wait(60)
    except TimeoutExpired:
        process.kill()
        raise


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_after_a_restart_leased_jobs_run_at_once(
    tmp_path: Path, flags: list[str], how: str
) -> None:
    with forked(tmp_path, *flags) as process:
        watchlist_id = watched(listening(tmp_path, process))
        assert wait_for(lambda: is_held(tmp_path, flags), True, 30)
        end(process, how)
    assert is_held(tmp_path, flags) is (how == "kill")
    with forked(tmp_path, *flags) as process:
        server = listening(tmp_path, process)
        with server.sender() as sender:
            records = story(f"{how}.corp.example").records
            assert sender.post("/api/v1/ingest", json=records).status_code == 200
        assert wait_for(lambda: tags_of(server, watchlist_id), "1", WITHIN_S) == "1"
