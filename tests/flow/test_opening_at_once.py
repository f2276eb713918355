"""Servers that start at once on one PostgreSQL and one ClickHouse take turns in making tables."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.clickhouse_front import clickhouse_front
from tests.support.postgres_server import Postgres, postgres_server
from vedette.bootstrap.write_path import Engines, first_windows, open_engines
from vedette.clock import SystemClock
from vedette.errors import StartError
from vedette.pipeline.time_windows import TimeWindows
from vedette.servers import joining
from vedette.servers.joining import only_one_opens
from vedette.settings import Settings
from vedette.state.db.database import open_database
from vedette.store.integrity.identity import read_store_id

SEGMENT = "CREATE TABLE IF NOT EXISTS `segment_local`"


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with postgres_server() as started:
        yield started


def test_two_servers_that_start_at_once_make_one_store(postgres: Postgres, tmp_path: Path) -> None:
    state_dsn = postgres.new_database("at_once")
    with clickhouse_front(tmp_path / "front") as front, ExitStack() as closing:
        # Long enough for each to find that there is nothing.
        front.fail({"kind": "slow", "pattern": "CREATE TABLE", "times": 3, "seconds": 0.2})

        def open_there(name: str) -> tuple[Engines, TimeWindows]:
            settings = Settings(
                data=tmp_path / name,
                clickhouse_dsn=front.dsn,
                clickhouse_quorum=1,
                state_dsn=state_dsn,
            )
            engines = open_engines(settings, SystemClock(), closing)
            return engines, first_windows(engines, SystemClock())

        with ThreadPoolExecutor(2) as threads:
            (one, windows), (two, others) = threads.map(open_there, ("one", "two"))
        assert read_store_id(one.telemetry) == read_store_id(two.telemetry)
        assert windows.partition_ms == others.partition_ms
        assert front.ask("SELECT count() FROM vedette.partition") == [[1]]
        made = [one for one in front.statements() if one.startswith(SEGMENT)]
        assert len(made) == 1
        assert front.ask("SELECT count() FROM vedette.schema") == [[1]]


def test_a_server_that_starts_does_not_wait_for_ever_for_one_that_hangs(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "STORE_OPENING_WAIT_S", 0.2)
    with ExitStack() as closing:
        one, other = (open_database(postgres.dsn, tmp_path) for _ in range(2))
        closing.callback(one.close)
        closing.callback(other.close)
        with (
            only_one_opens(one),
            pytest.raises(StartError, match="another server or command"),
            only_one_opens(other),
        ):
            pytest.fail("two servers opened the store at once")
        with only_one_opens(other):
            pass
