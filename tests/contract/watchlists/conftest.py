"""Fixtures of watchlist rounds: a real engine, a real state database, a controlled clock."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

from tests.contract.store.rows import HOUR_MS, partial, store
from tests.support.started_state import open_started_state
from vedette.alerting.detection_writer import DetectionWriter
from vedette.alerting.hooks import WrittenDetection
from vedette.clock import DrivenClock
from vedette.model.event import BinarySeen, ProcessEvent
from vedette.record.objects.watchlist import Watchlist
from vedette.state.db.database import Database, Transaction
from vedette.state.db.schema import GROUP, SENSOR
from vedette.state.policy import watchlists
from vedette.store.engine.client import ClickHouseEngine, Engine
from vedette.store.write.commit import BinaryRow, Commit
from vedette.store.write.insert import write_commit
from vedette.watchlists.rounds import WatchlistRounds

NOW_US = HOUR_MS * 1_000 + 60_000_000


@pytest.fixture
def engine(contract_engine: ClickHouseEngine) -> ClickHouseEngine:
    return contract_engine


class Bench:
    """A server without its HTTP side: commits go in, rounds run, hits come out."""

    def __init__(self, engine: Engine, database: Database) -> None:
        self.engine = engine
        self.database = database
        self.clock = DrivenClock(NOW_US)
        self.seq = 0
        self.alerted: list[WrittenDetection] = []
        self.rounds = self.restarted()

    def restarted(self, engine: Engine | None = None) -> WatchlistRounds:
        """Rounds that know nothing but what is stored."""
        engine = engine or self.engine
        writer = DetectionWriter(engine, self.database, self.clock, [self._hear])
        return WatchlistRounds(engine, self.database, self.clock, writer, lambda: self.seq)

    def _hear(self, _: Transaction, written: Sequence[WrittenDetection]) -> None:
        self.alerted.extend(written)

    def commit(self, number: int, *events: ProcessEvent, **values: Any) -> None:
        """One commit with a partial row of a process."""
        self.seq += 1
        row = partial(number, *events, seq=self.seq, last_update=NOW_US, **values)
        store(self.engine, row)

    def sight(self, md5: str, sensor_id: int = 1, **values: str) -> None:
        """One commit with a sighting of a binary."""
        self.seq += 1
        seen = BinarySeen(NOW_US, md5, "", "", f"c:\\{md5[:4]}.dll", values)
        row = BinaryRow(sensor_id, f"ws-{sensor_id}", "g", "windows", seen, NOW_US, self.seq)
        write_commit(self.engine, Commit(binaries=[row]))

    def watch(self, query: str, index_type: str = "events", **values: Any) -> int:
        """Saves a watchlist; its id."""
        values = {"name": query[:40], "index_type": index_type} | values
        new = Watchlist(search_query=query, **values)
        with self.database.writing() as connection:
            return watchlists.add(connection, new, self.clock.now_us())

    def record(self, watchlist_id: int) -> Watchlist:
        with self.database.reading() as connection:
            return watchlists.get(connection, watchlist_id)

    def change(self, watchlist_id: int, **values: Any) -> Watchlist:
        with self.database.writing() as connection:
            known = watchlists.get(connection, watchlist_id)
            return watchlists.change(connection, known, values, self.clock.now_us())

    def run(self) -> int:
        self.clock.advance(1)
        return self.rounds.run()

    def tagged(self, watchlist_id: int) -> list[tuple[str, int]]:
        """The documents that carry the tag: processes with their windows, hashes with 0."""
        params = {"name": str(watchlist_id)}
        segments = self.engine.query(
            "SELECT DISTINCT process_id, window_ms FROM tag "
            "WHERE family = 'watchlist' AND name = {name:String} ORDER BY ALL",
            params,
        ).rows
        binaries = self.engine.query(
            "SELECT DISTINCT hash, 0 FROM binary_tag "
            "WHERE family = 'watchlist' AND name = {name:String} ORDER BY ALL",
            params,
        ).rows
        return [(row[0], row[1]) for row in (*segments, *binaries)]

    def alerts(self) -> list[tuple[str, str]]:
        """Ids of sources and titles of the alerts that are stored."""
        found = self.engine.query("SELECT source_id, id FROM alert FINAL ORDER BY ALL").rows
        return [(row[0], row[1]) for row in found]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """The state of a server with three sensors: two in the default group, one in another."""
    opened = open_started_state(tmp_path, NOW_US)
    with opened.writing() as connection:
        connection.execute(insert(GROUP).values(id=2, name="Finance", site_id=1))
        for number, group in ((1, 1), (2, 1), (3, 2)):
            connection.execute(
                insert(SENSOR).values(
                    id=number,
                    hostname=f"ws-{number}.corp.test",
                    computer_name=f"WS-{number}",
                    group_id=group,
                    os_type="windows",
                    network_isolation_enabled=False,
                    is_isolating=False,
                    restart_queued=False,
                    uninstall=False,
                )
            )
    yield opened
    opened.close()


@pytest.fixture
def bench(engine: ClickHouseEngine, database: Database) -> Bench:
    return Bench(engine, database)
