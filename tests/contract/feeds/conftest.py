"""A publisher over a store of each kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.feeds.publisher import NOW_US, Publisher
from tests.support.started_state import open_started_state
from vedette.state.db.database import Database
from vedette.store.engine.client import ClickHouseEngine


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_started_state(tmp_path, NOW_US)
    yield opened
    opened.close()


@pytest.fixture
def publisher(tmp_path: Path, contract_engine: ClickHouseEngine, database: Database) -> Publisher:
    return Publisher(tmp_path, contract_engine, database)
