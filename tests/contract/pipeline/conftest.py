"""The write path of a test: a real engine, a real state database, a driven clock."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.pipeline.write_path import NOON_S, WritePath, write_path
from vedette.clock import DrivenClock
from vedette.store.engine.client import ClickHouseEngine


@pytest.fixture
def clock() -> DrivenClock:
    return DrivenClock(NOON_S * 1_000_000)


@pytest.fixture
def path(engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock) -> Iterator[WritePath]:
    """A write path over an empty store."""
    with write_path(engine, tmp_path, clock) as opened:
        yield opened
